# SPDX-License-Identifier: Apache-2.0
"""Runs programs in processes that have heavy packages imported: each is a fork of one that has done nothing else."""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

_SECONDS = 300

# Reads a line of JSON for each program: its path and arguments, its folder, its environment, and the files of
# what it prints and of its errors. Writes its exit status.
_LOOP = """
import importlib, json, os, runpy, signal, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
for line in sys.stdin:
    words, folder, variables, output, errors = json.loads(line)
    pid = os.fork()
    if pid == 0:
        signal.alarm(SECONDS)  # one that hangs ends
        for number, path in ((1, output), (2, errors)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(variables)
        sys.argv = words
        sys.path[0] = os.path.dirname(words[0])
        kept = runpy.run_path(words[0], run_name="__main__")
        break
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Preloaded:
    """A process that imports modules once; each program runs in a fork of it, as `python SCRIPT` would run it.

    Thread safety: one thread at a time.
    """

    def __init__(
        self, modules: Sequence[str], environment: Mapping[str, str] | None = None, options: Sequence[str] = ()
    ) -> None:
        """Starts the process.

        Args:
            modules: which it imports. They must not start threads.
            environment: of the programs; None is this process's when each starts.
            options: of Python, such as ("-W", "error").
        """
        self._environment = environment
        self._process = subprocess.Popen(
            [sys.executable, *options, "-c", _LOOP.replace("SECONDS", str(_SECONDS)), *modules],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    def run(self, script: Path, *arguments: object, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs a program in a folder, with more variables in its environment: the modules have not seen them."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        words = [str(script), *map(str, arguments)]
        environment = {**(os.environ if self._environment is None else self._environment), **variables}
        with tempfile.TemporaryDirectory() as folder:
            output, errors = Path(folder) / "output", Path(folder) / "errors"
            self._process.stdin.write(json.dumps([words, str(cwd), environment, str(output), str(errors)]) + "\n")
            self._process.stdin.flush()
            status = int(self._process.stdout.readline())
            return subprocess.CompletedProcess(words, status, output.read_text(), errors.read_text())

    def run_code(self, code: str, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs code, indented or not, in a folder of its own."""
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "program.py"
            script.write_text(textwrap.dedent(code))
            return self.run(script, *arguments, cwd=Path(folder), **variables)

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


@functools.cache
def with_modules(*modules: str) -> Preloaded:
    """Where programs run that import these modules, which takes longer than many of them. It ends with this process."""
    started = Preloaded(modules)
    atexit.register(started.close)
    return started


def with_tricodec() -> Preloaded:
    """The same with numpy and tricodec."""
    return with_modules("numpy", "tricodec", "tricodec.io")
