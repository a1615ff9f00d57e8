# SPDX-License-Identifier: Apache-2.0
"""The report of `tricodec bench` as text: environment, settings, figures, stages, warnings, one line of JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tricodec.measure import bench
from tricodec.show.tables import format_table

_WIDTH = 118


def print_settings(
    engine: bench.Engine, environment: Mapping[str, str], rules: bench.Rules, sweep: bench.Sweep
) -> None:
    """Prints what is known before the first measurement."""
    _print_facts("Environment", environment)
    loads = "constant rate" if sweep.rates else "closed loop"
    windows = (
        f"three windows, {rules.duration:g} s and {rules.iterations} queries or more, "
        f"after {rules.warm_up * 1000:g} ms; stable within {rules.stability:.0%}"
    )
    facts = {
        **engine.settings,
        "clock": engine.scope,
        "load": f"{loads}; number of cases: {len(sweep.cases())}",
        "windows": windows,
    }
    _print_facts("Settings", facts)


def print_report(engine: bench.Engine, session: bench.Session) -> None:
    """Prints the figures of a session."""
    print("\n=== Summary")
    print(format_table(*_summary(session.results)))
    for line in _conclusions(session):
        print(line)
    _print_parts(session.results)
    warnings = [(_label(each), text) for each in session.results for text in each.figures.warnings(each.case.load)]
    if warnings:
        print("\n=== Warnings")
        for label, text in warnings:
            print(f"{label}: {text}")
    print(f"\nresult: {json.dumps(_headline(engine, session))}")


def _print_facts(title: str, facts: Mapping[str, str]) -> None:
    print(f"=== {title}")
    width = max(map(len, facts))
    for name, value in facts.items():
        print("\n".join(textwrap.wrap(f"{name:{width}}  {value}", _WIDTH, subsequent_indent=" " * (width + 2))))


def _label(measured: bench.Measured) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in measured.case.values().items() if value)


def _summary(results: Sequence[bench.Measured]) -> tuple[list[str], list[list[object]]]:
    """Headings and rows. Times are in us if the shortest mean is below 1 ms."""
    unit, factor = ("us", 1e6) if min(each.figures.latency.mean for each in results) < 1e-3 else ("ms", 1e3)
    columns: list[tuple[str, list[float | None]]] = [
        (name, [each.case.values().get(name) or None for each in results])
        for name in ("threads", "batch", "concurrency", "rate")
    ]
    columns += [
        ("queries", [each.figures.queries for each in results]),
        ("queries/s", [each.figures.queries_per_second for each in results]),
        ("frames/s", [each.figures.frames_per_second or None for each in results]),
        ("MB/s", [each.figures.megabytes_per_second or None for each in results]),
        ("ratio", [each.figures.ratio for each in results]),
        (f"mean {unit}", [each.figures.latency.mean * factor for each in results]),
    ]
    for percentile in bench.PERCENTILES:
        found = [each.figures.latency.percentiles[percentile] for each in results]
        columns.append((f"p{percentile:g} {unit}", [None if each is None else each * factor for each in found]))
    columns.append((f"max {unit}", [each.figures.latency.maximum * factor for each in results]))
    shown = [(name, values) for name, values in columns if any(value is not None for value in values)]
    rows: list[list[object]] = [
        [*("" if values[number] is None else _rounded(values[number]) for _, values in shown), _stability(each)]
        for number, each in enumerate(results)
    ]
    return [*(name for name, _ in shown), "windows differ"], rows


def _rounded(value: float | None) -> float | int:
    assert value is not None
    return int(value) if value == int(value) else float(f"{value:.4g}") if value < 1000 else round(value)


def _stability(measured: bench.Measured) -> str:
    share = f"{measured.figures.difference:.1%}"
    return share if measured.figures.stable else f"unstable ({share})"


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


def _headline(engine: bench.Engine, session: bench.Session) -> dict[str, Any]:
    """The case of the search, or the one with the best throughput, of the stable ones if there are any."""
    wanted = [each for each in session.results if session.threshold and each.case == session.threshold.case]
    stable = [each for each in session.results if each.figures.stable]
    best = max(wanted or stable or session.results, key=lambda each: each.figures.throughput)
    return {"command": engine.name, **bench.flat_result(best)}
