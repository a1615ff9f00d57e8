# SPDX-License-Identifier: Apache-2.0
"""The table of pynvvideocodec_encoding.md, by field and engine: what Reconfigure does is what it says."""

from __future__ import annotations

import dataclasses
import logging
from fractions import Fraction
from pathlib import Path
from typing import Any

import bitstreams
import PyNvVideoCodec as nvc
import pytest
import tricodec
from media import REPOSITORY
from pynv_encoding import HEIGHT, SUFFIX, WIDTH
from PyNvVideoCodec._encoder_options import RateChange
from tricodec import encode

COUNT, AT = 20, 9
MODE, PASS = nvc.NV_ENC_PARAMS_RC_MODE, nvc.NV_ENC_MULTI_PASS
CODECS = {"h264": "libx264", "hevc": "libx265", "av1": "SVT-AV1"}
_VBR = {"rc": "vbr", "maxbitrate": 600_000}
_LIMIT = {"rateControlMode": MODE.VBR, "maxBitRate": 600_000}

#: By the row's first cell: the encoder's parameters beside a small rate, and the changes of which each does the same.
CASES: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "`averageBitrate`": ({}, [{"averageBitrate": 150_000}]),
    "`maxBitRate` under vbr": (_VBR, [{"maxBitRate": 400_000}]),
    "`maxBitRate` under cbr": ({}, [{"maxBitRate": 900_000}]),
    "`vbvBufferSize`": ({}, [{"vbvBufferSize": 40_000}]),
    "`vbvInitialDelay` alone": ({}, [{"vbvInitialDelay": 20_000}]),
    "`frameRateNum`, `frameRateDen`": ({}, [{"frameRateNum": 60}, {"frameRateDen": 2}]),
    "`rateControlMode` from cbr to vbr": ({}, [_LIMIT]),
    "`rateControlMode` from vbr to cbr": (_VBR, [{"rateControlMode": MODE.CBR}]),
    "`rateControlMode` to constqp": ({}, [{"rateControlMode": MODE.CONSTQP}]),
    "`rateControlMode` from constqp": ({"constqp": 24}, [{"rateControlMode": MODE.CBR}]),
    "`multiPass`": ({}, [{"multiPass": PASS.QUARTER_RESOLUTION}, {"multiPass": PASS.FULL_RESOLUTION}]),
    "`multiPass` beside a lookahead of 10 or more": ({"lookahead": 12}, [{"multiPass": PASS.FULL_RESOLUTION}]),
    "rates, buffer and frame rate under constqp": (
        {"constqp": 24},
        [{"averageBitrate": 150_000}, {"maxBitRate": 900_000}, {"vbvBufferSize": 40_000}, {"frameRateNum": 60}],
    ),
}
EACH = [(row, number) for row, (_, changes) in CASES.items() for number in range(len(changes))]
#: As structEncodeReconfigureParams and Settings call the same.
_FIELDS = {
    "averageBitrate": "bitrate", "maxBitRate": "maxbitrate", "vbvBufferSize": "vbvbufsize",
    "vbvInitialDelay": "vbvinit",
}  # fmt: skip


def table() -> dict[str, dict[str, str]]:
    """By the first cell, what happens on each engine."""
    text = (REPOSITORY / "docs" / "migration" / "pynvvideocodec_encoding.md").read_text()
    lines = text[text.index("| change of |") :].split("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: dict(zip(rows[0][1:], row[1:], strict=True)) for row in rows[2:]}


def options_of(row: str, codec: str) -> dict[str, Any]:
    small = {"bitrate": 300_000, "vbvbufsize": 100_000, "vbvinit": 50_000}
    return {"codec": codec, "preset": "P1", "bf": 1, **small, **CASES[row][0]}


class Run:
    """One stream, with a change before picture AT or without."""

    def __init__(self, options: dict[str, Any], change: dict[str, Any]) -> None:
        encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, **options)
        packets: list[dict[str, Any]] = []
        for number, frame in enumerate(bitstreams.moving(WIDTH, HEIGHT, COUNT, noise=20)):
            if number == AT and change:
                params = encoder.GetEncodeReconfigureParams()
                for name, value in change.items():
                    setattr(params, name, value)
                assert encoder.Reconfigure(params)
            packets += encoder.Encode(frame.reshape(-1))
        packets += encoder.EndEncode()
        self.times = sorted(packet["timestamp"] for packet in packets)
        self.data = b"".join(packet["data"] for packet in packets)


def test_the_table_has_a_row_for_each_case_and_a_word_for_each_cell() -> None:
    assert list(table()) == list(CASES)
    assert {word for row in table().values() for word in row.values()} == {"running", "session", "nothing"}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(("row", "number"), EACH, ids=[f"{row}-{number}" for row, number in EACH])
@pytest.mark.sweep(3)
def test_what_happens_on_the_cpu_is_what_the_table_says(
    row: str, number: int, codec: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = table()[row][CODECS[codec]]
    told: list[dict[str, Any]] = []
    reconfigure = tricodec.Encoder.reconfigure

    def tell(encoder: tricodec.Encoder, **rates: Any) -> None:
        reconfigure(encoder, **rates)  # raises where the engine cannot
        told.append(rates)

    monkeypatch.setattr(tricodec.Encoder, "reconfigure", tell)

    with caplog.at_level(logging.INFO):
        run = Run(options_of(row, codec), CASES[row][1][number])

    path = tmp_path / ("a" + SUFFIX[codec])
    path.write_bytes(run.data)
    assert run.times == list(range(COUNT))
    assert bitstreams.decoded(path, "nv12").size == COUNT * WIDTH * HEIGHT * 3 // 2
    assert bitstreams.keys(path) == ([0, AT] if expected == "session" else [0])
    assert ("a new session begins" in caplog.text) == (expected == "session")
    assert len(told) == (expected == "running")


@pytest.mark.parametrize(("row", "number"), EACH, ids=[f"{row}-{number}" for row, number in EACH])
def test_what_nvenc_would_be_told_is_what_the_table_says(row: str, number: int) -> None:
    old, _ = encode.Settings.of(options_of(row, "h264"), WIDTH, HEIGHT)
    changed: dict[str, Any] = {}
    for name, value in CASES[row][1][number].items():
        if name in _FIELDS:
            changed[_FIELDS[name]] = value
        elif name == "rateControlMode":
            changed["rc"] = MODE(value).name.lower()
        elif name == "multiPass":
            changed["multipass"] = {PASS.QUARTER_RESOLUTION: "qres", PASS.FULL_RESOLUTION: "fullres"}[value]
        else:
            changed["fps"] = Fraction(value, 1) if name == "frameRateNum" else Fraction(30, value)
    new = dataclasses.replace(old, **changed)

    change = RateChange.between(*(encode.build(each, "h264_nvenc") for each in (old, new)))

    found = ("running" if change.running else "session") if change.names else "nothing"
    assert found == table()[row]["NVENC"]
