# SPDX-License-Identifier: Apache-2.0
"""What the drop-in PyNvVideoCodec reports of damaged streams."""

from __future__ import annotations

import ctypes
import logging

import media
import PyNvVideoCodec as nvc
import pytest


def packets_of(name: str) -> list[nvc.PacketData]:
    return list(nvc.CreateDemuxer(str(media.generated(name))))


def decode_packets(decoder: nvc.PyNvDecoder, packets: list[nvc.PacketData]) -> list[nvc.DecodedFrame]:
    return [frame for packet in packets for frame in decoder.Decode(packet)]


def test_u15_stream_without_a_decodable_picture_raises_at_its_end() -> None:
    garbage = bytearray(b"\0\0\1\x65" + b"\xff" * 500 + b"\0\0\1\x65" + b"\xaa" * 500)
    packet = nvc.PacketData()
    packet.bsl, packet.bsl_data = len(garbage), ctypes.addressof(ctypes.c_char.from_buffer(garbage))
    decoder = nvc.CreateDecoder()
    assert decoder.Decode(packet) == []

    with pytest.raises(nvc.PyNvVCException, match="no frame of this h264 stream could be decoded"):
        decoder.Decode(nvc.PacketData())

    assert len(decode_packets(decoder, packets_of("h264_bframes.mp4"))) == 50


def test_damage_is_logged_and_listed(caplog: pytest.LogCaptureFixture) -> None:
    demuxer = nvc.CreateDemuxer(str(media.generated("flipped.ts")))
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId())

    with caplog.at_level(logging.WARNING, logger="PyNvVideoCodec"):
        frames = decode_packets(decoder, list(demuxer))

    assert len(frames) >= 40
    assert len(decoder.issues) >= 1
    assert "packets were damaged" in caplog.text
