# SPDX-License-Identifier: Apache-2.0
"""How tests run code: in a process of its own, in threads, under other limits. And what memory it takes."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import tricodec


def run_python(code: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs code, indented or not, in a fresh interpreter, with more variables in its environment."""
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=300, env={**os.environ, **environment},
    )  # fmt: skip


def printed_by(code: str, *arguments: object, **environment: str) -> str:
    """What such code prints. It may neither fail nor warn."""
    result = run_python(code, *arguments, PYTHONWARNINGS="error", **environment)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


CTRL_C = """
import os, signal, sys, threading, time
import numpy as np
import tricodec
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background ignores it
began = None
def interrupt():
    global began
    time.sleep(0.5)
    began = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
def interrupt_soon():
    threading.Thread(target=interrupt, daemon=True).start()
"""
"""What programs begin with that press Ctrl-C themselves; `began` is when."""


def run_threads(works: Iterable[Callable[[], Any]]) -> None:
    """Runs each in a thread of its own and waits for all of them."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def resident_bytes() -> int:
    """Memory of this process that is in RAM."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def limits(**fields: int) -> Iterator[None]:
    """Other limits of the process for a while."""
    before = tricodec.get_limits()
    tricodec.set_limits(**fields)
    try:
        yield
    finally:
        tricodec.set_limits(**dataclasses.asdict(before))
