# SPDX-License-Identifier: Apache-2.0
"""The results of a session as JSON and CSV, and the machine and the software that they are of."""

from __future__ import annotations

import contextlib
import csv
import datetime
import io
import math
import os
import platform
import re
from collections.abc import Mapping
from typing import Any

import tricodec
from tricodec._tricodec import gpu_facts
from tricodec.measure.bench._figures import Distribution
from tricodec.measure.bench._session import Case, Engine, Measured, Session
from tricodec.video.cores import num_cores, processor

SCHEMA = 1
"""The version of the JSON: a change of the meaning of a field raises it."""
_PACKAGES = re.compile(r"nvidia-(lib)?nvcomp-cu\d+|nvidia-dali-cuda\d+|tritonclient")


def case_values(case: Case) -> dict[str, float | None]:
    """The values of a case by the names of CSV's columns."""
    load = case.load
    return {"threads": case.threads, "batch": case.batch, "concurrency": load.concurrency, "rate": load.rate}


def flat_result(measured: Measured) -> dict[str, Any]:
    """The figures of a case in one level: times in ms, rates in units per second, 10^6 bytes per second."""
    figures = measured.figures
    return {
        **case_values(measured.case),
        "stable": figures.stable,
        "difference": figures.difference if math.isfinite(figures.difference) else None,
        "queries": figures.queries,
        "seconds": figures.seconds,
        "queries_per_second": figures.queries_per_second,
        "frames_per_second": figures.frames_per_second,
        "megabytes_per_second": figures.megabytes_per_second,
        "ratio": figures.ratio,
        **{f"latency_{name}_ms": value for name, value in _milliseconds(figures.latency).items()},
    }


def session_json(engine: Engine, session: Session, environment: Mapping[str, str]) -> dict[str, Any]:
    """The whole report of a session with results, and of the environment before it."""
    threshold = session.threshold
    return {
        "schema": SCHEMA,
        "command": engine.name,
        "environment": dict(environment),
        "settings": engine.settings,
        "scope": engine.scope,
        "stable": session.stable,
        "results": [_full_result(each) for each in session.results],
        "knees": [{"dimension": each.dimension, "value": each.value, **each.others} for each in session.knees()],
        "threshold": threshold
        and {
            "latency_ms": threshold.milliseconds,
            "percentile": threshold.percentile,
            "highest_load": threshold.case and case_values(threshold.case),
        },
    }


def session_csv(session: Session) -> str:
    """A line for each case, ordered by throughput as perf_analyzer orders them."""
    rows = [flat_result(each) for each in session.results]
    rows.sort(key=lambda row: row["queries_per_second"])
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _full_result(measured: Measured) -> dict[str, Any]:
    figures = measured.figures
    return {
        **flat_result(measured),
        "warm_up_queries": figures.warm_up_queries,
        "trials": figures.trials,
        "window_queries_per_second": list(figures.window_throughputs),
        "delayed_queries": figures.delayed,
        "parts_ms": {name: _milliseconds(part) for name, part in figures.parts.items()},
        "stages_per_query": measured.stages,
        **measured.facts,
        "warnings": figures.warnings(measured.case.load),
        "latencies_ms": [latency * 1000 for latency in measured.latencies],
    }


def _milliseconds(values: Distribution) -> dict[str, float | None]:
    named = {
        "min": values.minimum, "mean": values.mean, "median": values.median, "max": values.maximum,
        "deviation": values.deviation, **{f"p{each:g}": value for each, value in values.percentiles.items()},
    }  # fmt: skip
    return {name: None if value is None else value * 1000 for name, value in named.items()}


def libraries() -> dict[str, str]:
    """Versions by name: Python, numpy, tricodec and its libraries, and installed packages that it uses."""
    from importlib import metadata

    import numpy as np

    own = {"python": platform.python_version(), "numpy": np.__version__, "tricodec": tricodec.__version__}
    built = dict(line.split(": ", 1) for line in tricodec.build_info().splitlines())
    used = {each.name: each.version for each in metadata.distributions() if _PACKAGES.fullmatch(each.name or "")}
    return {**own, **built, **used}


def environment() -> dict[str, str]:
    """Facts of this machine and its software, by name; a machine without a GPU has no facts of one."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    facts = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "cpu": processor(),
        "cores": str(num_cores()),
        "load average": f"{os.getloadavg()[0]:.2f}",
        "memory": f"{memory / 1e9:.1f} GB",
        "kernel": platform.release(),
    }
    with contextlib.suppress(tricodec.DeviceError):
        facts |= gpu_facts(0)
    return facts | {"libraries": ", ".join(f"{name} {version}" for name, version in libraries().items())}
