# SPDX-License-Identifier: Apache-2.0
"""Instructions that the hot kernels of Transform execute, counted by valgrind and held to benchmarks/instructions.json.

python benchmarks/instructions.py PROGRAM            compares; 3 % more of any case fails, and so does a case that only
                                                     the program or only the baseline has; 3 % less asks for --update
python benchmarks/instructions.py PROGRAM --update   writes the counts as the new baseline of this compiler

PROGRAM is build/.../benchmarks/cpp/tricodec_kernel_cases. Unlike time, the counts do not depend on the machine or on
what else runs there: the instruction sets are forced, and baselines are kept for each compiler. A compiler without one
is reported and passes. AVX-512 cannot be counted, as valgrind does not know it; its kernels are of the same source.
"""

from __future__ import annotations

import argparse
import dataclasses
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
#: What is taken away so that each is the best.
INSTRUCTION_SETS = {"avx2": "avx512", "sse4": "avx512,avx2"}
_MEASURED = "measured_frame"


def _ask(program: Path, mode: str) -> list[str]:
    result = subprocess.run([program, mode], check=True, text=True, stdout=subprocess.PIPE)
    return result.stdout.splitlines()


def environment(program: Path, instruction_set: str) -> str:
    """What the counts depend on, as the key of a baseline: "x86_64, g++ 12, avx2"."""
    (compiler,) = _ask(program, "compiler")
    return f"{platform.machine()}, {compiler}, {instruction_set}"


def count(program: Path, instruction_set: str) -> dict[str, int]:
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
        variables = os.environ | {"TRICODEC_DISABLE_CPU_FEATURES": INSTRUCTION_SETS[instruction_set]}
        run = subprocess.run(command, env=variables, check=False, text=True, capture_output=True)
        if run.returncode != 0:
            message = f"valgrind failed with status {run.returncode}:\n{run.stderr}"
            raise RuntimeError(message)
        if run.stdout.split() != ["highway", instruction_set.upper()]:
            message = f"under valgrind the engine is {run.stdout.strip()!r}, not highway {instruction_set.upper()}"
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


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Counts beside their baseline.

    Attributes:
        lines: one a case.
        regressed: cases with more instructions than the baseline allows.
        unmatched: cases that only one side has: what has no baseline is not guarded.
        faster: cases that need a new baseline.
    """

    lines: list[str]
    regressed: list[str]
    unmatched: list[str]
    faster: list[str]


def compare(counts: dict[str, int], baseline: dict[str, int]) -> Comparison:
    """Of one instruction set."""
    result = Comparison([], [], [], [])
    for name in sorted(counts.keys() | baseline.keys()):
        if name not in counts or name not in baseline:
            result.lines.append(f"{name:28} {'has no baseline' if name in counts else 'is no case any more'}")
            result.unmatched.append(name)
            continue
        change = counts[name] / baseline[name] - 1
        result.lines.append(f"{name:28} {counts[name]:>10} {change:+7.2%}")
        if change > TOLERANCE:
            result.regressed.append(name)
        elif change < -TOLERANCE:
            result.faster.append(name)
    return result


def _check(key: str, counts: dict[str, int], baseline: dict[str, int], update: str) -> bool:
    """Says how the counts compare; whether they may stay."""
    found = compare(counts, baseline)
    print(f"instructions a frame, {key}:", *found.lines, sep="\n")
    if found.faster:
        print(f"faster: {', '.join(found.faster)}. Take the baseline again: {update}")
    if found.unmatched:
        print(f"FAILED: not the cases of the baseline: {', '.join(found.unmatched)}. Take it again: {update}")
    if found.regressed:
        names = ", ".join(found.regressed)
        print(f"FAILED: more than {TOLERANCE:.0%} more instructions: {names}. If that is meant: {update}")
    return not (found.regressed or found.unmatched)


def main(arguments: list[str] | None = None) -> int:
    """1 if a kernel executes more instructions than its baseline allows, or has none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--update", action="store_true", help="write the counts as the baseline of this compiler")
    parser.add_argument("--baseline", type=Path, default=RESULTS, metavar="FILE", help="another table")
    options = parser.parse_args(arguments)

    table: dict[str, dict[str, int]] = json.loads(options.baseline.read_text()) if options.baseline.exists() else {}
    update = f"python benchmarks/instructions.py {options.program} --update"
    passed = True
    for instruction_set in INSTRUCTION_SETS:
        key = environment(options.program, instruction_set)
        if not options.update and key not in table:
            print(f"no baseline for {key}; there are: {'; '.join(sorted(table)) or 'none'}. To add one: {update}")
            continue
        try:
            counts = count(options.program, instruction_set)
        except RuntimeError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        if options.update:
            table[key] = counts
            options.baseline.write_text(json.dumps(table, indent=2, sort_keys=True) + "\n")
            print(f"wrote the baseline of {key} to {options.baseline}")
        else:
            passed = _check(key, counts, table[key], update) and passed
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main())
