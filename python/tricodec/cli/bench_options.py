# SPDX-License-Identifier: Apache-2.0
"""The options that every measurement of `tricodec bench` has. The words are trtexec's and perf_analyzer's."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tricodec.cli.shared import add_force
from tricodec.measure import bench


def _range_of(kind: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    def parse(text: str) -> list[Any]:
        try:
            return bench.parse_range(text, kind)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parse


def _percentile(text: str) -> float:
    try:
        bench.needed_values(float(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return float(text)


def _positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        message = f"{text} is not accepted; it must be more than 0"
        raise argparse.ArgumentTypeError(message)
    return value


def add_load(parser: argparse.ArgumentParser, *, threads: bool) -> None:
    """Adds the values of a sweep and the search within a latency."""
    group = parser.add_argument_group(
        "load", "RANGE is a number, a list (1,2,8) or FIRST:LAST:STEP (1:8, 1:8:2; 1:64:x2 doubles)"
    )
    group.add_argument("--batch", type=_range_of(int), default=[0], metavar="RANGE", help="frames or arrays of a query")
    if threads:
        group.add_argument(
            "--threads", type=_range_of(int), default=[0], metavar="RANGE",
            help="threads of each codec; for reading a file, its decoders (default: chosen by the codec)",
        )  # fmt: skip
    loads = group.add_mutually_exclusive_group()
    loads.add_argument(
        "--concurrency", "--streams", type=_range_of(int), default=[1], metavar="RANGE",
        help="queries in flight at a time, each in a thread and context of its own (default 1)",
    )  # fmt: skip
    loads.add_argument(
        "--request-rate", type=_range_of(float), default=[], metavar="RANGE",
        help="queries per second, started at scheduled times whether others have ended or not",
    )  # fmt: skip
    group.add_argument(
        "--max-threads", type=int, default=16, metavar="N", help="queries in flight at most, with a rate (default 16)"
    )
    group.add_argument(
        "--latency-threshold", type=_positive, metavar="MS",
        help="find the highest load of the range with the percentile of the latency within this bound, by bisection",
    )  # fmt: skip
    group.add_argument(
        "--percentile", type=_percentile, default=99.0, metavar="P", help="percentile of the threshold (default 99)"
    )


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Adds how long to measure."""
    rules = bench.Rules()
    group = parser.add_argument_group("duration", "three windows are measured, and more until the last three agree")
    group.add_argument(
        "--duration", type=float, default=rules.duration, metavar="S", help="seconds of three windows (default 3)"
    )
    group.add_argument(
        "--warm-up", type=float, default=rules.warm_up * 1000, metavar="MS", help="time before them (default 200)"
    )
    group.add_argument(
        "--iterations", type=int, default=rules.iterations, metavar="N", help="least queries in them (default 10)"
    )
    group.add_argument(
        "--stability-percentage", type=float, default=rules.stability * 100, metavar="P",
        help="how far three windows may differ in throughput and mean latency (default 10)",
    )  # fmt: skip
    group.add_argument(
        "--max-trials", type=int, default=rules.max_trials, metavar="N", help="windows at most (default 10)"
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """Adds the file of the report."""
    group = parser.add_argument_group("report")
    group.add_argument("--csv", type=Path, metavar="FILE", help="a line for each case")
    add_force(group)


def rules_of(options: argparse.Namespace) -> bench.Rules:
    """The rules that the options describe.

    Raises:
        ValueError: a value is out of its range.
    """
    return bench.Rules(
        warm_up=options.warm_up / 1000, duration=options.duration, iterations=options.iterations,
        stability=options.stability_percentage / 100, max_trials=options.max_trials,
    )  # fmt: skip


def sweep_of(options: argparse.Namespace) -> bench.Sweep:
    """The sweep that the options describe."""
    sweep = bench.Sweep(
        batch=options.batch, concurrency=options.concurrency, rates=options.request_rate,
        max_threads=options.max_threads,
    )  # fmt: skip
    return dataclasses.replace(sweep, threads=options.threads) if hasattr(options, "threads") else sweep


def chosen(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """The options of these names that have a value."""
    return {name: value for name in names if (value := getattr(options, name)) is not None}
