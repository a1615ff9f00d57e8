# SPDX-License-Identifier: Apache-2.0
"""What the drop-in PyNvVideoCodec reports of damaged streams."""

from __future__ import annotations

import ctypes
import logging
from pathlib import Path

import media
import numpy as np
import PyNvVideoCodec as nvc
import pytest
from pynv_helpers import decode_all
from pynv_helpers.pixels import nv12_bytes

WIDTH, HEIGHT = 320, 180


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


def test_packet_that_cannot_be_split_costs_its_frame_and_is_logged(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    source = media.generated("h264_bframes.mp4")
    packets = [packet for packet in nvc.CreateDemuxer(str(source)) if packet.bsl]
    packet = min(packets[20:], key=lambda packet: packet.bsl)  # no other frame refers to so small a one
    data = bytearray(source.read_bytes())
    data[packet.pos] = 0x7F  # the length of its NAL unit goes far past its end
    path = tmp_path / "damaged.mp4"
    path.write_bytes(data)

    with caplog.at_level(logging.WARNING, logger="tricodec"):
        frames = decode_all(path)

    expected = [nv12_bytes(picture, WIDTH, HEIGHT) for picture in media.ffmpeg_frames(path)]
    assert len(expected) == 49
    assert [bytes(frame) for frame in frames] == expected
    assert "is dropped: its NAL units' lengths do not add up" in caplog.text


def test_damage_is_told_by_a_decoder_that_met_much_of_it_before() -> None:
    nonsense = np.full(8, 0xFF, np.uint8)
    packet = nvc.PacketData()
    packet.bsl, packet.bsl_data = nonsense.size, nonsense.ctypes.data
    decoder = nvc.CreateDecoder(codec=nvc.cudaVideoCodec.VP8, latency=nvc.DisplayDecodeLatencyType.LOW)

    for number in (10_005, 3):
        for _ in range(number):
            decoder.Decode(packet)
        with pytest.raises(nvc.PyNvVCException, match=rf"; {number} of {number} packets were damaged, the first"):
            decoder.Decode(nvc.PacketData())

    assert len(decoder.issues) == 10_000
    assert decoder.issues[-1].packet_number == 2
