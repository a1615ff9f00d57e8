# SPDX-License-Identifier: Apache-2.0
"""Demuxing by the drop-in PyNvVideoCodec: C4 to C16 and Seek, against ffprobe."""

from __future__ import annotations

import ctypes
import pickle
from pathlib import Path
from typing import Any

import media
import PyNvVideoCodec as nvc
import pytest

NO_TIMESTAMP = -(2**63)
CHROMA = nvc.cudaVideoChromaFormat.__members__


def probed_packets(path: Path) -> list[dict[str, str]]:
    """pts, dts, duration, pos and flags of every packet, by ffprobe."""
    shown = media.ffprobe(path, "-select_streams v:0 -show_entries packet=pts,dts,duration,size,pos,flags")
    return [{"dts": "N/A", "duration": "N/A", **row} for row in shown["packets"]]


def probed_frames(path: Path) -> list[dict[str, int]]:
    """Every frame with its pts, by ffprobe; a bare stream has none."""
    frames: list[dict[str, int]] = media.ffprobe(path, "-select_streams v:0 -show_entries frame=pts")["frames"]
    return frames


def payload(packet: nvc.PacketData) -> bytes:
    return ctypes.string_at(packet.bsl_data, packet.bsl)


@pytest.mark.parametrize(
    "name",
    ["h264_bframes.mp4", "av1.mp4", "h264.ts", "hevc_raw.hevc", "vp8.webm"],
)
def test_c9_c10_one_packet_a_frame_and_then_an_empty_one(name: str) -> None:
    path = media.generated(name)

    packets = list(nvc.CreateDemuxer(str(path)))

    hidden = len(probed_packets(path)) - len(probed_frames(path))  # VP8's alternate reference frames
    assert sum(packet.bsl > 0 for packet in packets) == len(probed_frames(path)) + hidden
    assert (hidden > 0) == (name == "vp8.webm")
    assert repr(packets[-1]) == repr(nvc.PacketData())
    assert [packet.bsl > 0 for packet in packets] == [True] * (len(packets) - 1) + [False]


@pytest.mark.parametrize("name", ["h264_bframes.mp4", "h264_open_gop.mkv", "hevc.mp4", "hevc_open_gop.mkv"])
def test_c11_payload_is_annex_b_with_parameter_sets_at_instantaneous_refreshes(name: str) -> None:
    demuxer = nvc.CreateDemuxer(str(media.generated(name)))
    is_hevc = demuxer.GetNvCodecId() is nvc.cudaVideoCodec.HEVC

    for packet in demuxer:
        data = payload(packet)
        if not data:
            continue
        units = data.replace(b"\0\0\0\1", b"\0\0\1").split(b"\0\0\1")
        assert units[0] == b""
        kinds = [unit[0] >> 1 & 63 if is_hevc else unit[0] & 31 for unit in units[1:]]
        parameter_sets, refreshes = ({32, 33, 34}, {19, 20, 21}) if is_hevc else ({7, 8}, {5})
        if refreshes & set(kinds):
            assert packet.key == 1
            assert parameter_sets <= set(kinds)


@pytest.mark.parametrize(("name", "raw_name"), [("h264_bframes.mp4", "raw.h264"), ("mpeg4.mp4", "raw.m4v")])
def test_c11_payloads_alone_are_a_decodable_elementary_stream(name: str, raw_name: str, tmp_path: Path) -> None:
    path = media.generated(name)
    raw = tmp_path / raw_name

    raw.write_bytes(b"".join(payload(packet) for packet in nvc.CreateDemuxer(str(path))))

    assert media.ffmpeg_framemd5(raw) == media.ffmpeg_framemd5(path)


TIMED = ["h264_open_gop.mkv", "h264.ts", "av1.mp4", "h264_nonzero_start.mp4", "h264_vfr.mkv"]


@pytest.mark.parametrize("name", TIMED)
def test_c12_to_c15_times_and_key_flags_are_the_containers(name: str) -> None:
    path = media.generated(name)

    packets = [packet for packet in nvc.CreateDemuxer(str(path)) if packet.bsl]

    expected = probed_packets(path)
    assert [packet.pts for packet in packets] == [int(row["pts"]) for row in expected]
    assert [packet.dts for packet in packets] == [
        NO_TIMESTAMP if row["dts"] == "N/A" else int(row["dts"]) for row in expected
    ]
    assert [packet.duration for packet in packets] == [
        int(row["duration"]) if row["duration"] != "N/A" else 0 for row in expected
    ]
    assert [packet.key for packet in packets] == [int("K" in row["flags"]) for row in expected]


@pytest.mark.parametrize("name", ["h264_bframes.mp4", "h264_faststart.mp4", "mpeg4.avi"])
def test_c16_pos_is_where_the_packet_lies_in_the_file(name: str) -> None:
    path = media.generated(name)
    file = path.read_bytes()

    packets = [packet for packet in nvc.CreateDemuxer(str(path)) if packet.bsl]

    assert [packet.pos for packet in packets] == [int(row["pos"]) for row in probed_packets(path)]
    tail = payload(packets[-1])[-16:]
    assert file.index(tail, packets[-1].pos) - packets[-1].pos < packets[-1].bsl


FACTS: dict[str, dict[str, Any]] = {
    "h264_bframes.mp4": {
        "Width": 320, "Height": 180, "GetContainerName": "mp4", "FrameSize": 320 * 180 * 3 // 2,
        "ColorSpace": nvc.ColorSpace.UNSPEC, "ColorRange": nvc.ColorRange.UDEF, "FrameRate": 25.0, "RFrameRate": 25.0,
        "AvgFrameRateNum": 25, "AvgFrameRateDen": 1, "RFrameRateNum": 25, "RFrameRateDen": 1, "GetTimebaseNum": 1,
        "GetTimebaseDen": 12800,
    },
    "h264.avi": {"Width": 320, "Height": 180, "GetContainerName": "avi"},
    "h264_open_gop.mkv": {"Width": 320, "Height": 180, "GetContainerName": "matroska,webm"},
    "hevc10.mkv": {"FrameSize": 320 * 180 * 3, "BitDepth": 10, "ChromaFormat": CHROMA["420"]},
    "h264_444.mp4": {"FrameSize": 320 * 180 * 3},
    "vp9_odd.webm": {"FrameSize": 322 * (181 + 91)},
    "bt709.mp4": {"ColorSpace": nvc.ColorSpace.BT_709, "ColorRange": nvc.ColorRange.MPEG},
    "full_range.mp4": {"ColorSpace": nvc.ColorSpace.UNSPEC, "ColorRange": nvc.ColorRange.JPEG},
    "h264_422_10.mkv": {"BitDepth": 10, "ChromaFormat": CHROMA["422"]},
    "hevc_gray.mkv": {"BitDepth": 8, "ChromaFormat": CHROMA["Monochrome"]},
}  # fmt: skip


@pytest.mark.parametrize("name", FACTS)
def test_c5_facts_are_those_of_the_file(name: str) -> None:
    demuxer = nvc.CreateDemuxer(str(media.generated(name)))

    assert {fact: getattr(demuxer, fact)() for fact in FACTS[name]} == FACTS[name]


def test_missing_file_raises_at_once_and_is_named(tmp_path: Path) -> None:
    path = tmp_path / "missing.mp4"

    with pytest.raises(nvc.PyNvVCException, match=r"missing\.mp4") as raised:
        nvc.CreateDemuxer(str(path))

    assert isinstance(raised.value, FileNotFoundError)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)  # workers hand it to their parent
    assert isinstance(raised.value, RuntimeError)


@pytest.mark.parametrize("content", [b"", b"no video at all" * 100, bytes(5000)], ids=["empty", "text", "zeros"])
def test_u15_garbage_raises_the_modules_exception(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "garbage.mp4"
    path.write_bytes(content)

    with pytest.raises(nvc.PyNvVCException, match=r"garbage\.mp4"):
        nvc.CreateDemuxer(str(path))


def keys_of(path: Path) -> list[int]:
    return [int(row["pts"]) for row in probed_packets(path) if "K" in row["flags"]]


SEEKABLE = ["h264_bframes.mp4", "h264_open_gop.mkv", "h264_nonzero_start.mkv", "av1.mkv"]


@pytest.mark.parametrize("name", SEEKABLE)
def test_seek_by_seconds_goes_to_the_key_frame_at_or_after(name: str) -> None:
    path = media.generated(name)
    demuxer = nvc.CreateDemuxer(str(path))
    unit = demuxer.GetTimebaseNum() / demuxer.GetTimebaseDen()
    keys = keys_of(path)

    assert demuxer.Seek(keys[2] * unit).pts == keys[2]
    assert demuxer.Seek(keys[1] * unit + 0.01).pts == keys[2]
    assert demuxer.Seek(0.0).pts == keys[0]


@pytest.mark.parametrize("name", SEEKABLE)
def test_seek_by_frame_number_goes_to_the_key_frame_at_or_before(name: str) -> None:
    path = media.generated(name)
    demuxer = nvc.CreateDemuxer(str(path))
    times = sorted(frame["pts"] for frame in probed_frames(path))

    for index in (len(times) - 1, 25, 24, 12, 0):
        packet = demuxer.Seek(index)

        assert packet.key == 1
        assert packet.pts == max(key for key in keys_of(path) if key <= times[index])


@pytest.mark.parametrize("name", SEEKABLE)
def test_iteration_continues_behind_the_packet_that_seek_returns(name: str) -> None:
    path = str(media.generated(name))
    everything = [packet.dts for packet in nvc.CreateDemuxer(path) if packet.bsl]
    demuxer = nvc.CreateDemuxer(path)

    found = demuxer.Seek(30)
    rest = [packet.dts for packet in demuxer if packet.bsl]

    assert [found.dts, *rest] == everything[everything.index(found.dts) :]


@pytest.mark.parametrize("name", ["h264_open_gop.mkv", "hevc_open_gop.mkv", "mpeg4.mp4"])
def test_frames_after_a_seek_are_those_of_the_whole_decode(name: str) -> None:
    path = media.generated(name)
    expected = dict(zip((frame["pts"] for frame in probed_frames(path)), media.ffmpeg_frames(path), strict=True))
    demuxer = nvc.CreateDemuxer(str(path))
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId())

    key = demuxer.Seek(30)
    frames = decoder.Decode(key) + [frame for packet in demuxer for frame in decoder.Decode(packet)]

    # Leading pictures of an open group lack their references; from the key frame on everything is exact.
    frames = [frame for frame in frames if frame.timestamp >= key.pts]
    assert [frame.timestamp for frame in frames] == [pts for pts in expected if pts >= key.pts]
    assert len(frames) >= 20
    for frame in frames:
        assert bytes(frame)[: 320 * 180] == expected[frame.timestamp][: 320 * 180]


def test_failed_seek_leaves_the_position() -> None:
    demuxer = nvc.CreateDemuxer(str(media.generated("h264_bframes.mp4")))
    position = demuxer.Demux().dts

    for target in (1000, 99.0):
        with pytest.raises(nvc.PyNvVCException, match="Seek"):
            demuxer.Seek(target)

    assert demuxer.Demux().dts == position + 512


def test_callbacks_own_exception_arrives_unchanged() -> None:
    def fill(buffer: bytearray) -> int:
        message = "the camera is gone"
        raise ConnectionResetError(message)

    with pytest.raises(ConnectionResetError, match="the camera is gone"):
        nvc.CreateDemuxer(fill)
