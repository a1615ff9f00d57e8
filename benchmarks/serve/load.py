# SPDX-License-Identifier: Apache-2.0
"""A server under good and hostile requests and faults, and what docs/explanation/reliability.md shows of it.

    python -m benchmarks.serve.load [--minutes 10]     writes benchmarks/results/load.csv

The driver is tests/python/helpers/triton_load.py, in a namespace with a /dev/shm of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import goals, results
from benchmarks.environment import ROOT, environment
from benchmarks.results import Row

_HELPERS = ROOT / "tests" / "python" / "helpers"
_FAULT_SECONDS = 2
_MEMORY = {
    "private_mb": ("private memory of all processes", "MB"),
    "shared_memory_mb": ("/dev/shm", "MB"),
    "open_files": ("open files of the server", "files"),
}


def run(minutes: float) -> dict[str, Any]:
    """The driver's report."""
    command = ["unshare", "--map-root-user", "--mount", sys.executable, str(_HELPERS / "triton_load.py")]
    variables = os.environ | {"PYTHONPATH": str(_HELPERS)}
    result = subprocess.run(
        [*command, str(minutes), str(_FAULT_SECONDS)], stdout=subprocess.PIPE, text=True, check=True, env=variables
    )
    report: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return report


def rows_of(report: Mapping[str, Any]) -> list[Row]:
    """A report as rows: requests and faults by name, what was lost, latencies, memory of the first and last quarter."""
    found = []
    for task, unit in (("answered", "requests"), ("refused", "requests"), ("faults", "times")):
        found += [Row(task, name, "server", unit=unit).with_runs([count]) for name, count in report[task].items()]
    found.append(Row("lost", "requests that a fault hit", "server", unit="requests").with_runs([len(report["lost"])]))
    crashes = report["crashes_of_triton"]
    found.append(Row("crashes", "tritonserver, started again", "server", unit="times").with_runs([crashes]))
    found += [Row("latency", name, "server", unit="ms").with_runs([report[f"{name}_ms"]]) for name in ("p50", "p99")]
    for name, (what, unit) in _MEMORY.items():
        for when, quarter in (("first", 0), ("last", 3)):
            value = report["memory"][name][quarter]
            found.append(Row("memory", what, "server", f"{when} quarter", unit=unit).with_runs([value]))
    return found


def table(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """The block of docs/explanation/reliability.md."""

    def total(task: str) -> int:
        return round(sum(row.value or 0 for row in rows if row.task == task))

    def listed(task: str) -> str:
        return ", ".join(f"{row.input} {row.value:.0f}" for row in rows if row.task == task)

    lines = [
        ("good requests, answered with the right bytes", f"{total('answered'):,}: {listed('answered')}"),
        ("hostile requests, each refused with its own error", f"{total('refused'):,}: {listed('refused')}"),
        ("faults", f"{total('faults')}: {listed('faults')}"),
        ("requests lost, each with an error", str(total("lost"))),
        ("crashes of tritonserver itself, which came back", str(total("crashes"))),
        ("latency", f"p50 {_value(rows, 'latency', 'p50'):.0f} ms, p99 {_value(rows, 'latency', 'p99'):.0f} ms"),
    ]
    for what, unit in _MEMORY.values():
        first, last = (_value(rows, "memory", what, f"{when} quarter") for when in ("first", "last"))
        lines.append((what, f"{first:.0f} {unit} in the first quarter of the time, {last:.0f} in the last"))
    head = (
        f"{float(facts['load_seconds']) / 60:.0f} minutes on {facts['cores']} cores of an {facts['cpu']}, "
        f"{facts['date'][:10]}, {facts['requests_at_a_time']} requests at a time, which is {facts['saturation']} for "
        "each worker of a model.\nOther programs used the cores too.\n\n"
    )
    return head + goals.header(["", ""]) + "".join(goals.line(cells) for cells in lines)


def _value(rows: Sequence[Row], task: str, what: str, setting: str = "") -> float:
    (row,) = [row for row in rows if (row.task, row.input, row.setting) == (task, what, setting)]
    return row.spread.median


def main() -> int:
    """Runs the load, or takes a report; writes the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="of load (default 10)")
    parser.add_argument("--report", type=Path, help="a report that the driver has printed, instead of a run")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "load.csv")
    options = parser.parse_args()
    report = json.loads(options.report.read_text()) if options.report else run(options.minutes)
    facts = {
        **environment(report["seconds"]),
        "load_seconds": f"{report['seconds']:.0f}",
        "requests_at_a_time": report["requests_at_a_time"],
        "saturation": 4,
    }
    results.write(options.output, facts, rows_of(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
