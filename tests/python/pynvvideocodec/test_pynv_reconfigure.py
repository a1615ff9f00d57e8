# SPDX-License-Identifier: Apache-2.0
"""Reconfigure where an engine must begin a new session for it: the stream continues as if it had not."""

from __future__ import annotations

import itertools
import logging
from pathlib import Path
from typing import Any

import av
import bitstreams
import numpy as np
import PyNvVideoCodec as nvc
import pytest
from pynv_helpers import HEIGHT, SUFFIX, WIDTH

COUNT, AT = 24, 11

#: What only a new session can change, by codec: the encoder's parameters, and the fields that Reconfigure is given.
NEW_SESSIONS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "h264_to_constqp": ("h264", {"bf": 3}, {"rateControlMode": nvc.NV_ENC_PARAMS_RC_MODE.CONSTQP}),
    "h264_multipass": ("h264", {"bf": 2, "multipass": "fullres"}, {"multiPass": nvc.NV_ENC_MULTI_PASS.DISABLED}),
    "hevc_bit_rate": ("hevc", {"bf": 3}, {"averageBitrate": 2_000_000}),
    "av1_bit_rate": ("av1", {}, {"averageBitrate": 2_000_000}),
}


class Run:
    """One stream, with a change before picture AT or without."""

    def __init__(
        self, codec: str, options: dict[str, Any], change: dict[str, Any] | None, count: int = COUNT, noise: int = 0
    ) -> None:
        self.frames = bitstreams.moving(WIDTH, HEIGHT, count, noise=noise)
        self.encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec=codec, **{"preset": "P1", **options})
        self.packets: list[dict[str, Any]] = []
        self.given: list[int] = []  # packets there are after each picture
        for number, frame in enumerate(self.frames):
            if change is not None and number == AT:
                params = self.encoder.GetEncodeReconfigureParams()
                for name, value in change.items():
                    setattr(params, name, value)
                assert self.encoder.Reconfigure(params)
            self.packets += self.encoder.Encode(frame.reshape(-1))
            self.given.append(len(self.packets))
        self.packets += self.encoder.EndEncode()

    def write(self, path: Path) -> Path:
        path.write_bytes(b"".join(packet["data"] for packet in self.packets))
        return path


@pytest.mark.parametrize("case", NEW_SESSIONS.values(), ids=NEW_SESSIONS)
def test_a_new_session_goes_on_in_the_stream_at_an_idr_picture(
    case: tuple[str, dict[str, Any], dict[str, Any]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    codec, options, change = case
    plain = Run(codec, options, None)

    with caplog.at_level(logging.INFO):
        run = Run(codec, options, change)

    path = run.write(tmp_path / ("a" + SUFFIX[codec]))
    assert bitstreams.keys(path) == [0, AT]
    assert sorted(packet["timestamp"] for packet in run.packets) == list(range(COUNT))
    shown = bitstreams.decoded(path, "nv12").reshape(run.frames.shape)
    # Not of each picture: SVT-AV1 2.3 gives some almost no bits. Against its neighbor a picture is at 27 dB.
    assert bitstreams.psnr(shown[:AT], run.frames[:AT]) > 30
    assert bitstreams.psnr(shown[AT:], run.frames[AT:]) > 30
    # No picture comes later than it would have without the change. SVT-AV1's come when its threads have them: on a busy
    # machine one run may fall behind another, but not each of them.
    pairs = ((Run(codec, options, change), Run(codec, options, None)) for _ in range(9 if codec == "av1" else 0))
    assert any(
        all(ours >= theirs for ours, theirs in zip(changed.given, unchanged.given, strict=True))
        for changed, unchanged in itertools.chain([(run, plain)], pairs)
    )
    assert "a new session begins with an IDR picture" in caplog.text
    for field, value in change.items():
        assert getattr(run.encoder.GetEncodeReconfigureParams(), field) == value


@pytest.mark.parametrize("case", NEW_SESSIONS.values(), ids=NEW_SESSIONS)
def test_a_decoder_that_runs_goes_on_over_a_new_session_and_one_can_begin_there(
    case: tuple[str, dict[str, Any], dict[str, Any]],
) -> None:
    codec, options, change = case
    run = Run(codec, {**options, "use_ivf_container": 0}, change)
    first = next(number for number, packet in enumerate(run.packets) if packet["timestamp"] == AT)

    for packets, count in ((run.packets, COUNT), (run.packets[first:], COUNT - AT)):
        decoder = av.CodecContext.create("libdav1d" if codec == "av1" else codec, "r")
        shown = [frame for packet in packets for frame in decoder.decode(av.Packet(packet["data"]))]
        shown += decoder.decode(None)
        luma = np.stack([frame.to_ndarray(format="nv12") for frame in shown])
        assert len(luma) == count
        assert bitstreams.psnr(luma, run.frames[COUNT - count :]) > 30


def fullness(sizes: list[int], rate: int, buffer: int) -> list[float]:
    """Of a receiver's buffer that begins full, after each packet was taken out, as a part of it; below 0 it waits."""
    parts, bits = [], float(buffer)
    for size in sizes:
        bits -= 8 * size
        parts.append(bits / buffer)
        bits = min(bits + rate / 30, buffer)
    return parts


@pytest.mark.parametrize(
    ("codec", "noise", "options", "change"),
    [
        (
            "h264", 20, {"multipass": "fullres", "bitrate": 500_000, "vbvbufsize": 250_000, "vbvinit": 250_000},
            {"multiPass": nvc.NV_ENC_MULTI_PASS.DISABLED},
        ),
        (
            "hevc", 40, {"bitrate": 400_000, "vbvbufsize": 100_000, "vbvinit": 100_000},
            {"averageBitrate": 320_000},
        ),
    ],
)  # fmt: skip
def test_a_new_session_keeps_to_what_the_receivers_buffer_holds(
    codec: str, noise: int, options: dict[str, Any], change: dict[str, Any]
) -> None:
    buffer = options["vbvbufsize"]

    def least(change: dict[str, Any]) -> float:
        """How full the buffer is at its emptiest, as a part of it, when `change` is made."""
        run = Run(codec, {"preset": "P4", "bf": 1, **options}, change, 40, noise)
        sizes = [len(packet["data"]) for packet in run.packets]
        return min(fullness(sizes, change.get("averageBitrate", options["bitrate"]), buffer))

    kept = least(change)
    told_it_is_full = least({**change, "vbvInitialDelay": buffer - 1})

    assert kept >= 0
    assert told_it_is_full < kept - 0.05
