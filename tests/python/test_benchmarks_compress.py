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

import compress  # noqa: E402
import compress_goals  # noqa: E402
import compress_gpu  # noqa: E402
import compress_library  # noqa: E402
import compress_peers  # noqa: E402
import environment  # noqa: E402


def row(contender: str, speed: float, ratio: float, **ours: float) -> dict[str, Any]:
    """Of `contender`, and how many times as fast tricodec was beside it, by the clock and in CPU time."""
    found = {"data": "text", "chunk_bytes": 65536, "family": "LZ4", "contender": contender, "ratio": ratio}
    for way in ("compress", "decompress"):
        found[f"{way}_gbps"] = speed
        for clock in ("wall", "cpu"):
            middle = ours.get(clock, 1.0)
            found[f"{way}_{clock}_pairs"] = {"median": middle, "quartiles": [middle - 0.1, middle + 0.1]}
    return found


class Clocked:
    """A contender that takes as long as it is told, on a clock that it moves on itself."""

    def __init__(self, name: str, seconds: list[float], clock: list[float]) -> None:
        self.name = name
        self._seconds = iter(seconds)
        self._clock = clock

    def compress(self) -> None:
        self._clock[0] += next(self._seconds)

    decompress = compress

    def check(self) -> float:
        return 2.0


def test_goals_compare_with_the_library_times_cores_and_with_the_best_peer_of_equal_ratio() -> None:
    rows = [
        row(compress_peers.OURS, 1.9, 2.0),
        row(compress_peers.OURS_ALONE, 1.0, 2.0, wall=1.9),
        row(compress_peers.LIBRARY, 1.0, 2.0, wall=1.9, cpu=0.96),
        row(compress_peers.LIBRARY_ALL, 2.0, 2.0, wall=0.94, cpu=0.98),
        row("cramjam", 1.6, 1.99, wall=1.2),
        row("python-lz4", 2.5, 1.99, wall=1.1),
        row("blosc2", 5.0, 1.5, wall=0.4),
    ]

    goals = compress_goals.compared(rows, cores=2)

    assert [goal["way"] for goal in goals] == ["compress", "decompress"]
    for goal in goals:
        assert goal["of_library"] == pytest.approx(0.95)
        assert goal["of_library_quartiles"] == pytest.approx([0.9, 1.0])
        assert goal["library_scaling"] == pytest.approx(0.95 / 0.94, abs=1e-3)
        assert goal["of_library_all_cores"] == pytest.approx(0.94)
        assert goal["of_library_cpu"] == pytest.approx(0.96)
        assert goal["of_library_all_cores_cpu"] == pytest.approx(0.98)
        assert goal["own_scaling"] == pytest.approx(0.95)
        assert goal["best_peer"] == "python-lz4"
        assert goal["of_best_peer"] == pytest.approx(1.1)
        assert goal["library_goal"]
        assert not goal["library_all_cores_goal"]
        assert goal["peer_goal"]


def test_a_missed_goal_is_told() -> None:
    rows = [row(compress_peers.OURS, 1.8, 2.0), row(compress_peers.OURS_ALONE, 1.0, 2.0),
            row(compress_peers.LIBRARY, 1.0, 2.0, wall=1.8), row("python-lz4", 2.0, 2.0, wall=0.9)]  # fmt: skip

    goals = compress_goals.compared(rows, cores=2)

    assert not any(goal["library_goal"] or goal["peer_goal"] for goal in goals)
    assert "0 of 2 met" in compress_goals.told(goals)
    assert "python-lz4" in compress_goals.told(goals)


def test_ratios_are_of_neighboring_runs_whatever_the_speed_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(compress.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(compress.time, "process_time", lambda: clock[0] / 2)
    # The machine is half as fast in every other round; a round runs each way with one run of ours.
    speeds = [state for number in range(6) for state in 2 * [1.0 + number % 2]]
    members = [
        Clocked(compress_peers.OURS, speeds, clock),
        Clocked(compress_peers.LIBRARY, [2.0 * state for state in speeds], clock),
        Clocked(compress_peers.LIBRARY_ALL, [0.9 * state for state in speeds], clock),
    ]
    group = compress.Group("text", 65536, compress_peers.FAMILIES[0], 1 << 20, members)
    group.ratios = dict.fromkeys((member.name for member in members), 2.0)

    for number in range(6):
        group.round(number)

    ours, library, everywhere = group.rows()
    assert ours["rounds"] == 6
    assert "compress_wall_pairs" not in ours
    for way in ("compress", "decompress"):
        for units in ("wall", "cpu"):
            assert library[f"{way}_{units}_pairs"] == {"median": 2.0, "quartiles": [2.0, 2.0], "known_to": 0.0}
            assert everywhere[f"{way}_{units}_pairs"]["median"] == pytest.approx(0.9)
    assert group.is_decided(cores=2)  # 1.0 of two threads, and 0.9 of the library: neither is 0.95


@pytest.mark.parametrize(
    ("library", "decided"),
    [([2.0] * 6, True), ([1.9] * 6, False), ([1.5, 2.5] * 3, False)],
    ids=["known, off the target", "on the target", "spread"],
)
def test_a_group_is_decided_once_its_ratios_are_known(library: list[float], decided: bool) -> None:
    name = compress_peers.LIBRARY
    group = compress.Group("text", 65536, compress_peers.FAMILIES[0], 1 << 20, [])
    group.times[name, "compress"] = compress.Times(pairs={"wall": library, "cpu": library})

    assert group.is_decided(cores=2) is decided


def test_goals_of_a_gpu_depend_on_the_batch() -> None:
    rows = [
        {"data": "text", "batch": batch, "family": "LZ4", "contender": name,
         "compress_gbps": speed, "decompress_gbps": speed,
         "compress_pairs": [1.1, 1.2, 1.3], "decompress_pairs": [1.1, 1.2, 1.3]}
        for batch in ("one", "1000x64KiB")
        for name, speed in (("tricodec", 1.2), ("nvcomp", 1.0))
    ]  # fmt: skip

    goals = compress_gpu.goals_of(rows)

    assert [(goal["batch"], goal["met"]) for goal in goals] == [
        ("one", True), ("one", True), ("1000x64KiB", False), ("1000x64KiB", False),
    ]  # fmt: skip
    assert all((goal["of_official"], goal["of_official_quartiles"]) == (1.2, [1.1, 1.3]) for goal in goals)
    assert "1000x64KiB" in compress_goals.told(goals)


def test_runs_on_a_gpu_are_paired_and_go_on_where_their_ratio_varies(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(compress_gpu.time, "perf_counter", lambda: clock[0])
    ours = {way: Clocked("tricodec", [1.0] * 99, clock).compress for way in ("compress", "decompress")}
    steady = Clocked("nvcomp", [1.5] * 99, clock).compress
    restless = Clocked("nvcomp", [1.2, 1.8] * 50, clock).compress

    times = compress_gpu._measure({"tricodec": ours, "nvcomp": {"compress": steady, "decompress": restless}}, 5)

    assert times["nvcomp"]["compress"].pairs == pytest.approx([1.5] * 5)
    assert len(times["nvcomp"]["decompress"].pairs) == 15


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


def test_libraries_of_a_prefix_take_the_place_of_the_systems(tmp_path: Path) -> None:
    library = tmp_path / "lib"
    library.mkdir()
    for archive in compress_library._SONAMES:
        name = archive.removesuffix(".a")
        (tmp_path / f"{name}.c").write_text(f"int of_{name}(void) {{ return {len(name)}; }}\n")
        subprocess.run(["gcc", "-fPIC", "-c", f"{name}.c"], cwd=tmp_path, check=True)
        subprocess.run(["ar", "rcs", f"lib/{archive}", f"{name}.o"], cwd=tmp_path, check=True)
    program = f"""
import ctypes, sys
from pathlib import Path
sys.path.insert(0, {str(BENCHMARKS)!r})
import compress_library
compress_library.use(Path({str(tmp_path)!r}))
print(ctypes.CDLL("libzstd.so.1").of_libzstd(), ctypes.CDLL("libdeflate.so.0").of_libdeflate())
"""

    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert said.stdout.split() == ["7", "10"]


def test_a_prefix_without_libraries_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"liblz4\.a of .* is not to be had \(tools/build_libraries\.py\)"):
        compress_library.use(tmp_path)


def test_the_environment_names_the_versions_of_nvcomp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nvidia_libnvcomp_cu99", "nvidia_nvcomp_cu99"):
        info = tmp_path / f"{name}-5.3.0.16.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 5.3.0.16\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    libraries = environment.environment(1)["libraries"]

    assert libraries["nvidia-libnvcomp-cu99"] == libraries["nvidia-nvcomp-cu99"] == "5.3.0.16"
