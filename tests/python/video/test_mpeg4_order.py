# SPDX-License-Identifier: Apache-2.0
"""MPEG-4 in other ways than usual: B pictures packed behind others, times that ignore them, pictures of fields.

Nothing of it is damaged. Each frame is the one of an iteration by one worker, whatever was read before.
"""

from __future__ import annotations

from pathlib import Path

import damaged_clips
import media
import pytest
import tricodec

_MPEG4 = "-c:v mpeg4 -g 10 -bf {}"


def packed(path: Path) -> Path:
    """As DivX packs: a packet with a P and a B picture, and then one that only says to show the latter."""
    clip = damaged_clips.made("pack.avi", _MPEG4.format(2), "160x96")
    divx, placeholder = b"\0\0\1\xb2DivX503b1393p", b"\0\0\1\xb6\x50\x40"  # a P picture without anything coded
    with tricodec.Demuxer(clip) as demuxer, tricodec.Muxer(path) as muxer:
        muxer.add_stream(demuxer.stream)
        packets = [bytes(packet.data) for packet in demuxer]
        is_b = [data[data.index(b"\0\0\1\xb6") + 4] >> 6 == 2 for data in packets] + [False, False]
        assert sum(is_b) > 10
        contents = []  # [P B] [B] [N] of P, B, B
        for i, data in enumerate(packets):
            joined = data + packets[i + 1] if is_b[i + 1] else data
            contents.append(joined if not is_b[i] else packets[i + 1] if is_b[i + 1] else placeholder)
        for i, data in enumerate(contents):
            at = data.index(b"\0\0\1\xb6")
            key = data[at + 4] >> 6 == 0
            whole = data[:at] + divx + data[at:] if key else data
            muxer.write(tricodec.Packet(whole, dts=i, duration=1, key=key, time_base=(1, 25)))
    return path


def in_order_of_packets(path: Path) -> Path:
    """With times that rise from packet to packet, as encoders write them that know of no B pictures."""
    clip = damaged_clips.made("times.mp4", _MPEG4.format(2), "160x96")
    media.ffmpeg(f"-i {clip} -c copy -bsf:v setts=pts=DTS", path)
    return path


def of_fields(path: Path) -> Path:
    """With B pictures that take their vectors from fields."""
    source = "-f lavfi -i testsrc2=size=160x96:rate=25 -t 3"
    media.ffmpeg(f"{source} {_MPEG4.format(1)} -flags:v +bitexact+ilme+ildct", path)
    return path


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize(
    ("make", "name"), [(packed, "packed.avi"), (in_order_of_packets, "times.mp4"), (of_fields, "fields.avi")]
)
def test_each_frame_of_mpeg4_is_that_of_an_iteration(make: object, name: str, num_workers: int, tmp_path: Path) -> None:
    path = make(tmp_path / name)  # type: ignore[operator]
    with tricodec.FrameReader(path, device="cpu", num_workers=1) as reader:
        iterated = [frame.md5() for frame in reader]
    expected = media.ffmpeg_framemd5(path, input_options=("-threads", "1"))

    assert iterated == expected
    with tricodec.FrameReader(path, device="cpu", num_workers=num_workers) as reader:
        assert [frame.md5() for frame in reader] == expected
        assert [reader[i].md5() for i in reversed(range(len(reader)))] == expected[::-1]
        assert reader.num_damaged_packets == 0
    for number in range(len(expected)):
        with tricodec.FrameReader(path, device="cpu", num_workers=num_workers) as reader:
            assert reader[number].md5() == expected[number], number
