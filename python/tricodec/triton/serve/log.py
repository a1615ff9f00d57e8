# SPDX-License-Identifier: Apache-2.0
"""The log of a tritonserver that did not start: the reason why models did not load, or its last errors."""

from __future__ import annotations

import re
from pathlib import Path

_TAIL_CHARACTERS = 6000
_NOISE = re.compile(r"[|+]|[IW]\d{4} ")
"""Rows and rules of tables, notes and warnings."""
_FAILED = re.compile(r"failed to load '([^']+)' version \d+: \w+(?: \w+)?: (.*?)\"?$", re.MULTILINE)
_POLL_FAILED = re.compile(r"Poll failed for model directory '([^']+)': (.*?)\"?$", re.MULTILINE)
_SYNTAX = re.compile(r"Error parsing text-format inference\.ModelConfig: (\d+:\d+: .*)$", re.MULTILINE)


def tail(path: Path) -> str:
    """The last errors of a log."""
    lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
    return "\n".join(line for line in lines if line.strip() and not _NOISE.match(line))[-_TAIL_CHARACTERS:]


def reasons(path: Path) -> list[str]:
    """Why models did not load: a line for each reason, with its models."""
    text = path.read_text(errors="replace") if path.is_file() else ""
    models: dict[str, list[str]] = {}
    for model, reason in dict(_FAILED.findall(text) + _POLL_FAILED.findall(text)).items():
        models.setdefault(_one_line(reason), []).append(model)
    places = [f"config.pbtxt:{place}" for place in _SYNTAX.findall(text)]
    found = [
        f"model{'s' if len(names) > 1 else ''} {', '.join(sorted(names))} did not load: {reason}"
        for reason, names in models.items()
    ]
    return [*found, *places]


def _one_line(reason: str) -> str:
    """The message of an exception in Triton's log, without places in the code; the last line of a traceback."""
    lines = [line for line in reason.partition("\\n\\nAt:")[0].split("\\n") if line.strip()] or [reason]
    first, traceback, _ = lines[0].partition("Traceback (most recent call last)")
    return (first + lines[-1] if traceback else first).removeprefix("ValueError: ")
