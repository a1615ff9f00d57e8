# SPDX-License-Identifier: Apache-2.0
"""Frame.key says that decoding may start at a packet, by its own headers, on every engine and FFmpeg alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import bitstreams
import media
import pytest
import tricodec
from h264_writer import H264Stream, Picture
from hevc_writer import CRA, IDR, HevcStream
from hevc_writer import Picture as HevcPicture


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


OLDER, KEY = 1, 2
"""Frames before an open key frame repeat the first one; those after it repeat the key frame, if they are undamaged."""


def after_open_key_frame(path: Path, *pictures: Picture) -> Path:
    """An IDR picture, one that repeats it, an open key frame, and pictures that show another one."""
    stream = H264Stream(64, 64, num_ref_frames=4)
    stream.write(stream.noise(), Picture(idr=True))
    stream.skip(Picture(frame_num=OLDER, poc=2 * OLDER))
    stream.write(stream.noise(), Picture(frame_num=KEY, poc=2 * KEY, recovers=True))
    write_after(stream, pictures)
    return in_mp4(bytes(stream.data), "h264", path)


def write_after(stream: H264Stream, pictures: Sequence[Picture]) -> None:
    for number, picture in enumerate(pictures, KEY + 1):
        stream.skip(dataclasses.replace(picture, frame_num=number, poc=2 * number))


def after_cra_picture(path: Path, *references: list[int], long_term: int | None = None) -> Path:
    """The same of HEVC: each picture shows the first of those that it refers to, the last one a long-term picture."""
    stream = HevcStream()
    stream.write(HevcPicture(kind=IDR), stream.noise())
    stream.write(HevcPicture(poc=OLDER, before=[0]))
    stream.write(HevcPicture(poc=KEY, kind=CRA, before=[OLDER, 0]), stream.noise())
    for number, before in enumerate(references, KEY + 1):
        stream.write(HevcPicture(poc=number, before=before, long_term=None if before else long_term))
    return in_mp4(bytes(stream.data), "hevc", path)


def in_mp4(stream: bytes, codec: str, path: Path) -> Path:
    path.with_suffix(".bin").write_bytes(stream)
    media.ffmpeg(f"-r 25 -f {codec} -i", path.with_suffix(".bin"), "-c copy", path)
    return path


def every_way(path: Path, index: str, num_workers: int) -> list[list[str]]:
    with tricodec.FrameReader(path, device="cpu", index=index, num_workers=num_workers) as reader:
        ways = [[frame.md5() for frame in reader]]
    ways.append([])
    for number in range(len(ways[0])):
        with tricodec.FrameReader(path, device="cpu", index=index, num_workers=num_workers) as reader:
            ways[1].append(reader[number].md5())
    return ways


@pytest.mark.parametrize("index", ["packets", "container"])
def test_open_key_frames_of_undamaged_streams_stay_where_decoding_begins(index: str, tmp_path: Path) -> None:
    paths = {
        "forgets what is older": after_open_key_frame(
            tmp_path / "forgets.mp4", Picture(forgets=[2, 3]), Picture(), Picture(forgets=[1])
        ),
        "lets it slide": after_open_key_frame(tmp_path / "slides.mp4", *[Picture()] * 4),
        "has a list as long as what it keeps": after_open_key_frame(
            tmp_path / "lists.mp4", Picture(forgets=[2, 3]), Picture(num_active=2, shows_later=1)
        ),
        "hevc": after_cra_picture(tmp_path / "hevc.mp4", [KEY], [KEY + 1, KEY], [KEY]),
        "hevc keeps its key frame for long": after_cra_picture(
            tmp_path / "long.mp4", [KEY], [KEY + 1, KEY], [], long_term=KEY
        ),
    }
    for name, path in paths.items():
        one, other = every_way(path, index, 2)
        with tricodec.FrameReader(path, device="cpu", index=index) as reader:
            assert reader.key_frames == [0, KEY], name
            assert reader.num_damaged_packets == 0, name
        assert one == other, name
        assert one[KEY:] == [one[KEY]] * (len(one) - KEY), name
