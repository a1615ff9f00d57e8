# SPDX-License-Identifier: Apache-2.0
"""Runs torchcodec's own tests with tricodec's names: python -m benchmarks.compat.suite FOLDER.

FOLDER is the folder `test` of a checkout of torchcodec, with its resources. The results are in
benchmarks/results/compat_suite.csv. A test counts if it uses public names alone. Private modules of torchcodec give the
public names that they have; a test that uses another private name, or a GPU that is not there, is left out.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

from benchmarks import results
from benchmarks.environment import environment
from benchmarks.results import Row

PRIVATE = "uses a private name"
_PRIVATE_ATTRIBUTE = re.compile(r"has no attribute '_|cannot import name '_")


class PrivateName:
    """A private name of torchcodec: a test that uses it is left out."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _use(self, *_: Any, **__: Any) -> Any:
        pytest.skip(f"{PRIVATE}, {self._name}")

    __call__ = __getitem__ = __iter__ = _use

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "pytest" in name:  # what collecting tests looks for
            raise AttributeError(name)
        return self._use()


class _PrivateModule(ModuleType):
    """A private module: public names that other modules have, and private ones for everything else."""

    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        import torchcodec
        import torchcodec.decoders
        import torchcodec.encoders

        for module in (torchcodec, torchcodec.decoders, torchcodec.encoders):
            if not name.startswith("_") and hasattr(module, name):
                return getattr(module, name)
        known = sys.modules.get(f"{self.__name__}.{name}")
        if known is not None:
            return known
        if name in ("_metadata", "ops"):
            return _made(f"{self.__name__}.{name}")
        return PrivateName(f"{self.__name__}.{name}")


def _made(name: str) -> ModuleType:
    module = sys.modules[name] = _PrivateModule(name)
    return module


class _Finder(MetaPathFinder, Loader):
    """Finds the private modules of torchcodec."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        parts = fullname.split(".")
        if parts[0] == "torchcodec" and any(part.startswith("_") for part in parts[1:]):
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _PrivateModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


@dataclass
class Outcomes:
    """Of the tests of one file: by name, the reason, or an empty text."""

    passed: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


class Recorder:
    """Pytest's plugin that sorts the outcomes by file. The reasons name no folder of this machine."""

    def __init__(self, folder: Path | None = None) -> None:
        self.files: dict[str, Outcomes] = {}
        self._folder = f"{folder}/"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called after each phase of a test."""
        if report.when != "call" and report.passed:
            return
        file = self.files.setdefault(Path(report.location[0]).name, Outcomes())
        name = report.nodeid.partition("::")[2]
        if report.passed:
            file.passed.append(name)
            return
        if report.skipped:
            file.left_out[name] = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else ""
            return
        text = report.longreprtext.replace(self._folder, "")
        if _PRIVATE_ATTRIBUTE.search(text.rpartition("\nE ")[2] or text):
            file.left_out[name] = PRIVATE
        else:
            lines = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
            file.failed[name] = lines[0] if lines else text[-200:]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Called for each file."""
        if report.failed:
            file = self.files.setdefault(Path(report.nodeid).name, Outcomes())
            file.failed["collection"] = report.longreprtext.strip().splitlines()[-1]


def rows_of(files: dict[str, Outcomes], suite: str) -> list[Row]:
    """The counts of each file, and a row for each test that fails."""
    rows = []
    for name, found in sorted(files.items()):
        gpu = [test for test, reason in found.left_out.items() if "CUDA" in reason]
        counts = {"passed": len(found.passed), "failed": len(found.failed), "without a GPU": len(gpu)}
        counts["private names"] = sum(PRIVATE in reason for reason in found.left_out.values())
        counts["skipped by the suite"] = len(found.left_out) - counts["private names"] - len(gpu)
        for outcome, count in counts.items():
            rows.append(Row(task=name, input=suite, contender="tricodec", setting=outcome, value=count, unit="tests"))
        for test, reason in found.failed.items():
            rows.append(
                Row(task=name, input=suite, contender="tricodec", setting=f"failure of {test}", note=reason[:200])
            )
    return rows


def run(folder: Path, arguments: Sequence[str] = ()) -> dict[str, Outcomes]:
    """The outcomes of the tests in a folder, by file; the names are in place after it."""
    import tricodec.compat

    sys.meta_path.insert(0, _Finder())
    tricodec.compat.install("torchcodec")
    for name in ("torchcodec.samplers", "torchcodec.transforms"):  # packages there, modules here
        importlib.import_module(name).__path__ = []
    recorder = Recorder(folder)
    pytest.main(["-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(folder), str(folder), *arguments],
                plugins=[recorder])  # fmt: skip
    return recorder.files


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compat.suite", description=__doc__)
    parser.add_argument("folder", type=Path, help="torchcodec's folder test, with resources")
    parser.add_argument("--suite", default="torchcodec", help="what the suite is, for the results")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "compat_suite.csv", help="the CSV to write")
    options, others = parser.parse_known_args()
    begun = time.monotonic()
    files = run(options.folder, others)
    results.write(options.output, environment(time.monotonic() - begun), rows_of(files, options.suite))
    for name, found in sorted(files.items()):
        print(f"{name}: {len(found.passed)} passed, {len(found.failed)} failed, {len(found.left_out)} left out")


if __name__ == "__main__":
    main()
