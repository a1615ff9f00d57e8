# SPDX-License-Identifier: Apache-2.0
"""Reports how large each part of the project is, and refuses one that outgrows its bound in tools/sizes.tsv.

A bound may only fall: one that is higher than in the commit before is refused. python tools/check_sizes.py --lower
writes the counts of today where they are lower.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "tools" / "sizes.tsv"
Bounds = dict[str, tuple[int, int]]


def git(*command: str) -> str:
    """What git prints; nothing if it fails, as in a clone without the commit before."""
    return subprocess.run(["git", *command], cwd=ROOT, check=False, capture_output=True, text=True).stdout


def bounds(table: str) -> Bounds:
    """The most lines and files of folders, which have spaces between them."""
    rows = [line.split("\t") for line in table.splitlines()[1:]]
    return {folders: (int(lines), int(files)) for folders, lines, files in rows}


def counts(folders: str) -> tuple[int, int]:
    """Lines and files that git knows."""
    listed = git("ls-files", "-z", *folders.split())
    files = [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]
    return sum(path.read_bytes().count(b"\n") for path in files), len(files)


def main() -> int:
    """Prints a line for each part; the exit status is 1 if one is too large or has a bound that rose."""
    known = bounds(TABLE.read_text())
    if sys.argv[1:] == ["--lower"]:
        rows = {folders: map(min, counts(folders), bound) for folders, bound in known.items()}
        TABLE.write_text(
            "\n".join(["folders\tlines\tfiles", *("\t".join(map(str, [f, *r])) for f, r in rows.items()), ""])
        )
        return 0
    before = [bounds(git("show", f"{commit}:tools/sizes.tsv")) for commit in ("HEAD", "HEAD~1")]
    failed = False
    for folders, bound in known.items():
        count = counts(folders)
        large = any(one > most for one, most in zip(count, bound, strict=True))
        raised = any(most > old for table in before for most, old in zip(bound, table.get(folders, bound), strict=True))
        failed = failed or large or raised
        print(
            f"{folders[:30]:30} {count[0]:7,} lines of {bound[0]:7,}, {count[1]:5,} files of {bound[1]:5,}"
            + ("  TOO LARGE" if large else "")
            + ("  THE BOUND ROSE" if raised else "")
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
