# SPDX-License-Identifier: Apache-2.0
"""`tricodec bench` on a GPU: transfers are named parts of a query, and kernels are timed by CUDA events."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import pytest
from media import generated
from tricodec.cli import main

pytestmark = pytest.mark.needs_gpu

QUICK = ["--duration", "0.1", "--iterations", "3", "--max-trials", "3", "--stability-percentage", "1e9"]


def measured(*arguments: str) -> dict[str, Any]:
    command = ["bench", *arguments, "--device", "cuda", *QUICK, "--json"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main(command) == 0
    result: dict[str, Any] = json.loads(printed.getvalue())
    return result


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("decode", {"decode", "download"}),
        ("transform", {"transform", "download"}),
        ("pipeline", {"decode and transform", "download"}),
        ("compress", {"upload", "compress", "download"}),
    ],
)
def test_transfers_are_named_and_inside_the_latency(command: str, parts: set[str]) -> None:
    clip = str(generated("h264_bframes.mp4"))
    (with_transfers,) = measured(command, clip)["results"]

    assert set(with_transfers["parts_ms"]) == parts
    means = [part["mean"] for part in with_transfers["parts_ms"].values()]
    assert all(mean > 0 for mean in means)
    assert sum(means) <= with_transfers["latency_mean_ms"]

    (without,) = measured(command, clip, "--no-data-transfers")["results"]

    assert set(without["parts_ms"]) == parts - {"upload", "download"}


@pytest.mark.needs_kernels
def test_kernels_are_timed_by_events_within_the_time_of_the_host() -> None:
    arguments = ["transform", str(generated("h264_bframes.mp4")), "--batch", "32"]

    (result,) = measured(*arguments)["results"]

    stage = result["stages_per_query"]["transform"]
    assert 0 < stage["gpu_seconds"] * 1000 < result["latency_max_ms"]
