# SPDX-License-Identifier: Apache-2.0
"""Draws a results file of compression as SVG: ratio against speed.

python benchmarks/compress_plot.py [RESULTS.json [PLOT.svg]]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
from compress_peers import OURS, REFERENCES
from matplotlib.figure import Figure

_RESULTS = Path(__file__).resolve().parent / "results" / "compress.json"
_OURS, _PEER, _GRID = "#0b6e4f", "#9aa5b1", "#d5dae0"


def draw(content: Mapping[str, Any]) -> Figure:
    """A column a set of data, compression above decompression, in chunks of the smallest size measured."""
    rows = content["rows"]
    chunk_bytes = min(row["chunk_bytes"] for row in rows)
    names = sorted({row["data"] for row in rows})
    figure = Figure(figsize=(4.2 * len(names), 8), layout="constrained")
    panels = figure.subplots(2, len(names), squeeze=False)
    for way, line in zip(("compress", "decompress"), panels, strict=True):
        for name, panel in zip(names, line, strict=True):
            for row in rows:
                if row["data"] != name or row["chunk_bytes"] != chunk_bytes:
                    continue
                ours = row["contender"] == OURS
                if not ours and row["contender"] in REFERENCES:
                    continue
                speed = row[f"{way}_gbps"]
                panel.plot(speed, row["ratio"], "o" if ours else "x", color=_OURS if ours else _PEER, markersize=5)
                label = row["family"] if ours else row["contender"]
                panel.annotate(label, (speed, row["ratio"]), fontsize=6, color="black" if ours else _PEER,
                               textcoords="offset points", xytext=(4, 2))  # fmt: skip
            panel.set_xscale("log")
            panel.set_title(f"{name}: {way}ion", fontsize=9, loc="left")
            panel.set_xlabel("GB/s", fontsize=8)
            panel.set_ylabel("ratio", fontsize=8)
            panel.tick_params(labelsize=7)
            panel.grid(color=_GRID, linewidth=0.5)
            panel.set_axisbelow(True)
    figure.suptitle(f"chunks of {chunk_bytes >> 10} KiB, {content['environment']['cores']} cores; dots are tricodec",
                    fontsize=10)  # fmt: skip
    return figure


def save(content: Mapping[str, Any], path: Path) -> None:
    """Draws and writes; the same figures give the same file."""
    mpl.rcParams["svg.fonttype"] = "none"
    mpl.rcParams["font.sans-serif"] = ["DejaVu Sans"]
    mpl.rcParams["svg.hashsalt"] = "tricodec"
    draw(content).savefig(path, metadata={"Date": None})


def main() -> None:
    results = Path(sys.argv[1]) if len(sys.argv) > 1 else _RESULTS
    save(json.loads(results.read_text()), Path(sys.argv[2]) if len(sys.argv) > 2 else results.with_suffix(".svg"))


if __name__ == "__main__":
    main()
