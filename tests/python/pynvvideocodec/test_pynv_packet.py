# SPDX-License-Identifier: Apache-2.0
"""PacketData of the drop-in PyNvVideoCodec: C17, C18, and streams that programs hand over themselves."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterable, Iterator

import media
import numpy as np
import PyNvVideoCodec as nvc
import pytest
from pynv_helpers import decode_all

FIELDS = ["bsl", "bsl_data", "key", "pts", "dts", "pos", "duration"]


def made_by_hand(buffer: bytearray, **fields: int) -> nvc.PacketData:
    """As programs around RTP do it: the address of a bytearray."""
    packet = nvc.PacketData()
    packet.bsl = len(buffer)
    packet.bsl_data = ctypes.addressof((ctypes.c_char * len(buffer)).from_buffer(buffer)) if buffer else 0
    for name, value in fields.items():
        setattr(packet, name, value)
    return packet


def decode_chunks(chunks: Iterable[bytes], codec: nvc.cudaVideoCodec) -> Iterator[nvc.DecodedFrame]:
    decoder = nvc.CreateDecoder(codec=codec)
    for number, chunk in enumerate(chunks):
        buffer = bytearray(chunk)
        yield from decoder.Decode(made_by_hand(buffer, pts=number))
        buffer[:] = bytes(len(buffer))  # the memory is the program's again
    yield from decoder.Decode(nvc.PacketData())


def pixels(frames: Iterable[nvc.DecodedFrame]) -> list[bytes]:
    return [bytes(frame) for frame in frames]


def test_packet_prints_its_fields() -> None:
    packet = nvc.PacketData()
    packet.bsl, packet.bsl_data, packet.key, packet.pts, packet.dts, packet.pos, packet.duration = 1, 2, 3, -4, -5, 6, 7

    assert repr(packet) == (
        "key:      3\npts:      -4\ndts:      -5\npos:      6\nbsl:      1\nbsl_data:      2\nduration: 7\n"
    )


@pytest.mark.parametrize("field", FIELDS)
def test_c17_every_field_can_be_written(field: str) -> None:
    packet = nvc.PacketData()

    setattr(packet, field, np.int64(42))

    assert getattr(packet, field) == 42
    assert type(getattr(packet, field)) is int


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", [1.5, "1", None])
def test_c17_fields_take_integers_only(field: str, value: object) -> None:
    with pytest.raises(TypeError, match=field):
        setattr(nvc.PacketData(), field, value)


@pytest.mark.parametrize(
    "name",
    ["h264_bframes.mp4", "hevc_open_gop.mkv", "av1.mp4", "vp9.webm"],
)
def test_c17_u1_copied_packets_decode_to_the_same_frames(name: str) -> None:
    path = media.generated(name)
    demuxer = nvc.CreateDemuxer(str(path))
    payloads = [ctypes.string_at(packet.bsl_data, packet.bsl) for packet in demuxer if packet.bsl]

    frames = pixels(decode_chunks(payloads, demuxer.GetNvCodecId()))

    assert frames == pixels(decode_all(path))


def nal_units(data: bytes) -> list[bytes]:
    starts = [i for i in range(len(data) - 2) if data[i : i + 3] == b"\0\0\1"]
    starts = [i - 1 if i and data[i - 1] == 0 else i for i in starts]
    return [data[a:b] for a, b in itertools.pairwise([*starts, len(data)])]


@pytest.mark.parametrize("size", [None, 1400, 1], ids=["nal units", "1400 bytes", "one byte"])
def test_u1_byte_stream_may_be_cut_anywhere(size: int | None) -> None:
    path = media.generated("h264_raw.h264")
    data = path.read_bytes()
    chunks = [data[i : i + size] for i in range(0, len(data), size)] if size else nal_units(data)

    frames = pixels(decode_chunks(chunks, nvc.cudaVideoCodec.H264))

    assert frames == pixels(decode_all(path))


def test_end_of_picture_flag_completes_the_picture_at_once() -> None:
    demuxer = nvc.CreateDemuxer(str(media.generated("h264_nob.mp4")))
    decoder = nvc.CreateDecoder(latency=nvc.DisplayDecodeLatencyType.LOW)
    counts = []

    for packet in demuxer:
        if packet.bsl:
            buffer = bytearray(ctypes.string_at(packet.bsl_data, packet.bsl))
            by_hand = made_by_hand(buffer, pts=packet.pts, decode_flag=int(nvc.VideoPacketFlag.ENDOFPICTURE))
            counts.append(len(decoder.Decode(by_hand)))

    assert counts == [1] * 50


def test_c17_overwritten_time_of_a_demuxers_packet_is_the_frames() -> None:
    demuxer = nvc.CreateDemuxer(str(media.generated("h264_nob.mp4")))
    decoder = nvc.CreateDecoder()
    frames = []

    for number, packet in enumerate(demuxer):
        if packet.bsl:
            packet.pts = 1000 + number
        frames += decoder.Decode(packet)

    assert [frame.timestamp for frame in frames] == list(range(1000, 1050))
