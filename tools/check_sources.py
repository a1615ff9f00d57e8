# SPDX-License-Identifier: Apache-2.0
"""House rules that no other tool knows: the licence line, no paths of one machine, no unfinished marks, file sizes."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SPDX = "SPDX-License-Identifier: Apache-2.0"
CODE = {".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".cmake", ".py", ".pyi", ".sh"}
LICENSED_NAMES = {"Makefile", "CMakeLists.txt", "run"}
MAX_LINES = 600

# Home and scratch folders of one machine. Split, so that this file does not match itself.
MACHINE_PATH = re.compile(r"(?<![\w.$}{])/(?:wo" + r"rk|ro" + r"ot|ho" + r"me|Us" + r"ers|fa" + r"rm)/[\w.]")
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK|NotImplemented" + r"Error)\b")
BINARY = {".png", ".webp", ".jpg", ".mp4", ".npz", ".npy", ".bin"}


def files() -> list[Path]:
    """Tracked files, and new ones that git does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True,
    ).stdout.decode()  # fmt: skip
    return [ROOT / name for name in sorted(set(listed.split("\0"))) if name and (ROOT / name).is_file()]


def check(path: Path) -> Iterator[str]:
    relative = path.relative_to(ROOT)
    if path.suffix in BINARY:
        return
    text = path.read_text(errors="replace")
    lines = text.splitlines()
    if (path.suffix in CODE or path.name in LICENSED_NAMES) and SPDX not in "\n".join(lines[:3]):
        yield f"{relative}:1: the first line must be '{SPDX}' in a comment"
    # A stub is as long as the module that it describes.
    if path.suffix in CODE - {".pyi"} and len(lines) > MAX_LINES:
        yield f"{relative}: {len(lines)} lines; split it by concept below {MAX_LINES}"
    for number, line in enumerate(lines, 1):
        if found := MACHINE_PATH.search(line):
            yield f"{relative}:{number}: a path of one machine: {found[0]}"
        if path.suffix in CODE and (found := UNFINISHED.search(line)):
            yield f"{relative}:{number}: an unfinished mark: {found[0]}"


if __name__ == "__main__":
    sys.exit("\n".join(problem for path in files() for problem in check(path)) or None)
