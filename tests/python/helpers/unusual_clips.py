# SPDX-License-Identifier: Apache-2.0
"""Clips that are whole, and that few encoders make. Each function makes one in a folder."""

from __future__ import annotations

from pathlib import Path

import damaged_clips
import media
import tricodec

_MPEG4 = "-c:v mpeg4 -g 10 -bf {}"


def mpeg4_packed(folder: Path) -> Path:
    """As DivX packs: a packet with a P and a B picture, and then one that only says to show the latter."""
    path = folder / "packed.avi"
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


def mpeg4_in_order_of_packets(folder: Path) -> Path:
    """With times that rise from packet to packet, as encoders write them that know of no B pictures."""
    path = folder / "times.mp4"
    clip = damaged_clips.made("times.mp4", _MPEG4.format(2), "160x96")
    media.ffmpeg(f"-i {clip} -c copy -bsf:v setts=pts=DTS", path)
    return path


def mpeg4_of_fields(folder: Path) -> Path:
    """With B pictures that take their vectors from fields."""
    path = folder / "fields.avi"
    source = "-f lavfi -i testsrc2=size=160x96:rate=25 -t 3"
    media.ffmpeg(f"{source} {_MPEG4.format(1)} -flags:v +bitexact+ilme+ildct", path)
    return path


def vp8_of_two_ranges(folder: Path) -> Path:
    """With the second of three key frames in full range, as decoders take its bit; the others are limited."""
    path = folder / "ranges.webm"
    data = bytearray(damaged_clips.made("vp8.webm", damaged_clips.SMALL["vp8.webm"]).read_bytes())
    _, second, _ = [packet for packet in tricodec.Demuxer(bytes(data)) if packet.key]
    data[data.index(bytes(second.data)) + 10] ^= 0x40
    path.write_bytes(data)
    return path


MPEG4 = (mpeg4_packed, mpeg4_in_order_of_packets, mpeg4_of_fields)
