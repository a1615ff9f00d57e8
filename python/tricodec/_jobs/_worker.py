# SPDX-License-Identifier: Apache-2.0
"""The program of a worker process: tasks come as lines of JSON, and answers leave as lines of JSON."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import sys
import time
from typing import TextIO

from tricodec._jobs._task import Task, perform
from tricodec._output_files import permissions_of

_REPORT_SECONDS = 0.5


def main() -> None:
    """Works until its input ends. SIGTERM ends it as Ctrl-C does: what is half-written is removed."""
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):  # the parent has ended this process, or itself
        signal.signal(signal.SIGTERM, _interrupt)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes; the parent decides
        _work(os.fdopen(os.dup(1), "w", encoding="utf-8"))
    atexit._run_exitfuncs()  # as children of multiprocessing end
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    os._exit(0)  # nothing takes the interpreter apart, and nothing waits for an encoder that was left


def _work(answers: TextIO) -> None:
    os.dup2(2, 1)  # what a library prints is no answer
    for line in sys.stdin:
        reported = time.monotonic()

        def report(frames: int) -> None:
            nonlocal reported
            if time.monotonic() - reported >= _REPORT_SECONDS:
                reported = time.monotonic()
                print(json.dumps({"frames": frames}), file=answers, flush=True)

        task = Task(**json.loads(line))
        with permissions_of(task.place):
            row = perform(task, report)
        print(json.dumps({"row": row}), file=answers, flush=True)


def _interrupt(_number: int, _frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a further one would interrupt the removal
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
