# SPDX-License-Identifier: Apache-2.0
"""Builds the documentation's site in build/site: `make docs`.

A broken link, a page that is in no menu, and a public name without a description fail the build: of Python each class,
function and method, of C++ each class, struct and free function.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

from check_sources import ROOT

DOXYGEN = ROOT / "build" / "doxygen"
_MEMBER_OF_CLASS = re.compile(r"Member .* of (?:class|struct) ")


def undescribed(warnings: str) -> list[str]:
    """Doxygen's warnings without those of members of classes: their names and comments say what they are."""
    return [line for line in warnings.splitlines() if line.strip() and not _MEMBER_OF_CLASS.search(line)]


def main() -> int:
    if shutil.which("doxygen") is None:
        print("doxygen is not installed; on Debian and Ubuntu: apt-get install doxygen", file=sys.stderr)
        return 1
    shutil.rmtree(DOXYGEN, ignore_errors=True)
    DOXYGEN.mkdir(parents=True)
    subprocess.run(["doxygen", "tools/site/Doxyfile"], cwd=ROOT, check=True)
    if problems := undescribed((DOXYGEN / "warnings.txt").read_text()):
        print("\n".join(problems), file=sys.stderr)
        return 1
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    # Not --quiet: it hides warnings from --strict too.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean"]
    built = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    if built == 0:
        print(f"the site is in {(ROOT / 'build' / 'site').relative_to(ROOT)}/index.html")
    return built


if __name__ == "__main__":
    sys.exit(main())
