# SPDX-License-Identifier: Apache-2.0
"""The results of a session as one page of HTML with plots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tricodec._display.html import head, picture, table
from tricodec.bench._plots import MARKERS, new_figure, to_png
from tricodec.bench._results import flat_result
from tricodec.bench._session import Engine, Measured, Session
from tricodec.bench._statistics import PERCENTILES

_MOST_LABELS = 20
_DIMENSIONS = {"threads": "threads", "batch": "batch", "concurrency": "queries in flight", "rate": "queries/s asked"}


def session_page(engine: Engine, session: Session, environment: Mapping[str, str]) -> str:
    """A page that needs no other file: environment, settings, a table, plots of throughput and latency.

    Args:
        engine: the engine of the session.
        session: a session with results.
        environment: of `environment`, from before the session.

    Raises:
        ImportError: matplotlib is not installed.
    """
    rows = [{name: _cell(value) for name, value in flat_result(each).items()} for each in session.results]
    shown = [name for name in rows[0] if any(row[name] for row in rows)]
    knees = [f"{each.dimension} {each.value:g}" for each in session.knees()]
    settings = {**engine.settings, "scope": engine.scope} | ({"knee": ", ".join(knees)} if knees else {})
    parts = [
        head(f"tricodec bench {engine.name}", f"tricodec bench {engine.name}"),
        table(("", ""), [*environment.items(), *settings.items()]),
        "<h2>Results</h2>",
        table(shown, [[row[name] for name in shown] for row in rows]),
        *(picture(_plot_sweep(session, name), f"Throughput and latency by {name}") for name in _swept(session)),
        picture(_plot_latencies(session.results), "Latencies"),
        "<h2>Warnings</h2>",
        table(("case", "warning"), _warnings(session)),
    ]
    return "\n".join(parts) + "\n"


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _label(measured: Measured) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in measured.case.values().items() if value)


def _warnings(session: Session) -> list[tuple[str, str]]:
    found = [(_label(each), text) for each in session.results for text in each.figures.warnings(each.case.load)]
    return found or [("all", "none")]


def _swept(session: Session) -> list[str]:
    """The dimensions with several values."""
    return [
        name
        for name in _DIMENSIONS
        if len({each.case.values()[name] for each in session.results if name in each.case.values()}) > 1
    ]


def _plot_sweep(session: Session, name: str) -> bytes:
    figure, axes = new_figure(1, 2, [9.6, 4.0])
    groups: dict[str, list[Measured]] = {}
    for each in session.results:
        others = [f"{other} {value:g}" for other, value in each.case.values().items() if other != name and value]
        groups.setdefault(", ".join(others), []).append(each)
    for number, (label, group) in enumerate(groups.items()):
        group.sort(key=lambda each: each.case.values()[name])
        values = [each.case.values()[name] for each in group]
        style = {"marker": MARKERS[number % len(MARKERS)], "color": f"C{number}"}
        axes[0].plot(values, [each.figures.throughput for each in group], label=label, **style)
        medians = [each.figures.latency.median * 1000 for each in group]
        axes[1].plot(values, medians, label=", ".join(filter(None, (label, "median"))), **style)
        tail = [each.figures.latency.percentiles[99.0] or each.figures.latency.maximum for each in group]
        axes[1].plot(values, [each * 1000 for each in tail], linestyle=":", **style)
    first = session.results[0].figures
    axes[0].set_ylabel("frames/s" if first.frames else "MB/s" if first.uncompressed_bytes else "queries/s")
    axes[1].set_ylabel("latency [ms]")
    axes[1].set_title("dotted: p99, or the largest of few queries", fontsize="medium")
    for axis in axes:
        axis.set_xlabel(_DIMENSIONS[name])
        axis.set_ylim(bottom=0)
        axis.grid(axis="both")
        axis.legend()
    return to_png(figure)


def _plot_latencies(results: list[Measured]) -> bytes:
    """The latencies of each case in the order of their ends, and the share of queries below a latency."""
    figure, axes = new_figure(1, 2, [9.6, 4.0])
    for measured in results:
        latencies = [latency * 1000 for latency in measured.latencies]
        axes[0].plot(latencies, linewidth=0.8, label=_label(measured))
        shares = [(number + 1) / len(latencies) * 100 for number in range(len(latencies))]
        axes[1].plot(sorted(latencies), shares, label=_label(measured))
    axes[0].set_xlabel("query")
    axes[0].set_ylabel("latency [ms]")
    axes[0].set_ylim(bottom=0)
    axes[0].set_title("in the order of their ends", fontsize="medium")
    axes[1].set_xlabel("latency [ms]")
    axes[1].set_ylabel("share of queries at or below [%]")
    axes[1].set_yticks([0, *(each for each in PERCENTILES if each < 99), 100])
    for axis in axes:
        axis.grid(axis="both")
    if len(results) <= _MOST_LABELS:
        axes[1].legend(fontsize="x-small")
    return to_png(figure)
