# SPDX-License-Identifier: Apache-2.0
"""The names of other libraries give what our own give: PyNvVideoCodec's encoder and SEI, torchaudio's streams."""

from __future__ import annotations

from typing import Any

import bitstreams
import PyNvVideoCodec as nvc
import pytest
import tricodec
from tricodec import encode

WIDTH, HEIGHT = 192, 128

PARAMETERS: dict[str, dict[str, Any]] = {
    "h264": {"codec": "h264", "preset": "P2", "bf": 3, "gop": 12, "constqp": 27},
    "hevc": {"codec": "hevc", "preset": "P1", "constqp": 30, "fps": 25},
    "av1": {"codec": "av1", "preset": "P1", "constqp": 120},
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_create_encoder_makes_the_packets_of_encoder_with_the_tables_words(name: str) -> None:
    parameters = PARAMETERS[name]
    frames = bitstreams.moving(WIDTH, HEIGHT, 16)
    theirs = nvc.CreateEncoder(WIDTH, HEIGHT, "YUV420", True, use_ivf_container=0, **parameters)
    settings, unknown = encode.Settings.of(parameters, WIDTH, HEIGHT)
    plan = encode.build(settings, encode.CPU_ENCODERS[settings.codec])
    ours = tricodec.Encoder(WIDTH, HEIGHT, device="cpu", **plan.keywords)

    given = [packet for frame in frames for packet in theirs.Encode(frame.reshape(-1))]
    given += theirs.EndEncode()
    wanted = [packet for frame in frames for packet in ours.encode(frame, format="yuv420p")]
    wanted += ours.flush()

    assert unknown == []
    assert [packet["data"] for packet in given] == [bytes(packet) for packet in wanted]
    assert [packet["timestamp"] for packet in given] == [packet.pts for packet in wanted]
