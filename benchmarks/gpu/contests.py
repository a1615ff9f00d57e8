# SPDX-License-Identifier: Apache-2.0
"""Packages against one another at the same task on the same clips, for run.py."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from benchmarks.environment import ROOT
from benchmarks.results import Row

ALL = ("tricodec", "tricodec-dali", "pynvvideocodec", "dali")
BOTH = ("tricodec", "pynvvideocodec")
_START_S = 60.0  # for imports, the driver and the first decoders


@dataclasses.dataclass(frozen=True)
class Contest:
    """A task of worker.py on some files, in rounds that the contenders run in turn.

    `warm` is read first, as often as there are files, and not counted. `more` are other ways of the official package
    to the same end. A round that is not over after `limit_s` seconds is given up: how much it decoded is not known,
    and only `high`, the most that its speed can be, is in its row.
    """

    codec: str
    name: str
    task: str
    files: list[Path]
    num_frames: int
    warm: Path
    rounds: int
    contenders: tuple[str, ...] = ALL
    more: tuple[str, ...] = ()
    limit_s: float = 60.0


class Contender:
    """A process that runs rounds of a task; `problem` is why there is none."""

    def __init__(self, name: str, task: str, contest: Contest, official: Path | None) -> None:
        environment = dict(os.environ)
        if name == "pynvvideocodec" and official is not None:
            environment["PYTHONPATH"] = str(official)  # the official package has the name of our module
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.gpu.worker", name, task, str(contest.warm), *map(str, contest.files)],
            cwd=ROOT,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        self.name = name
        self.task = task
        self._limit_s = max(contest.limit_s, _START_S)
        self.gave_up = False
        self.problem = ""
        if self._answer() is None:
            self.problem = f"at the start: {self._last_words()}"
            self.gave_up = False  # nothing is known of its speed
        self._limit_s = contest.limit_s

    def _answer(self) -> dict[str, Any] | None:
        assert self._process.stdout is not None
        timer = threading.Timer(self._limit_s, self._give_up)
        timer.start()
        try:
            for line in self._process.stdout:
                if line.startswith("{"):  # the packages print things of their own
                    return dict(json.loads(line))
        finally:
            timer.cancel()
        return None

    def _give_up(self) -> None:
        self.gave_up = True
        self._process.kill()

    def _last_words(self) -> str:
        assert self._process.stderr is not None
        self._process.kill()
        if self.gave_up:
            return f"not done after {self._limit_s:.0f} s"
        return (self._process.stderr.read().strip().splitlines() or ["it ended"])[-1]

    def round(self) -> dict[str, Any] | None:
        """Frames, seconds and seconds of the CPU, or None (and `problem`)."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("go\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self.problem = self._last_words()
            return None
        answer = self._answer()
        if answer is None:
            self.problem = self._last_words()
        return answer

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()


def hold(contest: Contest, official: Path | None) -> list[Row]:
    """Each contender's rounds, in turn: one row for each."""
    contenders = [Contender(name, contest.task, contest, official) for name in contest.contenders]
    contenders += [Contender("pynvvideocodec", task, contest, official) for task in contest.more]
    answers: list[list[dict[str, Any]]] = [[] for _ in contenders]
    for _ in range(contest.rounds):
        for contender, known in zip(contenders, answers, strict=True):
            answer = None if contender.problem else contender.round()
            if answer is not None:
                known.append(answer)
    rows = []
    for contender, known in zip(contenders, answers, strict=True):
        way = "" if contender.task == contest.task else contender.task
        row = Row(contest.name, contest.codec, contender.name, way, unit="frames/s", note=contender.problem)
        if known:
            frames = sum(answer["frames"] for answer in known)
            cpu_ms = sum(answer["cpu_seconds"] for answer in known) / frames * 1e3
            row = row.with_runs([answer["frames"] / answer["seconds"] for answer in known], cpu_ms=cpu_ms)
        elif contender.gave_up:
            row = dataclasses.replace(row, high=contest.num_frames / contest.limit_s)
        contender.close()
        rows.append(row)
        said = contender.problem if row.value is None else f"{row.value:.1f} {row.unit}"
        print(f"{contest.codec} {contest.name:30} {contender.name:16} {said}", flush=True)
    return rows
