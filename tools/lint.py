# SPDX-License-Identifier: Apache-2.0
"""Every check of the sources that needs no build.

python tools/lint.py [NAME ...]   all checks, or those named
python tools/lint.py --format     rewrites what the formatters would complain about
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from check_sources import BINARY, ROOT, files

BIN = Path(sys.executable).parent
PYTHON_FOLDERS = [
    "python", "compat", "packaging", "plugin", "triton_backend", "model_repository", "tests", "tools", "benchmarks",
    "examples", "docs/notebooks",
]  # fmt: skip


def inputs() -> tuple[list[str], list[str]]:
    """The C++ files, and the folders that have Python files."""
    cpp = [str(path.relative_to(ROOT)) for path in files() if path.suffix in {".h", ".cpp", ".cu", ".cuh"}]
    return cpp, [folder for folder in PYTHON_FOLDERS if any((ROOT / folder).rglob("*.py"))]


def commands() -> dict[str, list[str]]:
    """The checks by name, in the order they run."""
    cpp, folders = inputs()
    texts = [str(path.relative_to(ROOT)) for path in files() if path.suffix not in BINARY]
    workflows = [str(path) for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
    return {
        "layers": [sys.executable, "tools/check_layers.py"],
        "imports": ["env", "PYTHONPATH=python:compat", str(BIN / "lint-imports"), "--no-logo", "--no-cache"],
        "sizes": [sys.executable, "tools/check_sizes.py"],
        "sources": [sys.executable, "tools/check_sources.py"],
        "words": [str(BIN / "codespell"), *texts],
        "clang-format": [str(BIN / "clang-format"), "--dry-run", "-Werror", *cpp],
        "ruff": [str(BIN / "ruff"), "check", "--quiet", *folders],
        "ruff-format": [str(BIN / "ruff"), "format", "--check", "--quiet", "--diff", *folders],
        "mypy": [str(BIN / "mypy"), "--no-error-summary"],
        "workflows": [str(BIN / "check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *workflows],
        "options": [sys.executable, "tools/options.py", "--check"],
        "documents": [sys.executable, "-m", "benchmarks.table", "--check"],
    }


def reformat() -> int:
    """Runs the formatters; ruff also sorts imports and applies safe fixes."""
    cpp, folders = inputs()
    clang_format = [str(BIN / "clang-format"), "-i", *cpp]
    fixes = [str(BIN / "ruff"), "check", "--quiet", "--fix-only", *folders]
    ruff_format = [str(BIN / "ruff"), "format", "--quiet", *folders]
    options = [sys.executable, "tools/options.py"]
    commands = (clang_format, fixes, ruff_format, options)
    return max(subprocess.run(command, cwd=ROOT, check=False).returncode for command in commands)


def main() -> int:
    chosen = sys.argv[1:]
    if chosen == ["--format"]:
        return reformat()
    known = commands()
    unknown = [name for name in chosen if name not in known]
    if unknown:
        print(f"no check is called {', '.join(unknown)}; accepted: {', '.join(known)}", file=sys.stderr)
        return 2
    failed = []
    for name, command in known.items():
        if chosen and name not in chosen:
            continue
        start = time.monotonic()
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        print(f"{'ok' if result.returncode == 0 else 'FAILED':7} {name} ({time.monotonic() - start:.1f} s)", flush=True)
        if result.returncode != 0:
            failed.append(name)
        if result.returncode != 0 or name == "sizes":
            print((result.stdout + result.stderr).rstrip(), flush=True)
    print(f"lint: {len(failed)} of {len(chosen or known)} checks failed" + (f": {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
