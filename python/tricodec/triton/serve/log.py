# SPDX-License-Identifier: Apache-2.0
"""The log of a tritonserver: its end without noise, the reason why models did not load, lines as they are written."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
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
_LOADED = re.compile(r"successfully loaded '([^']+)'")
_POLL_FAILED = re.compile(r"Poll failed for model directory '([^']+)': (.*?)\"?$", re.MULTILINE)
_SYNTAX = re.compile(r"Error parsing text-format inference\.ModelConfig: (\d+:\d+: .*)$", re.MULTILINE)
_MISSING_MODULE = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")
_WRONG_GPU = re.compile(r"unsupported gpu id (\d+)")
_FOLLOW_SECONDS = 0.2
SILENT_SECONDS = 5.0
"""So long a start may take without a line."""


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


def loaded(path: Path) -> list[str]:
    """The models that are loaded, in their order."""
    return list(dict.fromkeys(_LOADED.findall(_read_end(path))))


def reasons(path: Path, repository: Path) -> list[str]:
    """Why models of a repository did not load: each reason once, with its models, and the remedy where it is known."""
    found: dict[str, str] = {}
    if path.is_file():
        text = _read_end(path)
        for failure in _POLL_FAILED.finditer(text):
            syntax = _SYNTAX.findall(text, 0, failure.start())
            is_syntax = syntax and "text proto" in failure[2]
            found[failure[1]] = f"{repository / failure[1]}/config.pbtxt:{syntax[-1]}" if is_syntax else failure[2]
        for model, reason in _FAILED.findall(text):
            missing = _MISSING_MODULE.search(reason)
            remedy = f"; install the package that has {missing[1]} for the models" if missing else ""
            cause = _one_line(reason)
            if (gpu := _WRONG_GPU.search(reason)) is not None:
                cause = f"Triton has no GPU {gpu[1]}; name one that nvidia-smi lists, or leave out --gpus"
            found.setdefault(model, f"{cause}{remedy}")
    models: dict[str, list[str]] = {}
    for model, reason in found.items():
        models.setdefault(reason, []).append(model)
    return [
        f"model{'s' if len(names) > 1 else ''} {', '.join(sorted(names))} did not load: {reason}"
        for reason, names in models.items()
    ]


def _one_line(reason: str) -> str:
    """The message of an exception in Triton's log, without places in the code; the last line of a traceback."""
    lines = [line for line in reason.partition("\\n\\nAt:")[0].split("\\n") if line.strip()] or [reason]
    first, traceback, _ = lines[0].partition("Traceback (most recent call last)")
    return (first + lines[-1] if traceback else first).removeprefix("ValueError: ")


def _read_end(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _READ_BYTES))
        return file.read().decode(errors="replace")


class Progress:
    """Reports each model that a server has loaded, and now and then those that it still waits for."""

    def __init__(self, models: Sequence[str], log_file: Path | None, report: Callable[[str], None]) -> None:
        self.waiting = list(models) if log_file is not None else []
        self._num_models = len(models)
        self._log_file = log_file
        self._report = report
        self._last = time.monotonic()

    def look(self) -> None:
        """Reads the log."""
        news = loaded(self._log_file) if self._log_file is not None and self.waiting else []
        for model in news:
            if model in self.waiting:
                self.waiting.remove(model)
                self._say(f"loaded {model} ({self._num_models - len(self.waiting)} of {self._num_models})")
        if self.waiting and time.monotonic() > self._last + SILENT_SECONDS:
            self._say(f"waiting for {', '.join(self.waiting)}")

    def _say(self, line: str) -> None:
        self._last = time.monotonic()
        self._report(line)


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
