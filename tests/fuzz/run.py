# SPDX-License-Identifier: Apache-2.0
"""Builds the fuzz targets, makes their first inputs, and runs them one after another.

python tests/fuzz/run.py                      30 minutes of processor time each, or FUZZ_MINUTES
python tests/fuzz/run.py --seconds 30         30 seconds of it in all
python tests/fuzz/run.py reader               one target

build/fuzz/found keeps the inputs that reach new code, for the next run. build/fuzz/artifacts has what failed: give such
a file to its target (build/fuzz/tests/fuzz/fuzz_TARGET FILE) to see it again. The exit status is 1 if one failed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/fuzz"
TARGETS = tuple(sorted(path.stem.removeprefix("fuzz_") for path in (ROOT / "tests/fuzz").glob("fuzz_*.cpp")))
OLDEST_CLANG = 16
LONGEST_INPUT = 1 << 16
MEMORY_MB = 2560
SECONDS_OF_AN_INPUT = 120
_ASAN = "allocator_may_return_null=1:quarantine_size_mb=32"  # else freed memory counts against MEMORY_MB


def find_clang() -> str | None:
    """The newest clang++ that is installed and compiles tricodec, or None."""
    names = ["clang++", *(f"clang++-{version}" for version in range(40, OLDEST_CLANG - 1, -1))]
    for name in names:
        path = shutil.which(name)
        if path is None:
            continue
        version = subprocess.run([path, "-dumpversion"], capture_output=True, text=True, check=False).stdout
        if int(version.partition(".")[0] or 0) >= OLDEST_CLANG:
            return path
    return None


def build() -> None:
    """Configures and builds the preset `fuzz`.

    Raises:
        SystemExit: if there is no clang.
    """
    clang = find_clang()
    if clang is None:
        sys.exit(f"error: no clang++ {OLDEST_CLANG} or newer on the PATH; run tools/install_system_packages.sh fuzz")
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command in (
        ["cmake", "--preset", "fuzz", f"-DCMAKE_CXX_COMPILER={clang}", *launcher],
        ["cmake", "--build", "--preset", "fuzz"],
    ):
        subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)


def make_corpus() -> None:
    """Makes the first inputs, once."""
    if not (BUILD / "corpus").is_dir():
        command = [sys.executable, ROOT / "tests/fuzz/make_corpus.py", BUILD / "corpus.new"]
        subprocess.run(command, check=True)
        (BUILD / "corpus.new").rename(BUILD / "corpus")


def _processor_seconds(pid: int) -> float:
    """The time of all cores that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(target: str, seconds: int, seed: int) -> tuple[int, float, bool]:
    """Runs one target for some seconds of processor time, from a seed, or from any if it is 0.

    Returns:
        How many inputs it tried, the processor time that it used, and whether an input failed.
    """
    found, artifacts = BUILD / "found" / target, BUILD / "artifacts"
    found.mkdir(parents=True, exist_ok=True)
    artifacts.mkdir(exist_ok=True)
    command = [
        BUILD / f"tests/fuzz/fuzz_{target}",
        f"-seed={seed}",
        f"-max_len={LONGEST_INPUT}",
        f"-rss_limit_mb={MEMORY_MB}",
        f"-timeout={SECONDS_OF_AN_INPUT}",
        f"-artifact_prefix={artifacts}/{target}-",
        "-print_final_stats=1",
        found,
        BUILD / "corpus" / target,
    ]
    environment = os.environ | {"UBSAN_OPTIONS": "print_stacktrace=1", "ASAN_OPTIONS": _ASAN}
    log = BUILD / f"{target}.log"
    used = 0.0
    with log.open("w") as output, subprocess.Popen(command, env=environment, stdout=output, stderr=output) as process:
        while process.poll() is None:
            used = _processor_seconds(process.pid)
            if used >= seconds:
                process.send_signal(signal.SIGUSR1)  # libFuzzer ends after the input that it tries
            time.sleep(0.1)
    text = log.read_text(errors="replace")
    tried = re.findall(r"stat::number_of_executed_units:\s*(\d+)", text) or re.findall(r"^#(\d+)", text, re.MULTILINE)
    if process.returncode != 0:
        print(text[-6000:])
    return int(tried[-1]) if tried else 0, used, process.returncode != 0


def main() -> int:
    """Runs the targets; 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], help="default: all")
    parser.add_argument("--seconds", type=int, help="of processor time, of all targets together")
    parser.add_argument("--seed", type=int, default=0, help="makes the same inputs each time (default: others)")
    arguments = parser.parse_args()
    targets = arguments.targets or TARGETS
    seconds = int(60 * float(os.environ.get("FUZZ_MINUTES", "30")))
    if arguments.seconds is not None:
        seconds = max(arguments.seconds // len(targets), 1)
    build()
    make_corpus()
    failed = []
    for target in targets:
        tried, used, broken = run(target, seconds, arguments.seed)
        print(f"{target}: {tried:,} inputs in {used:.0f} s, {'FAILED' if broken else 'clean'}")
        if broken:
            failed.append(target)
    if failed:
        print(f"FAILED: {', '.join(failed)}; the inputs are in {BUILD / 'artifacts'}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
