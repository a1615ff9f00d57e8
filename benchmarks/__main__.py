# SPDX-License-Identifier: Apache-2.0
"""Measures a suite: python -m benchmarks SUITE [--device cuda] [--quick] ..."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks import results, suite, table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="tricodec beside its peers")
    parser.add_argument("suite", choices=suite.SUITES)
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu", help="for compress, node and node_use (default cpu)"
    )
    parser.add_argument("--rounds", type=int, help="runs of each case (default 3, with --quick 1)")
    parser.add_argument("--quick", action="store_true", help="few cases; writes only with --output")
    for name in ("task", "input", "contender"):
        parser.add_argument(f"--{name}", nargs="+", metavar="NAME", help=f"only the cases with this {name}")
    parser.add_argument("--output", type=Path, help="the results file (default: that of benchmarks/results)")
    options = parser.parse_args()
    if options.device == "cuda" and options.suite not in ("compress", "node", "node_use"):
        parser.error("--device cuda is for compress, node and node_use; files on a GPU are the suite gpu")
    chosen = suite.load(options.suite)
    cases = chosen.cases(suite.Options(options.device, options.quick))
    for name in ("task", "input", "contender"):
        wanted = getattr(options, name)
        cases = [case for case in cases if not wanted or getattr(case, name) in wanted]
    if not cases:
        parser.error("no case has these names")
    start = time.monotonic()
    facts = chosen.facts(cases)
    rows = suite.measure(options.suite, cases, options.rounds or (1 if options.quick else 3))
    partial = options.quick or options.task or options.input or options.contender
    kept = results.FOLDER / f"{options.suite}{'_gpu' * (options.device == 'cuda')}.csv"
    output = options.output or (None if partial else kept)
    if output is not None:
        results.write(output, {**results.facts(time.monotonic() - start), **facts}, rows)
        print(f"wrote {output}")
    if output == kept:
        table.rewrite()
    return int(any(row.value is None and row.contender.startswith("tricodec") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
