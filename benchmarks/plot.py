# SPDX-License-Identifier: Apache-2.0
"""Draws the chief clip's figures of a results file as SVG: each contender at each task.

python benchmarks/plot.py [RESULTS.json [PLOT.svg]]
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
from goals import Figures, against_all, better
from matplotlib.figure import Figure
from plan import CHIEF, TASKS

_RESULTS = Path(__file__).resolve().parent / "results" / "cpu.json"
_TITLES = {
    "yuv420p": "every frame as decoded",
    "nv12": "every frame as NV12",
    "rgb": "every frame as RGB uint8 HWC",
    "tensor_antialiased": "every frame as 224x224 float32 CHW, antialiased",
    "tensor_plain": "every frame as 224x224 float32 CHW, not antialiased",
    "random": "32 random frames as RGB",
    "every8th": "every 8th frame as RGB",
    "first": "open to first frame as RGB",
}
_OURS, _PEER, _GRID = "#0b6e4f", "#9aa5b1", "#d5dae0"


def _bars(figures: Figures, task: str, cores: int) -> list[tuple[str, float, str]]:
    """Each contender's best figure relative to the best peer's, best first, and in words."""
    contest, peer = against_all(task, CHIEF, cores), figures.peer(task, CHIEF, cores)
    if peer is None:
        return []
    unit = TASKS[task].unit
    bars = []
    for name in figures.contenders:
        best = figures.best(task, CHIEF, cores, [name])
        if best:
            ratios = figures.ratios(contest, name, peer.contender)  # of ours alone, where they ran beside that peer
            ratio = statistics.median(ratios) if ratios else better(unit, best.value, peer.value)
            bars.append((name, ratio, f"{best.value:.0f} {unit}"))
    return sorted(bars, key=lambda bar: bar[1], reverse=True)


def draw(content: Mapping[str, Any]) -> Figure:
    """A panel a task, bars for one core above those for two."""
    figures = Figures(content["cells"], content.get("pairs", ()))
    figure = Figure(figsize=(12, 11), layout="constrained")
    axes = figure.subplots(4, 2).ravel()
    for axis, task in zip(axes, _TITLES, strict=True):
        labels, values, colors = [], [], []
        for cores in (2, 1):
            for name, value, told in reversed(_bars(figures, task, cores)):
                axis.text(value, len(values), f" {told}", fontsize=6, va="center")
                labels.append(f"{name}, {cores} core{'s' * (cores > 1)}")
                values.append(value)
                colors.append(_OURS if name.startswith("tricodec") else _PEER)
        axis.barh(range(len(values)), values, color=colors, height=0.75)
        axis.set_yticks(range(len(values)), labels, fontsize=6)
        axis.axvline(1, color="black", linewidth=0.7)
        axis.set_title(_TITLES[task], fontsize=8, loc="left")
        axis.margins(x=0.12)
        axis.tick_params(axis="x", labelsize=7)
        axis.grid(axis="x", color=_GRID, linewidth=0.5)
        axis.set_axisbelow(True)
    figure.suptitle("H.264 1080p, speed relative to the best peer (1 = as fast; longer is faster)", fontsize=10)
    return figure


def main() -> None:
    results = Path(sys.argv[1]) if len(sys.argv) > 1 else _RESULTS
    plot = Path(sys.argv[2]) if len(sys.argv) > 2 else results.with_suffix(".svg")
    mpl.rcParams["svg.fonttype"] = "none"  # text stays text
    mpl.rcParams["font.sans-serif"] = ["DejaVu Sans"]  # not the whole list of substitutes in each text
    mpl.rcParams["svg.hashsalt"] = "tricodec"  # the same figures give the same file
    draw(json.loads(results.read_text())).savefig(plot, metadata={"Date": None})


if __name__ == "__main__":
    main()
