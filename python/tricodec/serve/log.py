# SPDX-License-Identifier: Apache-2.0
"""The log of a tritonserver: its end without noise, the reason why models did not load, lines as they are written."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import TextIO

_READ_BYTES = 1 << 20
_TAIL_CHARACTERS = 6000
# Rows and rules of tables, and lines of level "info", which begin with I and the date.
_NOISE = re.compile(r"[|+]|I\d{4} ")
# What a server on a machine without a GPU always reports.
_NO_GPU = re.compile(
    r"CudaDriverHelper has not been|pinned_memory_manager|Failed to initialize NVML|DCGM unable to start"
)
_FAILED = re.compile(r"failed to load '([^']+)' version \d+: \w+(?: \w+)?: (.*?)\"?$", re.MULTILINE)
_MISSING_MODULE = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")
_WRONG_GPU = re.compile(r"unsupported gpu id (\d+)")
_FOLLOW_SECONDS = 0.2


def tail(path: Path) -> str:
    """The last lines of a log, without tables and notes."""
    if not path.is_file():
        return ""
    lines = _read_end(path).splitlines()
    return "\n".join(line for line in lines if line.strip() and not _NOISE.match(line))[-_TAIL_CHARACTERS:]


def last_error(path: Path) -> str:
    """The last line of a log that reports an error; empty if there is none."""
    lines = [
        line for line in tail(path).splitlines() if re.match(r"E\d{4} |error: ", line) and not _NO_GPU.search(line)
    ]
    return re.sub(r"^E\d{4} \S+ \d+ \S+ ", "", lines[-1]) if lines else ""


def reasons(path: Path) -> list[str]:
    """Why models did not load: a line for each model, with the remedy where it is known."""
    found: dict[str, str] = {}
    if path.is_file():
        for model, reason in _FAILED.findall(_read_end(path)):
            missing = _MISSING_MODULE.search(reason)
            remedy = f"; install the package that has {missing[1]} for the models" if missing else ""
            cause = _one_line(reason)
            if (gpu := _WRONG_GPU.search(reason)) is not None:
                cause = f"Triton has no GPU {gpu[1]}; name one that nvidia-smi lists, or leave out --gpus"
            found.setdefault(model, f"model {model} did not load: {cause}{remedy}")
    return list(found.values())


def _one_line(reason: str) -> str:
    """The message of an exception in Triton's log, without places in the code; the last line of a traceback."""
    lines = [line for line in reason.partition("\\n\\nAt:")[0].split("\\n") if line.strip()] or [reason]
    first, traceback, _ = lines[0].partition("Traceback (most recent call last)")
    return (first + lines[-1] if traceback else first).removeprefix("ValueError: ")


def _read_end(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _READ_BYTES))
        return file.read().decode(errors="replace")


class Follower:
    """Copies the warnings and errors that a server writes to its log from now on; a thread of its own."""

    def __init__(self, path: Path, target: TextIO) -> None:
        """Args: path is the log, target a text stream that takes the lines."""
        self._file = path.open("rb")
        self._file.seek(0, 2)
        self._target = target
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="tricodec-serve-log", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Copy what is there and end."""
        self._ended.set()
        self._thread.join()
        self._file.close()

    def _follow(self) -> None:
        rest = b""
        while True:
            last = self._ended.wait(_FOLLOW_SECONDS)
            *lines, rest = (rest + self._file.read()).split(b"\n")
            for line in lines:
                text = line.decode(errors="replace")
                if text.strip() and not _NOISE.match(text) and not _NO_GPU.search(text):
                    print(text, file=self._target, flush=True)
            if last:
                return
