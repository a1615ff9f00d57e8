# SPDX-License-Identifier: Apache-2.0
"""The benchmark of compression starts, checks what comes back, and judges its figures as it says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import environment, results
from benchmarks.compress import contenders, goals, gpu, library, run
from benchmarks.environment import ROOT
from benchmarks.results import Row


def rows(contender: str, speed: float, ratio: float, ours: float = 0.0) -> Iterator[Row]:
    """Of `contender`, and how many times as fast tricodec was beside it."""
    row = Row("compress LZ4", "text", contender, "64 KiB", value=speed, unit="GB/s", ratio=ratio)
    yield row
    if ours:
        yield Row(row.task, "text", goals.OURS, "64 KiB", against=contender).with_ratios([ours - 0.1, ours, ours + 0.1])


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


def test_goals_compare_with_the_library_and_with_the_best_peer_of_equal_ratio() -> None:
    found = goals.goals_of([
        *rows(goals.OURS, 1.9, 2.0),
        *rows(goals.LIBRARY, 2.0, 2.0, 0.94),
        *rows("cramjam", 1.6, 1.99, 1.2),
        *rows("python-lz4", 2.5, 1.99, 1.1),
        *rows("blosc2", 5.0, 1.5, 0.4),
    ])  # fmt: skip

    assert [(goal.against, goal.ratio, goal.passed) for goal in found] == [
        (goals.LIBRARY, pytest.approx(0.94), False),
        ("python-lz4", pytest.approx(1.1), True),
    ]


def test_the_summary_counts_reached_goals_of_each_algorithm() -> None:
    text = goals.summary([
        *rows(goals.OURS, 1.9, 2.0),
        *rows(goals.LIBRARY, 2.0, 2.0, 0.94),
        *rows("cramjam", 1.6, 1.99, 1.2),
    ])  # fmt: skip

    assert "| compress LZ4 | 0.94 (0.94 to 0.94), 0 of 1 | 1.20 (1.20 to 1.20), 1 of 1 |" in text
    assert "1 of 2 goals reached" in text


def test_ratios_are_of_neighboring_runs_whatever_the_speed_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(run.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(run.time, "process_time", lambda: clock[0] / 2)
    # The machine is half as fast in every other round; a round runs each way with one run of ours.
    speeds = [state for number in range(6) for state in 2 * [1.0 + number % 2]]
    members = [
        Clocked(goals.OURS, speeds, clock),
        Clocked(goals.LIBRARY, [2.0 * state for state in speeds], clock),
        Clocked("cramjam", [0.9 * state for state in speeds], clock),
    ]
    group = run.Group("text", 65536, contenders.FAMILIES[0], 1 << 20, members)
    group.ratios = dict.fromkeys((member.name for member in members), 2.0)

    for number in range(6):
        group.round(number)

    found = {(row.task, row.contender, row.against): row for row in group.rows()}
    for way in ("compress", "decompress"):
        assert found[f"{way} LZ4", goals.OURS, ""].runs == 6
        assert found[f"{way} LZ4", goals.OURS, goals.LIBRARY].spread.median == 2.0
        assert found[f"{way} LZ4", goals.OURS, f"{goals.LIBRARY}, CPU time"].spread.median == 2.0
        assert found[f"{way} LZ4", goals.OURS, "cramjam"].value == pytest.approx(0.9)
    assert group.is_decided()


@pytest.mark.parametrize(
    ("ratios", "decided"),
    [([2.0] * 6, True), ([0.95] * 6, False), ([0.7, 1.3] * 3, False)],
    ids=["known, off the target", "on the target", "spread"],
)
def test_a_group_is_decided_once_its_ratios_are_known(ratios: list[float], decided: bool) -> None:
    group = run.Group("text", 65536, contenders.FAMILIES[0], 1 << 20, [])
    group.times[goals.LIBRARY, "compress"] = run.Times(ratios=ratios)

    assert group.is_decided() is decided


def test_goals_of_a_gpu_depend_on_the_batch() -> None:
    measured = [
        row
        for batch in ("one array", "1000x64KiB")
        for row in (
            Row("compress LZ4", "text", "tricodec", batch, value=1.2, unit="GB/s"),
            Row("compress LZ4", "text", "nvcomp", batch, value=1.0, unit="GB/s"),
            Row("compress LZ4", "text", "tricodec", batch, against="nvcomp").with_ratios([1.1, 1.2, 1.3]),
        )
    ]

    assert [goal.passed for goal in goals.goals_of(measured)] == [True, False]
    assert "| compress LZ4 | 1.20 (1.20 to 1.20), 1 of 1 | 1.20 (1.20 to 1.20), 0 of 1 |" in goals.summary(measured)


def test_runs_on_a_gpu_are_paired_and_go_on_where_their_ratio_varies(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(gpu.time, "perf_counter", lambda: clock[0])
    ours = {way: Clocked("tricodec", [1.0] * 99, clock).compress for way in ("compress", "decompress")}
    steady = Clocked("nvcomp", [1.5] * 99, clock).compress
    restless = Clocked("nvcomp", [1.2, 1.8] * 50, clock).compress

    times = gpu._measure({"tricodec": ours, "nvcomp": {"compress": steady, "decompress": restless}}, 5)

    assert times["nvcomp"]["compress"].pairs == pytest.approx([1.5] * 5)
    assert len(times["nvcomp"]["decompress"].pairs) == 15


def test_it_starts_and_checks_what_comes_back(tmp_path: Path) -> None:
    output = tmp_path / "compress.csv"
    small = ["--quick", "--size", "200000", "--rounds", "1", "--chunk-sizes", "65536", "--family", "LZ4", "Cascaded"]
    made = ["--data", "text", "--shared", str(tmp_path / "nothing")]

    command = [sys.executable, "-m", "benchmarks.compress.run", *small, *made, "--output", output]
    subprocess.run(command, cwd=ROOT, check=True)

    _, found = results.read(output)
    measured = {(row.task, row.contender) for row in found if row.value and row.ratio}
    assert measured >= {
        ("compress LZ4", goals.OURS),
        ("decompress LZ4", goals.LIBRARY),
        ("compress Cascaded", goals.OURS),
    }
    assert any(row.against == goals.LIBRARY for row in found)


def test_libraries_of_a_prefix_take_the_place_of_the_systems(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    for archive in library._SONAMES:
        name = archive.removesuffix(".a")
        (tmp_path / f"{name}.c").write_text(f"int of_{name}(void) {{ return {len(name)}; }}\n")
        subprocess.run(["gcc", "-fPIC", "-c", f"{name}.c"], cwd=tmp_path, check=True)
        subprocess.run(["ar", "rcs", f"lib/{archive}", f"{name}.o"], cwd=tmp_path, check=True)
    program = f"""
import ctypes, sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from benchmarks.compress import library
library.use(Path({str(tmp_path)!r}))
print(ctypes.CDLL("libzstd.so.1").of_libzstd(), ctypes.CDLL("libdeflate.so.0").of_libdeflate())
"""

    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert said.stdout.split() == ["7", "10"]


def test_a_prefix_without_libraries_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"liblz4\.a of .* is not to be had \(tools/build_libraries\.py\)"):
        library.use(tmp_path)


def test_the_environment_names_the_versions_of_nvcomp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nvidia_libnvcomp_cu99", "nvidia_nvcomp_cu99"):
        info = tmp_path / f"{name}-5.3.0.16.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 5.3.0.16\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    libraries = environment.environment(1)["libraries"] or ""

    assert "nvidia-libnvcomp-cu99 5.3.0.16" in libraries
    assert "nvidia-nvcomp-cu99 5.3.0.16" in libraries
