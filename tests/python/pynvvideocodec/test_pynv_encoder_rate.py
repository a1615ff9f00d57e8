# SPDX-License-Identifier: Apache-2.0
"""Rate control of PyNvVideoCodec's encoder: bit rates, quantizers, Reconfigure and latency, seen in the bitstreams."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bitstreams
import numpy as np
import PyNvVideoCodec as nvc
import pytest
import tricodec
from pynv_encoding import HEIGHT, WIDTH, encode
from tricodec.encode import CPU_ENCODERS, Settings, build


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_c80_constqp_is_the_quantizer_of_each_picture_type(codec: str, tmp_path: Path) -> None:
    frames = bitstreams.moving(WIDTH, HEIGHT, 6, noise=6)

    path = encode(frames, tmp_path, codec=codec, rc="constqp", constqp=[30, 34, 24], bf=2)

    if codec == "h264":
        initial = 26 + bitstreams.fields(path, "pic_init_qp_minus26")[0]
        quantizers = [initial + delta for delta in bitstreams.fields(path, "slice_qp_delta")]
    else:
        initial = 26 + bitstreams.fields(path, "init_qp_minus26")[0]
        quantizers = [initial + delta for delta in bitstreams.fields(path, "slice_qp_delta")]
    assert set(quantizers) == {24, 30, 34}
    assert quantizers[0] == 24


def test_c80_constqp_of_av1_is_the_largest_quantizer_index(tmp_path: Path) -> None:
    """Its pictures of higher layers have it; those that many refer to have less, as SVT-AV1 always does it."""
    frames = bitstreams.moving(96, 64, 8, noise=6)

    for index in (80, 160):
        path = encode(frames, tmp_path, codec="av1", rc="constqp", constqp=index)
        assert max(bitstreams.fields(path, "base_q_idx")) == index


#: A parameter, and what x264 and x265 then write of their own settings into the stream.
TOLD = [
    ({"preset": "P7"}, "subme=8", "subme=3"),
    ({"bitrate": 1_200_000}, "bitrate=1200", "bitrate=1200"),
    ({"rc": "vbr", "bitrate": 1_000_000, "maxbitrate": 3_000_000}, "vbv_maxrate=3000", "vbv-maxrate=3000"),
    ({"bitrate": 1_000_000, "maxbitrate": 3_000_000}, "vbv_maxrate=1000", "vbv-maxrate=1000"),
    ({"vbvbufsize": 500_000}, "vbv_bufsize=500", "vbv-bufsize=437"),  # an eighth is spared
    ({"bitrate": 1_000_000, "vbvbufsize": 500_000, "vbvinit": 250_000}, "vbv_bufsize=500", "vbv-init=0.4"),
    ({"lookahead": 12}, "rc_lookahead=12", "rc-lookahead=12"),
    ({"multipass": "qres"}, "rc_lookahead=10", "rc-lookahead=10"),
    ({"multipass": "fullres"}, "rc_lookahead=10", "rc-lookahead=10"),
    ({"ldkfs": 51}, "ip_ratio=1.20", "ipratio=1.20"),
    ({"aq": 4}, "aq=1:0.50", "aq-strength=0.50"),
    ({"temporalaq": 1, "lookahead": 8}, "mbtree=1", " cutree"),
    ({"gop": 60, "idrperiod": 90}, "keyint=60", " keyint=60"),
    ({"bf": 3}, "bframes=2", "bframes=2"),
    ({"max_res": [3840, 2160]}, "threads=", "input-res="),
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


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_c73_vbr_stays_below_its_maximum_over_any_second(codec: str, tmp_path: Path) -> None:
    calm, wild = bitstreams.moving(WIDTH, HEIGHT, 60), bitstreams.moving(WIDTH, HEIGHT, 90, noise=60)
    most, buffer = 1_000_000, 250_000

    path = encode(
        np.concatenate([calm, wild]), tmp_path, codec=codec, rc="vbr", bitrate=800_000, maxbitrate=most,
        vbvbufsize=buffer, vbvinit=buffer // 2,
    )  # fmt: skip

    sizes = [8 * int(packet["size"]) for packet in bitstreams.probe(path, "packet=size")["packets"]]
    seconds = [sum(sizes[first : first + 30]) for first in range(len(sizes) - 29)]
    assert max(seconds) <= 1.05 * (most + buffer)
    assert max(seconds) > 0.6 * most


@pytest.mark.sweep(2)
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


def test_c66_c67_c69_the_documents_reconfigure_example_halves_the_rate_without_a_key_frame(tmp_path: Path) -> None:
    frames = bitstreams.moving(WIDTH, HEIGHT, 120, noise=20)
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, preset="P1", bitrate=2_000_000, vbvbufsize=400_000, bf=1)
    sizes = []
    data = bytearray()

    for number, frame in enumerate(frames):
        if number == 60:
            t = encoder.GetEncodeReconfigureParams()
            t.averageBitrate = int(t.averageBitrate / 2)
            t.vbvBufferSize = int(t.averageBitrate * t.frameRateDen / t.frameRateNum) * 4
            t.vbvInitialDelay = t.vbvBufferSize
            assert encoder.Reconfigure(t)
        packets = encoder.Encode(frame.reshape(-1))
        sizes += [len(packet["data"]) for packet in packets]
        data += packets
    data += encoder.EndEncode()

    (tmp_path / "a.h264").write_bytes(data)
    assert bitstreams.keys(tmp_path / "a.h264") == [0]
    assert encoder.GetEncodeReconfigureParams().averageBitrate == 1_000_000
    assert sum(sizes[75:115]) / sum(sizes[15:55]) == pytest.approx(0.5, abs=0.12)


@pytest.mark.parametrize(
    ("change", "ratio"),
    [
        ({"frameRateNum": 60}, 0.5),
        ({"frameRateNum": 15}, 2.0),
        ({"rateControlMode": "VBR", "maxBitRate": 8 << 20}, 1.0),
    ],
    ids=["frame_rate_doubled", "frame_rate_halved", "vbr"],
)
def test_c69_frame_rate_and_mode_change_in_the_running_stream(
    change: dict[str, Any], ratio: float, tmp_path: Path
) -> None:
    frames = bitstreams.moving(WIDTH, HEIGHT, 120, noise=20)
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, preset="P1", bitrate=1_000_000, vbvbufsize=200_000)
    data = bytearray()
    sizes = []

    for number, frame in enumerate(frames):
        if number == 60:
            t = encoder.GetEncodeReconfigureParams()
            for name, value in change.items():
                setattr(t, name, getattr(nvc.NV_ENC_PARAMS_RC_MODE, value) if isinstance(value, str) else value)
            assert encoder.Reconfigure(t)
            now = encoder.GetEncodeReconfigureParams()
            assert (now.frameRateNum, now.maxBitRate) == (t.frameRateNum, t.maxBitRate)
        packets = encoder.Encode(frame.reshape(-1))
        sizes += [len(packet["data"]) for packet in packets]
        data += packets
    data += encoder.EndEncode()

    (tmp_path / "a.h264").write_bytes(data)
    assert bitstreams.keys(tmp_path / "a.h264") == [0]
    assert bitstreams.decoded(tmp_path / "a.h264", "nv12").size == frames.size
    assert sum(sizes[75:115]) / sum(sizes[15:55]) == pytest.approx(ratio, rel=0.25)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("tuning", ["high_quality", "low_latency", "ultra_low_latency"])
@pytest.mark.parametrize("preset", ["P1", "P4", "P7"])
def test_c72_presets_and_tunings_work_together(preset: str, tuning: str, tmp_path: Path) -> None:
    frames = bitstreams.moving(WIDTH, HEIGHT, 4)

    path = encode(frames, tmp_path, preset=preset.lower(), tuning_info=tuning)

    assert bitstreams.psnr(bitstreams.decoded(path, "nv12").reshape(frames.shape), frames) > 40


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_c72_ultra_low_latency_holds_no_picture_back(codec: str) -> None:
    encoder = nvc.CreateEncoder(64, 64, "NV12", True, codec=codec, tuning_info="ultra_low_latency")

    counts = [len(encoder.Encode(np.full(64 * 96, number, np.uint8))) for number in range(6)]

    assert counts == [1] * 6


def test_c85_lookahead_delays_by_as_many_frames() -> None:
    def first_packet(lookahead: int) -> int:
        encoder = nvc.CreateEncoder(64, 48, "NV12", True, preset="P1", lookahead=lookahead, bf=1)
        for number in range(60):
            if encoder.Encode(np.full(64 * 72, number, np.uint8)):
                return number
        return 60

    assert first_packet(20) - first_packet(4) == 16


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """x264 takes one thread then: with more, its rate control looks at how far the others are, and runs differ."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


@pytest.mark.parametrize(("key", "on"), [("aq", 1), ("temporalaq", 1)])
def test_c86_aq_changes_the_stream_and_zero_means_off(key: str, on: int, tmp_path: Path) -> None:
    frames = bitstreams.moving(WIDTH, HEIGHT, 6, noise=10)
    common: dict[str, Any] = {"rc": "vbr", "bitrate": 400_000, "lookahead": 4}

    with one_core():
        plain = encode(frames, tmp_path, **common).read_bytes()
        off = encode(frames, tmp_path, **common, **{key: 0}).read_bytes()
        other = encode(frames, tmp_path, **common, **{key: on}).read_bytes()

    assert off == plain
    assert other != plain


def test_initqp_is_the_first_pictures_quantizer(tmp_path: Path) -> None:
    path = encode(bitstreams.moving(WIDTH, HEIGHT, 4, noise=10), tmp_path, initqp=40, bf=1)

    assert 26 + bitstreams.fields(path, "pic_init_qp_minus26")[0] + bitstreams.fields(path, "slice_qp_delta")[0] == 40


@pytest.mark.parametrize(("least", "most"), [(33, 35), ([30, 33, 31], [35, 51, 40])], ids=["of all", "of P, B and I"])
def test_qmin_and_qmax_bound_the_quantizers(least: object, most: object, tmp_path: Path) -> None:
    """What lies in 33 to 35 keeps all three limits of the lists."""
    path = encode(bitstreams.moving(WIDTH, HEIGHT, 8, noise=10), tmp_path, qmin=least, qmax=most, bf=1)

    initial = 26 + bitstreams.fields(path, "pic_init_qp_minus26")[0]
    assert {initial + delta for delta in bitstreams.fields(path, "slice_qp_delta")} <= {33, 34, 35}


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
def test_limits_that_no_quantizer_keeps_are_refused_with_the_reason(codec: str) -> None:
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match=r"no quantizer is 30 or more and 28 or less"):
        nvc.CreateEncoder(192, 128, "NV12", True, codec=codec, qmin=[20, 25, 30], qmax=[28, 40, 45])
