# SPDX-License-Identifier: Apache-2.0
"""Draws a results file of compression as SVG: ratio against speed.

python -m benchmarks.compress.plot PLOT.svg [RESULTS.csv]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks import results
from benchmarks.compress.goals import OURS, REFERENCES
from benchmarks.results import Row

_OURS, _PEER, _GRID = "#0b6e4f", "#9aa5b1", "#d5dae0"


def draw(rows: Sequence[Row]) -> Figure:
    """A column a set of data, compression above decompression, in the first chunk size of the file."""
    setting = rows[0].setting
    names = sorted({row.input for row in rows})
    figure = Figure(figsize=(4.2 * len(names), 8), layout="constrained")
    panels = figure.subplots(2, len(names), squeeze=False)
    for way, line in zip(("compress", "decompress"), panels, strict=True):
        for name, panel in zip(names, line, strict=True):
            for row in rows:
                ours = row.contender == OURS
                done, _, family = row.task.partition(" ")
                if (done, row.input, row.setting, row.against) != (way, name, setting, ""):
                    continue
                if not ours and row.contender in REFERENCES:
                    continue
                color = _OURS if ours else _PEER
                panel.plot(row.value, row.ratio, "o" if ours else "x", color=color, markersize=5)
                panel.annotate(family if ours else row.contender, (row.value, row.ratio), fontsize=6,
                               color="black" if ours else _PEER, textcoords="offset points",
                               xytext=(4, 2))  # fmt: skip
            panel.set_xscale("log")
            panel.set_title(f"{name}: {way}ion", fontsize=9, loc="left")
            panel.set_xlabel("GB/s", fontsize=8)
            panel.set_ylabel("ratio", fontsize=8)
            panel.tick_params(labelsize=7)
            panel.grid(color=_GRID, linewidth=0.5)
            panel.set_axisbelow(True)
    figure.suptitle(f"{setting}; dots are tricodec", fontsize=10)
    return figure


def main() -> None:
    plot, *more = map(Path, sys.argv[1:])
    _, rows = results.read(more[0] if more else results.FOLDER / "compress.csv")
    mpl.rcParams["svg.fonttype"] = "none"
    mpl.rcParams["font.sans-serif"] = ["DejaVu Sans"]
    draw(rows).savefig(plot)


if __name__ == "__main__":
    main()
