# SPDX-License-Identifier: Apache-2.0
"""Sources, packets and the decoder as Python sees them; ffprobe and ffmpeg are the oracles."""

from __future__ import annotations

import gc
import hashlib
import io
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from file_likes import FileLike
from media import ffmpeg, ffmpeg_framemd5, ffprobe, generated

CONTAINERS = ["h264_bframes.mp4", "h264_open_gop.mkv", "vp9.webm", "h264.ts", "av1.ivf", "h264.avi"]


def packet_facts(demuxer: tricodec.Demuxer) -> list[tuple[int | None, int | None, bool, str]]:
    return [(p.pts, p.dts, p.key, hashlib.md5(p.data, usedforsecurity=False).hexdigest()) for p in demuxer]


@pytest.mark.parametrize("name", CONTAINERS)
def test_packets_are_those_that_ffprobe_lists(name: str) -> None:
    path = generated(name)
    listed = ffprobe(path, "-show_packets -select_streams v:0 -show_data_hash md5")["packets"]
    expected = [(p.get("pts"), p.get("dts"), "K" in p["flags"], p["data_hash"].removeprefix("MD5:")) for p in listed]

    with tricodec.Demuxer(path) as demuxer:
        found = packet_facts(demuxer)

    assert found == expected


def test_the_shape_of_a_pixel_is_that_of_the_file(tmp_path: Path) -> None:
    ffmpeg("-f lavfi -i testsrc2=s=64x48:d=0.2 -vf setsar=4/3 -c:v libx264", tmp_path / "a.mkv")
    assert tricodec.Demuxer(tmp_path / "a.mkv").stream.sample_aspect_ratio == Fraction(4, 3)
    tricodec.transcode(tmp_path / "a.mkv", tmp_path / "b.mkv", size=(24, 64))
    assert tricodec.Demuxer(tmp_path / "b.mkv").stream.sample_aspect_ratio == Fraction(2, 3)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(str, id="str"),
        pytest.param(lambda path: path, id="pathlib"),
        pytest.param(lambda path: path.read_bytes(), id="bytes"),
        pytest.param(lambda path: bytearray(path.read_bytes()), id="bytearray"),
        pytest.param(lambda path: memoryview(path.read_bytes()), id="memoryview"),
        pytest.param(lambda path: np.fromfile(path, np.uint8), id="ndarray"),
        pytest.param(lambda path: io.BytesIO(path.read_bytes()), id="BytesIO"),
        pytest.param(lambda path: FileLike(path.read_bytes()), id="read-and-seek"),
    ],
)
def test_every_kind_of_source_gives_the_same_packets(make: Any) -> None:
    path = generated("h264_bframes.mp4")
    expected = packet_facts(tricodec.Demuxer(path))

    found = packet_facts(tricodec.Demuxer(make(path)))

    assert found == expected


def bytes_read_by_opening(path: Path, options: str, num_frames: int) -> tuple[int, int]:
    """Of a large file of so many frames: those that opening it reads, and those that it has."""
    ffmpeg(f"-f lavfi -i testsrc2=s=640x360:r=25 -frames:v {num_frames} -pix_fmt yuv420p -g 12", options, path)
    source = FileLike(path.read_bytes())
    assert tricodec.Demuxer(source).stream.pixel_format == "yuv420p"
    return source.num_read, path.stat().st_size


LARGE = {
    "h264": "-c:v libx264 -preset ultrafast -qp 1",
    "hevc": "-c:v libx265 -preset ultrafast -x265-params log-level=none:qp=4:keyint=12",
    "av1": "-c:v libsvtav1 -preset 12 -crf 1",
    "vp9": "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -b:v 20M",
}


@pytest.mark.parametrize(
    ("codec", "ending"),
    [
        ("h264", "mp4"),
        ("h264", "mkv"),
        ("hevc", "mp4"),
        ("hevc", "mkv"),
        ("av1", "mp4"),
        ("av1", "webm"),
        ("vp9", "webm"),
    ],
)
def test_opening_reads_no_pictures_when_the_headers_say_what_they_are(codec: str, ending: str, tmp_path: Path) -> None:
    front = " -movflags +faststart" * (ending == "mp4")
    read, size = bytes_read_by_opening(tmp_path / f"a.{ending}", LARGE[codec] + front, 60)

    assert size > 1_000_000
    assert read < 200_000


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_opening_reads_a_transport_stream_as_far_as_the_frame_rate_shows(codec: str, tmp_path: Path) -> None:
    """Its head names the codec and nothing more: what the frame rate is shows after some pictures' time stamps."""
    read, size = bytes_read_by_opening(tmp_path / "60.ts", LARGE[codec], 60)
    longer, _ = bytes_read_by_opening(tmp_path / "120.ts", LARGE[codec], 120)

    assert read < size * 2 / 3  # of 40 pictures
    assert longer == read


def test_bytes_are_borrowed_and_stay_exported_while_the_demuxer_is_open() -> None:
    data = bytearray(generated("h264_bframes.mp4").read_bytes())
    demuxer = tricodec.Demuxer(data)

    with pytest.raises(BufferError):
        data.append(0)
    demuxer.close()
    gc.collect()

    data.append(0)


def test_seek_continues_at_the_key_frame_at_or_before() -> None:
    demuxer = tricodec.Demuxer(generated("h264_bframes.mp4"))
    keys = [p.pts for p in demuxer if p.key]

    for pts, expected in [(keys[2], keys[2]), (keys[2] + 1, keys[2]), (keys[2] - 1, keys[1]), (0, keys[0])]:
        demuxer.seek(pts)
        packet = demuxer.read()
        assert packet is not None
        assert (packet.key, packet.pts) == (True, expected)


def test_seek_seconds_finds_the_key_frame_whose_time_it_is_given() -> None:
    demuxer = tricodec.Demuxer(generated("h264_nonzero_start.mkv"))
    keys = [p.pts for p in demuxer if p.key]

    for pts in keys:
        demuxer.seek_seconds(float(pts * demuxer.stream.time_base))
        packet = demuxer.read()
        assert packet is not None
        assert packet.pts == pts


def test_seek_bytes_continues_at_a_packet_of_a_transport_stream() -> None:
    demuxer = tricodec.Demuxer(generated("h264.ts"))
    packets = list(demuxer)
    key = next(p for p in packets[1:] if p.key)

    demuxer.seek_bytes(key.pos)
    packet = demuxer.read()

    assert packet is not None
    assert packet.pts == key.pts


def test_packet_data_is_a_view_of_the_packet_that_outlives_everything() -> None:
    demuxer = tricodec.Demuxer(generated("h264_bframes.mp4"))
    packet = demuxer.read()
    assert packet is not None
    copied = bytes(packet.data)
    address, view = packet.address, packet.data
    del packet, demuxer
    gc.collect()

    assert view.readonly
    assert np.frombuffer(view, np.uint8).__array_interface__["data"][0] == address
    assert bytes(view) == copied


def test_an_exception_raised_by_read_comes_out_as_it_is() -> None:
    class Interrupted(Exception):
        pass

    class Failing(FileLike):
        calls = 0

        def read(self, size: int) -> bytes:
            self.calls += 1
            if self.calls > 2:
                raise raised
            return super().read(size)

    raised = Interrupted("the network is gone")

    with pytest.raises(Interrupted) as caught:
        list(tricodec.Demuxer(Failing(generated("h264_open_gop.mkv").read_bytes() * 4)))

    assert caught.value is raised
    assert any(entry.name == "read" for entry in caught.traceback)


@pytest.mark.parametrize(
    ("returned", "error", "words"),
    [
        ("text", TypeError, "binary mode"),
        (None, TypeError, "non-blocking"),
        (5, TypeError, "must return bytes"),
        (bytes(1 << 24), ValueError, "more than were asked for"),
    ],
)
def test_a_source_whose_read_misbehaves_is_an_error_that_says_how(
    returned: Any, error: type[Exception], words: str
) -> None:
    class Bad(FileLike):
        def read(self, size: int) -> bytes:
            result: bytes = returned
            return result

    with pytest.raises(error, match=words):
        tricodec.Demuxer(Bad(b"x" * 1000))


def test_a_closed_demuxer_says_so_and_keeps_its_description() -> None:
    with tricodec.Demuxer(generated("h264_bframes.mp4")) as demuxer:
        packet = demuxer.read()
        assert not demuxer.closed
    demuxer.close()

    assert demuxer.closed
    assert demuxer.stream.width == 320
    assert packet is not None
    assert len(bytes(packet)) == len(packet)
    assert repr(demuxer).endswith("closed>")
    with pytest.raises(ValueError, match="this Demuxer is closed"):
        demuxer.read()


@pytest.mark.parametrize("name", ["h264_bframes.mp4", "hevc10.mkv", "vp9.webm", "av1.mp4", "mpeg4.avi"])
def test_decoder_gives_the_frames_that_ffmpeg_writes(name: str) -> None:
    path = generated(name)
    demuxer = tricodec.Demuxer(path)
    decoder = tricodec.Decoder(demuxer.stream)

    frames = [frame for packet in demuxer for frame in decoder.decode(packet)] + decoder.flush()

    assert [frame.md5() for frame in frames] == ffmpeg_framemd5(path)
    assert decoder.issues == []
    assert decoder.device == "cpu"
    assert demuxer.stream.codec_name.removesuffix("video") in repr(decoder)


def test_a_decoder_decodes_again_after_flush_and_reset() -> None:
    path = generated("h264_bframes.mp4")
    expected = ffmpeg_framemd5(path)
    demuxer = tricodec.Demuxer(path)
    decoder = tricodec.Decoder(demuxer.stream)

    for again in (decoder.flush, decoder.reset):
        demuxer.seek(0)
        frames = [frame for packet in demuxer for frame in decoder.decode(packet)]
        frames += decoder.flush()
        assert [frame.md5() for frame in frames] == expected
        again()
