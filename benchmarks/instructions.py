# SPDX-License-Identifier: Apache-2.0
"""Instructions that the hot kernels of Transform execute, counted by valgrind and held to benchmarks/instructions.json.

python benchmarks/instructions.py PROGRAM            compares; 3 % more of any case fails, 3 % less asks for --update
python benchmarks/instructions.py PROGRAM --update   writes the counts as the new baseline of this compiler

PROGRAM is build/.../benchmarks/cpp/tricodec_kernel_cases. Unlike time, the counts do not depend on the machine or on
what else runs there: one instruction set is forced (AVX2: valgrind does not know AVX-512), and baselines are kept for
each compiler. A compiler without one is reported and passes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "instructions.json"
TOLERANCE = 0.03
INSTRUCTION_SET = "avx2"
_DISABLED = "avx512"
_MEASURED = "measured_frame"


def _ask(program: Path, mode: str) -> list[str]:
    result = subprocess.run([program, mode], check=True, text=True, stdout=subprocess.PIPE)
    return result.stdout.splitlines()


def environment(program: Path) -> str:
    """What the counts depend on, as the key of a baseline: "x86_64, g++ 12, avx2"."""
    (compiler,) = _ask(program, "compiler")
    return f"{platform.machine()}, {compiler}, {INSTRUCTION_SET}"


def count(program: Path) -> dict[str, int]:
    """Instructions of one frame by case.

    Raises:
        RuntimeError: if valgrind is missing or fails, or runs another instruction set.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        message = "valgrind is not installed: run tools/install_system_packages.sh, or apt-get install valgrind"
        raise RuntimeError(message)
    names = _ask(program, "list")
    with tempfile.TemporaryDirectory() as folder:
        # Counting is on inside the measured function only; each time it is left the counts go to a file of their own.
        command = [valgrind, "--tool=callgrind", f"--callgrind-out-file={folder}/out"]
        command += [f"--toggle-collect={_MEASURED}", f"--dump-after={_MEASURED}", str(program), "count"]
        variables = os.environ | {"TRICODEC_DISABLE_CPU_FEATURES": _DISABLED}
        run = subprocess.run(command, env=variables, check=False, text=True, capture_output=True)
        if run.returncode != 0:
            message = f"valgrind failed with status {run.returncode}:\n{run.stderr}"
            raise RuntimeError(message)
        if run.stdout.split() != ["highway", INSTRUCTION_SET.upper()]:
            message = f"under valgrind the engine is {run.stdout.strip()!r}, not highway {INSTRUCTION_SET.upper()}"
            raise RuntimeError(message)
        dumps = sorted(Path(folder).glob("out.*"), key=lambda path: int(path.suffix[1:]))
        if len(dumps) != len(names):
            message = f"valgrind wrote {len(dumps)} counts for {len(names)} cases"
            raise RuntimeError(message)
        return {name: _total(dump.read_text()) for name, dump in zip(names, dumps, strict=True)}


def _total(dump: str) -> int:
    found = re.search(r"^totals: (\d+)$", dump, re.MULTILINE)
    if found is None:
        message = "a dump of callgrind has no totals"
        raise RuntimeError(message)
    return int(found.group(1))


def compare(counts: dict[str, int], baseline: dict[str, int]) -> tuple[list[str], list[str], list[str]]:
    """One line a case; then the cases that regressed, and those whose baseline should be taken anew.

    Cases that only one side has belong to the latter.
    """
    lines, regressed, outdated = [], [], []
    for name in sorted(counts.keys() | baseline.keys()):
        if name not in counts or name not in baseline:
            lines.append(f"{name:28} {'has no baseline' if name in counts else 'is no case any more'}")
            outdated.append(name)
            continue
        change = counts[name] / baseline[name] - 1
        lines.append(f"{name:28} {counts[name]:>10} {change:+7.2%}")
        if change > TOLERANCE:
            regressed.append(name)
        elif change < -TOLERANCE:
            outdated.append(name)
    return lines, regressed, outdated


def main(arguments: list[str] | None = None) -> int:
    """1 if a kernel executes more instructions than its baseline allows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--update", action="store_true", help="write the counts as the baseline of this compiler")
    parser.add_argument("--baseline", type=Path, default=RESULTS, metavar="FILE", help="another table")
    options = parser.parse_args(arguments)

    table: dict[str, dict[str, int]] = json.loads(options.baseline.read_text()) if options.baseline.exists() else {}
    key = environment(options.program)
    update = f"python benchmarks/instructions.py {options.program} --update"
    if not options.update and key not in table:
        print(f"no baseline for {key}; there are: {'; '.join(sorted(table)) or 'none'}. To add one: {update}")
        return 0
    try:
        counts = count(options.program)
    except RuntimeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if options.update:
        table[key] = counts
        options.baseline.write_text(json.dumps(table, indent=2, sort_keys=True) + "\n")
        print(f"wrote the baseline of {key} to {options.baseline}")
        return 0
    lines, regressed, outdated = compare(counts, table[key])
    print(f"instructions a frame, {key}, against {options.baseline.name}:", *lines, sep="\n")
    if outdated:
        print(f"faster, or not the cases of the baseline: {', '.join(outdated)}. Take the baseline anew: {update}")
    if regressed:
        print(
            f"FAILED: more than {TOLERANCE:.0%} more instructions: {', '.join(regressed)}. If that is meant: {update}"
        )
    return int(bool(regressed))


if __name__ == "__main__":
    sys.exit(main())
