# SPDX-License-Identifier: Apache-2.0
"""Runs the C++ and the Python tests of a finished build and closes with one line that counts them.

python tools/run_tests.py          the C++ tests of build/dev beside pytest without the slow tests
                  --build build/own   of the build with its own libraries; their ffmpeg is then the oracle
python tools/run_tests.py --slow   the C++ tests under ASan and UBSan (build/sanitize) and TSan (build/thread), those
                                   of results in memory under valgrind, then the slow Python tests
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
OWN = "build/own"  # tools/build.sh makes it with the libraries of tools/build_libraries.py
JOBS = str(os.cpu_count() or 1)
WORKERS = str((os.cpu_count() or 1) + 2)  # of pytest: tests wait for servers and processes for a third of their time
SANITIZERS = ("sanitize", "thread")  # presets of CMakePresets.json
MEMCHECK = "C++ (valgrind)"
PYTHON, SLOW = "Python", "Python (slow)"

# The tests of results in memory. Each compares these with what it expects, so memcheck finds a part that nothing wrote,
# also in the libraries. The other tests take hours so.
IN_MEMORY = (
    "Compress*:Codec.*:Deflate*:NpyHeader.*:ConvertLayout*:ResizedSize*:RgbToYuv*:Subsample*:Transform*"
    ":Tensor*:Dlpack*:Frame.*:PaddedFrame*:BitReader*:Leb128*:H264Sps*:Av1Units*:*Av1UnitsOf*:StreamIssues*:Encoder.*"
    ":AudioEncoder*:AudioReader*:FrameReader.*:ReadPlan*:GopRanges*:IndexFile*"
)


def run(command: list[str], *, brief: bool = False, **environment: str) -> int:
    """Runs a command and gives its exit status; `brief` shows the last lines only, unless it fails."""
    print("==", " ".join(command), flush=True)
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    variables = os.environ | {"PATH": path} | environment
    variables.pop("PYTHONDONTWRITEBYTECODE", None)  # each of pytest's workers would compile all tests by itself
    if not brief:
        return subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode
    result = subprocess.run(
        command, cwd=ROOT, env=variables, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    said = result.stdout if result.returncode else "".join(result.stdout.splitlines(keepends=True)[-4:])
    print(f"\n{command[0]}:\n{said}", flush=True)
    return result.returncode


def run_ctest(where: list[str], report: Path) -> int:
    """Runs C++ tests, each in a process of its own. `where` is a build folder or a preset, as ctest takes it."""
    command = ["ctest", *where, "--output-on-failure", "--no-tests=error", "-j", JOBS]
    return run([*command, "--output-junit", str(report)], brief=True)


def run_cpp(build: Path, report: Path) -> int:
    """Runs the C++ tests in one process, which takes longer to start than most of them."""
    return run([str(build / "tests/cpp/tricodec_tests"), f"--gtest_output=xml:{report}"], brief=True)


def build_sanitized(preset: str) -> int:
    """Configures and builds the C++ tests of a preset of CMakePresets.json, without Python and DALI."""
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    status = run(["cmake", "--preset", preset, *launcher])
    return status or run(["cmake", "--build", "--preset", preset, "-j", JOBS])


def run_memcheck(build: Path, report: Path) -> int:
    """Runs C++ tests under valgrind, which fails if a result depends on memory that was not written."""
    memcheck = ["valgrind", "--quiet", "--error-exitcode=9", "--num-callers=14"]
    tests = str(build / "tests/cpp/tricodec_tests")
    options = [f"--gtest_filter={IN_MEMORY}", f"--gtest_output=xml:{report}"]
    return run([*memcheck, f"--suppressions={ROOT / 'tools/valgrind.supp'}", tests, *options], brief=True)


def count(report: Path) -> tuple[int, int, int]:
    """Tests passed, failed and skipped, from a JUnit file."""
    passed = failed = skipped = 0
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slow", action="store_true", help="the sanitizer builds and the slow tests instead")
    parser.add_argument("--build", default="build/dev", help="the folder of the build; default: %(default)s")
    arguments = parser.parse_args()
    slow = arguments.slow

    names = [*(f"C++ ({preset})" for preset in SANITIZERS), MEMCHECK] if slow else ["C++"]
    reports = {name: ROOT / f"build/ctest{number or ''}.xml" for number, name in enumerate(names)}
    chosen, selection = (SLOW, "slow") if slow else (PYTHON, "not slow and not needs_gpu")
    reports[chosen] = ROOT / f"build/pytest{1 if slow else ''}.xml"
    for report in reports.values():
        report.unlink(missing_ok=True)
    status = 0
    beside = ThreadPoolExecutor(1)
    cpp = None
    if slow:
        for preset in SANITIZERS:
            report = reports[f"C++ ({preset})"]
            status = build_sanitized(preset) or run_ctest(["--preset", preset], report) or status
        status = run_memcheck(ROOT / arguments.build, reports[MEMCHECK]) or status
    else:
        cpp = beside.submit(run_cpp, ROOT / arguments.build, reports["C++"])
    # `make test` has installed DALI, a tritonserver and a network: their tests run or fail, they are not skipped.
    required = {f"TRICODEC_REQUIRE_{name}": "1" for name in ("DALI", "TRITON", "ONNX")}
    pytest = [sys.executable, "-m", "pytest", "--durations=10"]
    if arguments.build == OWN:
        folders = (str(BIN), str(ROOT / "build/libraries/bin"), os.environ["PATH"])
        required["PATH"] = os.pathsep.join(folders)
    # A file's tests stay together: servers and compiled plugins are shared within one. conftest.py orders them.
    if not slow and not any((ROOT / "tests/python").rglob("*.pyc")):
        # Once, as pytest's workers would compile all tests at the same time.
        run([sys.executable, "-m", "pytest", "--collect-only", "--quiet"], brief=True)
    how = ["-s"] if slow else ["-n", WORKERS, "--dist", "loadfile", "--no-loadscope-reorder"]
    status = run([*pytest, f"--junitxml={reports[chosen]}", "-m", selection, *how], **required) or status
    status = (cpp.result() if cpp else 0) or status

    parts = []
    for name, report in reports.items():
        if not report.is_file():
            parts.append(f"{name}: did not run")
            status = status or 1
            continue
        passed, failed, skipped = count(report)
        status = status or int(failed > 0 or passed == 0)
        parts.append(f"{name}: {passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"processor time: {used.ru_utime + used.ru_stime:.0f} s")
    print(("ok: " if status == 0 else "FAILED: ") + "; ".join(parts))
    return int(status != 0)


if __name__ == "__main__":
    sys.exit(main())
