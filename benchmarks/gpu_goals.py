# SPDX-License-Identifier: Apache-2.0
"""What the GPU engine should reach, each sentence once, for benchmarks/gpu.py.

The limit of the engines is what the official package reaches with 21 threads, a file of 3,000 frames each, in the same
run. Beside it stands our own: the best of 7 and 14 decoders that are fed from memory, which is more.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable
from typing import Any

_LIMIT = "21_files_of_3000"
_FRAMES_FOR_MEMORY = 100_000


@dataclasses.dataclass(frozen=True)
class Goal:
    """A figure against what it should reach in the same run; without a target it is shown, and reached."""

    name: str
    goal: str
    value: float
    unit: str
    of: str
    of_value: float
    target: float | None
    at_least: bool = True
    of_limit: float | None = None  # the most that `value` can be, as a part of `of_value`, where that is less than all

    def row(self) -> dict[str, Any]:
        """As it stands in the results, with the ratio and whether it is reached."""
        ratio = self.value / self.of_value
        passed = self.target is None or (ratio >= self.target if self.at_least else ratio <= self.target)
        return {**dataclasses.asdict(self), "ratio": round(ratio, 3), "pass": passed}


class Results:
    """The cells and contests of a codec by name; what is not there is None."""

    def __init__(self, codec: str, cells: Iterable[dict[str, Any]], contests: Iterable[dict[str, Any]]) -> None:
        self.codec = codec
        self._cells = {cell["name"]: cell for cell in cells}
        self._contests = list(contests)

    def cell(self, name: str) -> dict[str, Any] | None:
        """A measurement of C++."""
        return self._cells.get(f"{self.codec}.{name}")

    def median(self, name: str) -> float | None:
        """Its frames a second."""
        cell = self.cell(name)
        return None if cell is None else float(cell["median"])

    def best(self, task: str, contender: str, key: str = "median") -> float | None:
        """The best of a contender's ways to do the task: at most `at_most`, where it did not come to an end."""
        rows = [
            row for row in self._contests if row["name"] == f"{self.codec}.{task}" and row["contender"] == contender
        ]
        values = [row[key] if key in row else row["at_most"] for row in rows if key in row or "at_most" in row]
        return max(values) if values else None

    def limit(self) -> float | None:
        """Of the engines by the official package."""
        return self.best(_LIMIT, "pynvvideocodec")

    def own_limit(self) -> float | None:
        """Of the engines by decoders of ours that have nothing to wait for."""
        known = [value for name in ("engines_7_decoders", "engines_14_decoders") if (value := self.median(name))]
        return max(known) if known else None


def _against(
    results: Results, name: str, goal: str, value: float | None, of: str, of_value: float | None, target: float | None,
    most: float | None = None,
) -> list[Goal]:  # fmt: skip
    if value is None or of_value is None:
        return []
    of_limit = None if most is None else round(most / of_value, 3)
    goal_of = Goal(f"{results.codec}.{name}", goal, value, "frames/s", f"{results.codec}.{of}", of_value, target)
    return [dataclasses.replace(goal_of, of_limit=of_limit)]


def one_file_goals(results: Results) -> list[Goal]:
    """One file on all engines."""
    goals: list[Goal] = []
    official, own = results.limit(), results.own_limit()
    for tail in ("", "_gop250"):
        for way in ("frames", "batches", "tensor"):
            name = f"one_file_{way}{tail}"
            words = "one file of 3,000 frames in device memory >= 0.9x of the engines' limit"
            value = results.median(name)
            goals += _against(results, name, words, value, f"{_LIMIT}.pynvvideocodec", official, 0.9)
            own_limit = results.median("engines_gop250") if tail else own
            # Twelve groups are fed at once from memory: more than that a file of twelve cannot reach.
            most = results.median("engines_gop250_groups") if tail else None
            goals += _against(results, name, f"{words}, by our own decoders", value, "engines", own_limit, 0.9, most)
    for way in ("frames", "batches", "tensor"):
        name = f"one_file_{way}_2160p"
        words = "one file of 2160p >= 0.9x of the engines' limit, by our own decoders"
        goals += _against(
            results, name, words, results.median(name), "engines_2160p", results.median("engines_2160p"), 0.9
        )
    words = "one file >= 6x the official one-file speed"
    tensor, theirs = results.median("one_file_tensor"), results.best("one_file", "pynvvideocodec")
    goals += _against(results, "one_file_tensor", words, tensor, "one_file.pynvvideocodec", theirs, 6.0)
    for peer, target in (("pynvvideocodec", 6.0), ("dali", None)):
        ours = results.best("one_file", "tricodec")
        said = words if target else "one file beside DALI readers.video"
        goals += _against(results, "one_file", said, ours, f"one_file.{peer}", results.best("one_file", peer), target)
    words = "the chain decode -> 224x224 float16 NCHW is not slower than decode alone; 1 % is what rounds differ by"
    for tail in ("", "_gop250", "_2160p"):
        chain, alone = results.cell(f"one_file_batches{tail}"), results.cell(f"one_file_frames{tail}")
        if chain and alone:
            pairs = [ours / theirs for ours, theirs in zip(chain["rounds"], alone["rounds"], strict=False)]
            name = f"{results.codec}.chain{tail}"
            goals.append(Goal(name, words, statistics.median(pairs), "of rounds in turn", "decode alone", 1.0, 0.99))
    return goals


def many_files_goals(results: Results) -> list[Goal]:
    """Many files at once, and short ones."""
    goals: list[Goal] = []
    official, own = results.limit(), results.own_limit()
    for name, frames in (
        ("8_files", "3,000"),
        ("16_files", "3,000"),
        ("64_files", "3,000"),
        ("64_files_of_300", "300"),
    ):
        words = f"{name.split('_')[0]} files of {frames} frames >= 0.97x of the engines' limit"
        value = results.median(name)
        goals += _against(results, name, words, value, f"{_LIMIT}.pynvvideocodec", official, 0.97)
        goals += _against(results, name, f"{words}, by our own decoders", value, "engines", own, 0.97)
    words = "21 files of 3,000 frames, Python both >= 0.97x of the engines' limit"
    goals += _against(
        results, _LIMIT, words, results.best(_LIMIT, "tricodec"), f"{_LIMIT}.pynvvideocodec", official, 0.97
    )
    for task, words, target, peers in (
        (
            "28_files_of_300",
            "files of 300 frames >= 1.7x PyNvVideoCodec's and DALI's best",
            1.7,
            ("pynvvideocodec", "dali"),
        ),
        ("1000_files_of_10", "1,000 clips of 10 frames >= 4x", 4.0, ("pynvvideocodec", "dali")),
        ("first_frame", "first frame of a short clip in <= 0.5x the time", 2.0, ("pynvvideocodec",)),
    ):
        ours = [value for who in ("tricodec", "tricodec-dali") if (value := results.best(task, who))]
        for peer in peers:
            theirs = results.best(task, peer)
            goals += _against(results, task, words, max(ours, default=None), f"{task}.{peer}", theirs, target)
    return goals


def host_goals(results: Results) -> list[Goal]:
    """The host's time, and memory that stays."""
    goals = []
    ours, theirs = (results.best(_LIMIT, who, "cpu_us_per_frame") for who in ("tricodec", "pynvvideocodec"))
    if ours and theirs:
        words = "host: CPU time per decoded frame"
        goals.append(Goal(f"{results.codec}.cpu", words, ours, "us", f"{_LIMIT}.pynvvideocodec", theirs, None, False))
    clips, files = results.cell("short_clips"), results.cell("64_files")
    if clips and clips["device_memory_mib"][0] > 0:
        used = clips["device_memory_mib"]
        words = f"device memory constant over 1,000 opened files: {len(used) * clips['threads']} of 10 frames"
        goals.append(
            Goal(f"{results.codec}.memory.files", words, used[-1], "MiB", "after round 2", used[1], 1.02, False)
        )
    if files and files["device_memory_mib"][0] > 0:
        samples = [sample for sample in files["memory_by_frames"] if sample[0] > 0]
        begun = samples[0][0]
        early = [mib for frames, mib in samples if frames <= begun + 10_000]
        late = [mib for frames, mib in samples if frames > begun + 10_000]
        if late and samples[-1][0] - begun >= _FRAMES_FOR_MEMORY - 10_000:
            words = f"device memory constant over 100,000 frames: {samples[-1][0]} of 64 files"
            name = f"{results.codec}.memory.frames"
            goals.append(Goal(name, words, max(late), "MiB", "the first 10,000", max(early), 1.02, False))
    return goals


def transform_goals(measured: dict[str, Any]) -> list[Goal]:
    """Every case against a copy of as many bytes."""
    goals = []
    words = "kernels of the Transform >= 0.85x of the copy bandwidth of their bytes, batches of 32"
    for case in measured.get("cases", []):
        ours, copy = (statistics.median(case[key]) for key in ("ms", "copy_ms"))
        goals.append(Goal(f"transform.{case['name']}", words, 1 / ours, "batches/ms", "a copy", 1 / copy, 0.85))
    return goals


def check_goals(checks: dict[str, bool]) -> list[Goal]:
    """What the tests show: frames and batches equal the CPU's bit for bit."""
    names = [name for name in ("cpp0", "cpp1", "python", "triton", "alone") if name in checks]
    if not names:
        return []
    words = "bit-exact against the CPU engine: every frame of every clip, raw and through Transform"
    passed = sum(checks[name] for name in names)
    return [Goal("bit_exact", words, passed, "parts of the tests that passed", "all", len(names), 1.0)]


def goals_of(codec: str, cells: list[dict[str, Any]], contests: list[dict[str, Any]]) -> list[Goal]:
    """The issue's goals for one codec."""
    results = Results(codec, cells, contests)
    return one_file_goals(results) + many_files_goals(results) + host_goals(results)
