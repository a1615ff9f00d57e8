# SPDX-License-Identifier: Apache-2.0
"""Rate control of PyNvVideoCodec's encoder: bit rates, quantizers, Reconfigure and latency, seen in the bitstreams."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bitstreams
import PyNvVideoCodec as nvc
import pytest
import tricodec
from pynv_helpers import HEIGHT, WIDTH, encode
from tricodec.encode import CPU_ENCODERS, Settings, build


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_c80_constqp_is_the_quantizer_of_each_picture_type(codec: str, tmp_path: Path) -> None:
    frames = bitstreams.moving(WIDTH, HEIGHT, 6, noise=6)

    path = encode(frames, tmp_path, codec=codec, rc="constqp", constqp=[30, 34, 24], bf=2)

    initial = 26 + bitstreams.fields(path, "pic_init_qp_minus26" if codec == "h264" else "init_qp_minus26")[0]
    quantizers = [initial + delta for delta in bitstreams.fields(path, "slice_qp_delta")]
    assert set(quantizers) == {24, 30, 34}
    assert quantizers[0] == 24


#: A parameter, and what x264 and x265 then write of their own settings into the stream.
TOLD = [
    ({"preset": "P7"}, "subme=8", "subme=3"),
    ({"rc": "vbr", "bitrate": 1_000_000, "maxbitrate": 3_000_000}, "vbv_maxrate=3000", "vbv-maxrate=3000"),
    ({"vbvbufsize": 500_000}, "vbv_bufsize=500", "vbv-bufsize=437"),
    ({"bitrate": 1_000_000, "vbvbufsize": 500_000, "vbvinit": 250_000}, "vbv_bufsize=500", "vbv-init=0.4"),
    ({"lookahead": 12}, "rc_lookahead=12", "rc-lookahead=12"),
    ({"aq": 4}, "aq=1:0.50", "aq-strength=0.50"),
    ({"gop": 60, "idrperiod": 90}, "keyint=60", " keyint=60"),
    ({"constqp": [30, 34, 24]}, "rc=cqp", "rc=cqp"),
]


@pytest.mark.parametrize(("options", "h264", "hevc"), TOLD, ids=["-".join(options) for options, _, _ in TOLD])
def test_c73_c75_c83_c84_c87_encoders_tell_in_the_stream_what_a_parameter_set(
    options: dict[str, Any], h264: str, hevc: str
) -> None:
    frames = bitstreams.moving(96, 64, 2)

    for codec, wanted in (("h264", h264), ("hevc", hevc)):
        settings, _ = Settings.of({"codec": codec, "preset": "P1", **options}, 96, 64)
        words = build(settings, CPU_ENCODERS[codec]).keywords
        # libx265 is told not to write them beside a buffer; here it is to.
        chosen = {name: value.replace("info=0", "info=1") for name, value in words["options"].items()}
        encoder = tricodec.Encoder(96, 64, format="yuv420p", **{**words, "options": chosen})
        packets = [packet for frame in frames for packet in encoder.encode(frame, format="NV12")] + encoder.flush()
        told = re.search(rb"options: ([ -~]+)", b"".join(bytes(packet) for packet in packets))
        assert told is not None
        assert wanted in " " + told[1].decode()


@pytest.mark.parametrize("rc", ["cbr", "vbr"])
@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
def test_the_bit_rate_is_kept_within_five_percent(codec: str, rc: str, tmp_path: Path) -> None:
    frames = bitstreams.moving(WIDTH, HEIGHT, 240, noise=20)
    rate = 900_000

    path = encode(
        frames, tmp_path, codec=codec, rc=rc, bitrate=rate, maxbitrate=int(rate * 1.5), vbvbufsize=rate // 2,
        vbvinit=rate // 4, lookahead=8,
    )  # fmt: skip

    seconds = len(frames) / 30
    assert path.stat().st_size * 8 / seconds == pytest.approx(rate, rel=0.05)


def halve(t: Any) -> None:
    """As the document's example has it."""
    t.averageBitrate = int(t.averageBitrate / 2)
    t.vbvBufferSize = int(t.averageBitrate * t.frameRateDen / t.frameRateNum) * 4
    t.vbvInitialDelay = t.vbvBufferSize


def double_frame_rate(t: Any) -> None:
    t.frameRateNum = 60


def change_mode(t: Any) -> None:
    t.rateControlMode, t.maxBitRate = nvc.NV_ENC_PARAMS_RC_MODE.VBR, 8 << 20


@pytest.mark.parametrize(("change", "ratio"), [(halve, 0.5), (double_frame_rate, 0.5), (change_mode, 1.0)])
def test_c66_c67_c69_reconfigure_changes_the_running_stream_without_a_key_frame(
    change: Callable[[Any], None], ratio: float, tmp_path: Path
) -> None:
    frames = bitstreams.moving(WIDTH, HEIGHT, 120, noise=20)
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, preset="P1", bitrate=2_000_000, vbvbufsize=400_000, bf=1)
    sizes = []
    data = bytearray()

    for number, frame in enumerate(frames):
        if number == 60:
            t = encoder.GetEncodeReconfigureParams()
            change(t)
            assert encoder.Reconfigure(t)
            now = encoder.GetEncodeReconfigureParams()
            assert (now.averageBitrate, now.frameRateNum, now.maxBitRate) == (
                t.averageBitrate, t.frameRateNum, t.maxBitRate,
            )  # fmt: skip
        packets = encoder.Encode(frame.reshape(-1))
        sizes += [len(packet["data"]) for packet in packets]
        data += packets
    data += encoder.EndEncode()

    (tmp_path / "a.h264").write_bytes(data)
    assert bitstreams.keys(tmp_path / "a.h264") == [0]
    assert bitstreams.decoded(tmp_path / "a.h264", "nv12").size == frames.size
    assert sum(sizes[75:115]) / sum(sizes[15:55]) == pytest.approx(ratio, rel=0.25)


@pytest.mark.parametrize("tuning", ["high_quality", "low_latency", "ultra_low_latency"])
def test_c72_presets_and_tunings_work_together(tuning: str, tmp_path: Path) -> None:
    frames = bitstreams.moving(WIDTH, HEIGHT, 4)

    path = encode(frames, tmp_path, preset="P1".lower(), tuning_info=tuning)

    assert bitstreams.psnr(bitstreams.decoded(path, "nv12").reshape(frames.shape), frames) > 40
