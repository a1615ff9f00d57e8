# SPDX-License-Identifier: Apache-2.0
"""tricodec.Encoder, Muxer and transcode from Python, judged by ffprobe, ffmpeg and PyAV."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import av
import bitstreams
import media
import numpy as np
import pytest
import tricodec

WIDTH, HEIGHT = 192, 128


def encoded_file(path: Path, frames: bitstreams.Array, muxing: dict[str, Any] | None = None, **options: Any) -> Path:
    with tricodec.Muxer(path, **(muxing or {})) as muxer:
        encoder = tricodec.Encoder(
            WIDTH, HEIGHT, global_header=muxer.wants_global_headers, **{"frame_rate": 25, **options}
        )
        stream = muxer.add_stream(encoder.stream)
        for frame in frames:
            for packet in encoder.encode(frame, format="NV12"):
                muxer.write(packet, stream)
        for packet in encoder.flush():
            muxer.write(packet, stream)
    return path


@pytest.mark.parametrize("name", ["a.mp4", "a.mov", "a.mkv", "a.ts", "a.h264"])
def test_pyav_and_ffmpeg_read_the_same_frames_of_every_container(name: str, tmp_path: Path) -> None:
    frames = bitstreams.moving(WIDTH, HEIGHT, 12)

    path = encoded_file(tmp_path / name, frames, num_b_frames=3, options={"preset": "medium"})

    with av.open(str(path)) as container:
        by_pyav = [frame.to_ndarray(format="yuv420p") for frame in container.decode(video=0)]
    assert len(by_pyav) == 12
    assert np.array_equal(np.concatenate([frame.reshape(-1) for frame in by_pyav]), bitstreams.decoded(path))


def test_color_rotation_and_metadata_are_written(tmp_path: Path) -> None:
    color = {"matrix": "bt709", "primaries": "bt709", "transfer": "bt709", "range": "limited"}

    path = encoded_file(
        tmp_path / "a.mp4", bitstreams.moving(WIDTH, HEIGHT, 2), {"metadata": {"title": "a title"}},
        color=color, rotation=90,
    )  # fmt: skip

    facts = bitstreams.stream_facts(path)
    info = tricodec.probe(path).video
    assert [facts[key] for key in ("color_space", "color_primaries", "color_range")] == ["bt709", "bt709", "tv"]
    assert info is not None
    assert info.rotation == 90
    assert bitstreams.probe(path, "format_tags=title")["format"]["tags"]["title"] == "a title"


@pytest.mark.parametrize("muxing", [{}, {"fast_start": True}, {"fragmented": True}], ids=str)
def test_mp4_layouts_put_the_index_where_they_say(muxing: dict[str, Any], tmp_path: Path) -> None:
    path = encoded_file(tmp_path / "a.mp4", bitstreams.moving(WIDTH, HEIGHT, 8), muxing, gop_size=4)

    data = path.read_bytes()
    assert (b"moof" in data) == bool(muxing.get("fragmented"))
    assert (data.index(b"moov") < data.index(b"mdat")) == bool(muxing)
    assert bitstreams.decoded(path).size == 8 * WIDTH * HEIGHT * 3 // 2


def test_memory_and_file_like_targets_get_the_bytes_of_a_file(tmp_path: Path) -> None:
    source = media.generated("h264_bframes.mp4")
    demuxer = tricodec.Demuxer(source)
    packets = list(demuxer)

    def copied(target: Any, **options: Any) -> tricodec.Muxer:
        with tricodec.Muxer(target, format="mp4", **options) as muxer:
            muxer.add_stream(demuxer.stream)
            for packet in packets:
                muxer.write(packet)
        return muxer

    copied(tmp_path / "a.mp4")
    written = (tmp_path / "a.mp4").read_bytes()
    stream = io.BytesIO()
    copied(stream)
    fast = io.BytesIO()
    copied(fast, fast_start=True)

    assert copied(None).getvalue() == written
    assert stream.getvalue() == written
    assert fast.getvalue().index(b"moov") < fast.getvalue().index(b"mdat")
    assert [frame.md5() for frame in tricodec.FrameReader(fast.getvalue())] == [
        frame.md5() for frame in tricodec.FrameReader(source)
    ]


class Broken:
    def write(self, data: bytes) -> int:
        message = "the disk is full"
        raise OSError(message)

    def seek(self, offset: int, whence: int) -> int:
        return offset


def test_what_a_target_raises_reaches_the_caller() -> None:
    demuxer = tricodec.Demuxer(media.generated("h264_bframes.mp4"))
    muxer = tricodec.Muxer(Broken(), format="matroska")
    muxer.add_stream(demuxer.stream)

    with pytest.raises(OSError, match="disk is full"):  # noqa: PT012  (which call meets it is the container's affair)
        for packet in demuxer:
            muxer.write(packet)
        muxer.finish()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        *(
            ({"format": name}, tricodec.RefusedError, "several files")
            for name in ("hls", "dash", "segment", "image2", "tee")
        ),
        ({"format": "nonsense"}, ValueError, "nonsense"),
        ({"format": "matroska", "fragmented": True}, ValueError, "fragments"),
        ({}, ValueError, "format"),
    ],
    ids=str,
)
def test_containers_that_cannot_be_are_refused(options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        tricodec.Muxer(None, **options)


def test_transcode_takes_the_words_of_encode_video(tmp_path: Path) -> None:
    source = make_source(tmp_path / "source.mkv", seconds=1)

    def made(**words: Any) -> bytes | None:
        return tricodec.transcode(source, None, format="mp4", num_threads=1, audio=False, **words).data

    expected = made(options={"preset": "ultrafast", "crf": 35})
    assert made(crf=35, preset="ultrafast") == expected
    assert made(crf=10, preset="ultrafast", options={"crf": 35}) == expected  # as encode_video does
    assert made(crf=10, preset="ultrafast") != expected


def test_transcode_in_parts_joins_them_without_a_seam(tmp_path: Path) -> None:
    source = make_source(tmp_path / "source.mkv", seconds=26)

    result = tricodec.transcode(
        source, tmp_path / "out.mp4", num_workers=2, options={"preset": "ultrafast", "qp": 0}, num_b_frames=2
    )

    assert result.num_frames == 26 * 25
    by_one = [frame.md5() for frame in tricodec.FrameReader(source)]
    assert [frame.md5() for frame in tricodec.FrameReader(tmp_path / "out.mp4")] == by_one
    times = [
        float(packet["dts_time"]) for packet in bitstreams.probe(tmp_path / "out.mp4", "packet=dts_time")["packets"]
    ]
    assert times == sorted(set(times))
    assert result.num_audio_packets > 1000


def test_transcode_can_be_cancelled_and_leaves_a_whole_file(tmp_path: Path) -> None:
    source = make_source(tmp_path / "source.mkv")
    seen = []

    def progress(frames: int, seconds: float, total: float) -> bool:
        seen.append((frames, seconds, total))
        return frames < 20

    result = tricodec.transcode(source, tmp_path / "out.mp4", options={"preset": "ultrafast"}, progress=progress)

    assert result.cancelled
    assert seen[0][2] == pytest.approx(2.4, abs=0.1)
    assert len(tricodec.FrameReader(tmp_path / "out.mp4")) == result.num_frames


def make_source(path: Path, seconds: float = 2.4) -> Path:
    sources = f"-f lavfi -i testsrc2=s=160x96:r=25:d={seconds} -f lavfi -i sine=d={seconds}"
    media.ffmpeg(sources, "-pix_fmt yuv420p -c:v libx264 -preset ultrafast -g 25 -bf 2 -c:a aac", path)
    return path


@pytest.mark.parametrize("codec", ["libx264", "libx265", "libsvtav1"])
def test_an_encoder_is_closed_without_its_end(codec: str) -> None:
    # In a process of its own: what is tested is that it ends.
    program = (
        "import numpy as np, tricodec\n"
        "for _ in range(2):\n"
        f"    encoder = tricodec.Encoder(192, 128, codec={codec!r})\n"
        "    for _ in range(3):\n"
        "        encoder.encode(np.zeros((128, 192, 3), np.uint8))\n"
        "    del encoder\n"
    )

    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
