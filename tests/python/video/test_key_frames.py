# SPDX-License-Identifier: Apache-2.0
"""Frame.key says that decoding may start at a packet, by its own headers, on every engine and FFmpeg alike."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import bitstreams
import media
import pytest
import tricodec


def units(packet: bytes) -> list[bytes]:
    """What follows each start code."""
    starts = [at for at in range(len(packet) - 3) if packet[at : at + 3] == b"\x00\x00\x01"]
    return [packet[start + 3 : end] for start, end in pairwise([*starts, len(packet) + 1])]


def recovers_at_once(sei: bytes) -> bool:
    """True if a recovery point message says recovery_frame_cnt 0: its ue(v) is a single 1 bit."""
    at, payload = 1, sei.replace(b"\x00\x00\x03", b"\x00\x00")
    while at + 2 < len(payload):
        kind, size = payload[at], payload[at + 1]  # none of the test's messages before it takes 255 bytes
        if kind == 6:
            return payload[at + 2] >> 7 == 1
        at += 2 + size
    return False


def is_h264_key(packet: bytes) -> bool:
    kinds = [unit[0] & 31 for unit in units(packet)]
    recovery = any(recovers_at_once(unit) for unit in units(packet) if unit[0] & 31 == 6)
    return 5 in kinds or (1 in kinds and recovery)


def is_hevc_key(packet: bytes) -> bool:
    return any(16 <= unit[0] >> 1 & 63 <= 23 for unit in units(packet))


def is_mpeg2_key(packet: bytes) -> bool:
    return next(unit[2] >> 3 & 7 for unit in units(packet) if unit[0] == 0) == 1


def is_mpeg4_key(packet: bytes) -> bool:
    return next(unit[1] >> 6 for unit in units(packet) if unit[0] == 0xB6) == 0


def is_vp8_key(packet: bytes) -> bool:
    return packet[0] & 1 == 0


def is_vp9_key(packet: bytes) -> bool:
    return packet[0] & 0x0C == 0  # neither show_existing_frame nor frame_type, of profile 0


CLIPS: dict[str, Callable[[bytes], bool]] = {
    "h264_open_gop.mkv": is_h264_key,
    "h264_intra_refresh.mp4": is_h264_key,
    "h264_missing_first_key.ts": is_h264_key,
    "h264_mbaff.ts": is_h264_key,
    "hevc_open_gop.mkv": is_hevc_key,
    "vp8.webm": is_vp8_key,
    "vp9_shown_again.webm": is_vp9_key,
    "mpeg2.ts": is_mpeg2_key,
    "mpeg4.mp4": is_mpeg4_key,
}


@pytest.mark.parametrize("name", CLIPS)
@pytest.mark.parametrize("num_workers", [1, 2])
def test_key_says_what_the_packets_headers_say(name: str, num_workers: int) -> None:
    with tricodec.Demuxer(media.generated(name), annexb=True) as demuxer:
        key_times = {packet.pts for packet in demuxer if CLIPS[name](bytes(packet.data))}
    with tricodec.FrameReader(media.generated(name), device="cpu", num_workers=num_workers) as reader:
        frames = list(reader)

    assert [frame.pts for frame in frames if frame.key] == [f.pts for f in frames if f.pts in key_times]
    assert any(frame.key for frame in frames)


@pytest.mark.parametrize("name", [name for name in CLIPS if name != "h264_missing_first_key.ts"])
def test_frames_called_key_are_the_readers_key_frames(name: str) -> None:
    with tricodec.FrameReader(media.generated(name), device="cpu") as reader:
        assert [frame.index for frame in reader if frame.key] == reader.key_frames


def test_a_recovery_point_is_key_only_where_it_recovers_at_once() -> None:
    """libavcodec's own flag has meant other things in each of its versions."""
    for name, expected in (("h264_open_gop.mkv", {0}), ("h264_intra_refresh.mp4", {0})):
        counts = bitstreams.fields(media.generated(name), "recovery_frame_cnt")
        assert (set(counts) == expected) == (name == "h264_open_gop.mkv"), (name, counts)
    with tricodec.FrameReader(media.generated("h264_intra_refresh.mp4"), device="cpu") as reader:
        assert [frame.index for frame in reader if frame.key] == [0]
    with tricodec.FrameReader(media.generated("h264_open_gop.mkv"), device="cpu") as reader:
        keys = [frame for frame in reader if frame.key]
        assert len(keys) > 1
        assert {frame.picture_type for frame in keys} == {"I"}


def test_av1_shows_its_key_frames_where_ffprobe_flags_their_packets() -> None:
    path = media.generated("av1.mp4")
    packets = bitstreams.probe(path, "packet=pts,flags")["packets"]
    key_times = {packet["pts"] for packet in packets if "K" in packet["flags"]}
    with tricodec.FrameReader(path, device="cpu") as reader:
        assert {frame.pts for frame in reader if frame.key} == key_times
