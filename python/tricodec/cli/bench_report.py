# SPDX-License-Identifier: Apache-2.0
"""The report of `tricodec bench` as text: environment, settings, figures, stages, warnings."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from tricodec.measure import bench
from tricodec.show import format_table

_WIDTH = 118
_FIGURES = (
    "threads", "batch", "concurrency", "rate", "queries", "queries_per_second", "frames_per_second",
    "megabytes_per_second", "ratio", "latency_mean_ms", *(f"latency_p{each:g}_ms" for each in bench.PERCENTILES),
    "latency_max_ms",
)  # fmt: skip


def print_settings(
    engine: bench.Engine, environment: Mapping[str, str], rules: bench.Rules, cases: Sequence[bench.Case]
) -> None:
    """Prints what is known before the first measurement."""
    _print_facts("Environment", environment)
    loads = "closed loop" if cases[0].load.rate is None else "constant rate"
    windows = (
        f"three windows, {rules.duration:g} s and {rules.iterations} queries or more, "
        f"after {rules.warm_up * 1000:g} ms; stable within {rules.stability:.0%}"
    )
    load = f"{loads}; number of cases: {len(cases)}"
    _print_facts("Settings", {**engine.settings, "clock": engine.scope, "load": load, "windows": windows})


def print_report(session: bench.Session) -> None:
    """Prints the figures of a session."""
    print("\n=== Summary")
    print(format_table(*_summary(session.results)))
    for line in _conclusions(session):
        print(line)
    _print_parts(session.results)
    warnings = [f"{_label(each)}: {text}" for each in session.results for text in each.figures.warnings(each.case.load)]
    if warnings:
        print("\n=== Warnings", *warnings, sep="\n")


def _print_facts(title: str, facts: Mapping[str, str]) -> None:
    print(f"=== {title}")
    width = max(map(len, facts))
    for name, value in facts.items():
        print("\n".join(textwrap.wrap(f"{name:{width}}  {value}", _WIDTH, subsequent_indent=" " * (width + 2))))


def _label(measured: bench.Measured) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in measured.case.values().items() if value)


def _summary(results: Sequence[bench.Measured]) -> tuple[list[str], list[list[object]]]:
    """Headings and rows. Times are in us if the shortest mean is below 1 ms."""
    flat = [bench.flat_result(each) for each in results]
    unit, factor = ("us", 1e3) if min(row["latency_mean_ms"] for row in flat) < 1 else ("ms", 1)
    columns: dict[str, list[object]] = {}
    for name in _FIGURES:
        heading = name.replace("_per_second", "/s").replace("megabytes", "MB")
        values = [row[name] or None for row in flat]
        if name.startswith("latency_"):
            heading = f"{name.split('_')[1]} {unit}"
            values = [value and value * factor for value in values]
        if any(values):
            columns[heading] = ["" if value is None else _rounded(value) for value in values]
    shares = [(f"{each.figures.difference:.1%}", each.figures.stable) for each in results]
    columns["windows differ"] = [share if stable else f"unstable ({share})" for share, stable in shares]
    return list(columns), [list(row) for row in zip(*columns.values(), strict=True)]


def _rounded(value: float) -> float | int:
    return int(value) if value == int(value) else float(f"{value:.4g}") if value < 1000 else round(value)


def _conclusions(session: bench.Session) -> Iterator[str]:
    fewest = min(each.figures.queries for each in session.results)
    lacking = [each for each in bench.PERCENTILES if bench.needed_values(each) > fewest]
    if lacking:
        yield f"p{lacking[0]:g} needs {bench.needed_values(lacking[0])} queries (--iterations); {fewest} were measured"
    for each in session.knees():
        others = "".join(f", {name} {value:g}" for name, value in each.others.items() if value)
        yield f"knee: {each.dimension} {each.value:g}{others}: the smallest with 90 % of the best throughput"
    threshold = session.threshold
    if threshold is not None:
        bound = f"p{threshold.percentile:g} within {threshold.milliseconds:g} ms"
        found = next((each for each in session.results if each.case == threshold.case), None)
        if found is None and not session.stable:
            yield f"{bound}: not known, because the figures of the lowest load are not stable"
        elif found is None:
            yield f"{bound}: not even at the lowest load"
        else:
            yield f"{bound}: up to {_label(found)}, {found.figures.queries_per_second:.4g} queries/s"


def _print_parts(results: Sequence[bench.Measured]) -> None:
    """Prints parts, stages and the server's times, in ms of a query."""
    rows: list[list[object]] = []
    for each in results:
        label = _label(each)
        for name, part in each.figures.parts.items():
            rows.append([label, name, "host", round(part.mean * 1e3, 4)])
        for name, stage in each.stages.items():
            rows.append([label, f"stage {name}", "host, all threads", round(stage["seconds"] * 1e3, 4)])
            if stage["gpu_seconds"]:
                rows.append([label, f"stage {name}", "CUDA events", round(stage["gpu_seconds"] * 1e3, 4)])
        for name, value in each.facts.items():
            rows.append([label, name.removesuffix("_seconds").replace("_", " "), "server", round(value * 1e3, 4)])
    if rows:
        print("\n=== Parts of a query, mean; stages are those of a further run with a Profiler")
        print(format_table(["case", "part", "clock", "ms"], rows))
