# SPDX-License-Identifier: Apache-2.0
"""The benchmark of compression starts, checks what comes back, and judges its figures as it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import media
import pytest

BENCHMARKS = media.REPOSITORY / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import compress_goals  # noqa: E402
import compress_gpu  # noqa: E402
import compress_peers  # noqa: E402


def row(contender: str, speed: float, ratio: float, work: float = 1.0) -> dict[str, Any]:
    speeds = {f"{way}_gbps": speed for way in ("compress", "decompress")}
    works = {f"{way}_gb_per_cpu_second": work for way in ("compress", "decompress")}
    return {"data": "text", "chunk_bytes": 65536, "family": "LZ4", "contender": contender, "ratio": ratio, **speeds, **works}  # fmt: skip  # noqa: E501


def test_goals_compare_with_the_library_times_cores_and_with_the_best_peer_of_equal_ratio() -> None:
    rows = [
        row(compress_peers.OURS, 1.9, 2.0, work=0.96),
        row(compress_peers.OURS_ALONE, 1.0, 2.0),
        row(compress_peers.LIBRARY, 1.0, 2.0, work=1.0),
        row(compress_peers.LIBRARY_ALL, 1.8, 2.0),
        row("cramjam", 1.6, 1.99),
        row("blosc2", 5.0, 1.5),
    ]

    goals = compress_goals.compared(rows, cores=2)

    assert [goal["way"] for goal in goals] == ["compress", "decompress"]
    for goal in goals:
        assert goal["of_library"] == pytest.approx(0.95)
        assert goal["library_scaling"] == pytest.approx(0.9)
        assert goal["of_library_cpu"] == pytest.approx(0.96)
        assert goal["own_scaling"] == pytest.approx(0.95)
        assert goal["best_peer"] == "cramjam"
        assert goal["of_best_peer"] == pytest.approx(1.9 / 1.6, abs=1e-3)
        assert goal["library_goal"]
        assert goal["peer_goal"]


def test_a_missed_goal_is_told() -> None:
    rows = [row(compress_peers.OURS, 1.8, 2.0), row(compress_peers.OURS_ALONE, 1.0, 2.0),
            row(compress_peers.LIBRARY, 1.0, 2.0), row("python-lz4", 2.0, 2.0)]  # fmt: skip

    goals = compress_goals.compared(rows, cores=2)

    assert not any(goal["library_goal"] or goal["peer_goal"] for goal in goals)
    assert "0 of 2 met" in compress_goals.told(goals)
    assert "python-lz4" in compress_goals.told(goals)


def test_goals_of_a_gpu_depend_on_the_batch() -> None:
    rows = [
        {"data": "text", "batch": batch, "family": "LZ4", "contender": name,
         "compress_gbps": speed, "decompress_gbps": speed}
        for batch in ("one", "1000x64KiB")
        for name, speed in (("tricodec", 1.2), ("nvcomp", 1.0))
    ]  # fmt: skip

    goals = compress_gpu.goals_of(rows)

    assert [(goal["batch"], goal["met"]) for goal in goals] == [
        ("one", True), ("one", True), ("1000x64KiB", False), ("1000x64KiB", False),
    ]  # fmt: skip
    assert "1000x64KiB" in compress_goals.told(goals)


def test_it_starts_and_draws(tmp_path: Path) -> None:
    output = tmp_path / "compress.json"
    small = ["--quick", "--size", "200000", "--rounds", "1", "--chunk-sizes", "65536", "--family", "LZ4", "Cascaded"]
    made = ["--data", "text", "--shared", str(tmp_path / "nothing")]

    subprocess.run(
        [sys.executable, BENCHMARKS / "compress.py", *small, *made, "--output", output], check=True, timeout=120
    )

    report = json.loads(output.read_text())
    contenders = {(entry["family"], entry["contender"]) for entry in report["rows"]}
    ours = {
        (family, name) for family in ("LZ4", "Cascaded") for name in (compress_peers.OURS, compress_peers.OURS_ALONE)
    }
    assert contenders >= ours | {("LZ4", compress_peers.LIBRARY), ("LZ4", compress_peers.LIBRARY_ALL)}
    assert output.with_suffix(".svg").read_text().startswith("<?xml")
