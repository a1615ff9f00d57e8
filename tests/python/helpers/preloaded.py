# SPDX-License-Identifier: Apache-2.0
"""Runs programs in processes that have heavy packages imported: each is a fork of one that has done nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

# Reads a line of JSON for each program: its path, its folder, and the file of what it prints. Writes its exit status.
_LOOP = """
import importlib, json, os, runpy, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
for line in sys.stdin:
    script, folder, output = json.loads(line)
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.dup2(1, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(folder)
        sys.argv = [script]
        sys.path[0] = folder
        kept = runpy.run_path(script, run_name="__main__")
        break
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Preloaded:
    """A process that imports modules once; each program runs in a fork of it, as `python SCRIPT` would run it.

    Thread safety: one thread at a time.
    """

    def __init__(self, modules: Sequence[str]) -> None:
        """Starts the process.

        Args:
            modules: which it imports. They must not start threads.
        """
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LOOP, *modules], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, script: Path) -> tuple[int, str]:
        """Runs a program in its folder; gives its exit status, and what it prints, with its errors."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        output = script.with_suffix(".output")
        self._process.stdin.write(json.dumps([str(script), str(script.parent), str(output)]) + "\n")
        self._process.stdin.flush()
        status = int(self._process.stdout.readline())
        return status, output.read_text()

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()
