# SPDX-License-Identifier: Apache-2.0
"""Folders with an installed tricodec, and processes that find it there and stay for more than one run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.decode.driver import Failed, answer_of
from benchmarks.environment import ROOT

_MOST_ANSWERS = 60  # where the memory of a process lies is chance, too


def environment(site: Path) -> dict[str, str]:
    """In which a process finds the tricodec of a site."""
    return {**os.environ, "PYTHONPATH": str(site)}


def check_site(site: Path) -> str:
    """What the build of a site says of itself.

    Raises:
        Failed: if there is none.
    """
    program = (
        "import json, tricodec; print(json.dumps({'file': tricodec.__file__, 'version': tricodec.__version__, "
        "'build': ', '.join(tricodec.build_info().split(chr(10)))}))"
    )
    answer = answer_of([sys.executable, "-c", program], sorted(os.sched_getaffinity(0)), environment(site))
    if not Path(answer["file"]).resolve().is_relative_to(site.resolve()):
        message = f"{site} has no tricodec: Python finds {answer['file']}; install one (cmake --install BUILD --prefix)"
        raise Failed(message)
    return f"{answer['version']}, {answer['build']}"


class Resident:
    """A process of a build that answers one request after another (benchmarks.programs --resident)."""

    def __init__(self, site: Path) -> None:
        command = [sys.executable, "-m", "benchmarks.programs", "--resident"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True, bufsize=1, env=environment(site)
        )
        self._left = _MOST_ANSWERS

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """What it prints.

        Raises:
            Failed: if it says that it failed, or ended.
        """
        assert self._process.stdin
        assert self._process.stdout
        self._left -= 1
        self._process.stdin.write(json.dumps(request) + "\n")
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"failed": f"ended with {self._process.wait()}"}
        if "failed" in answer:
            raise Failed(answer["failed"])
        return answer

    @property
    def is_spent(self) -> bool:
        """Whether it ended, or has answered often enough."""
        return self._left <= 0 or self._process.poll() is not None

    def close(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.communicate()


class Residents:
    """One for each site, replaced when it is spent."""

    def __init__(self) -> None:
        self._open: dict[Path, Resident] = {}

    def answer(self, site: Path, request: Mapping[str, Any]) -> dict[str, Any]:
        """What the process of this site prints.

        Raises:
            Failed: if it says that it failed, or ended.
        """
        if site in self._open and self._open[site].is_spent:
            self._open.pop(site).close()
        if site not in self._open:
            self._open[site] = Resident(site)
        return self._open[site].answer(request)

    def close(self) -> None:
        """Ends them."""
        while self._open:
            self._open.popitem()[1].close()
