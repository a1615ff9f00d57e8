# SPDX-License-Identifier: Apache-2.0
"""Refuses parts of the C++ code that include each other, and layers of the core with too many of them.

A part is a .h and its .cpp (or .cu) of the same name. The levels of a layer are the parts of the longest chain of
includes inside of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from check_layers import ROOT, includes, sources

SUFFIXES = (".h", ".cpp", ".cu", ".cuh")
ROOTS = {"core": ("core", "core/include"), "plugin": ("plugin",), "python/bindings": ("python/bindings",)}

LAYERS = ("io", "bitstream", "container", "selection", "index", "decode", "encode", "read")
MOST_PARTS = 20
MOST_LEVELS = 6
"""Of each of the layers, which were one until a reader could not tell what a read needs."""


def part_of(path: Path) -> str:
    """The path without its ending."""
    return path.relative_to(ROOT).with_suffix("").as_posix()


def graph(folder: str) -> dict[str, set[str]]:
    """The parts of a folder and those that each includes."""
    roots = [ROOT / root for root in ROOTS[folder]]
    edges: dict[str, set[str]] = {}
    for path in sources(folder, *SUFFIXES):
        part = part_of(path)
        mine = edges.setdefault(part, set())
        for _, _, name in includes(path):
            found = next((base / name for base in (path.parent, *roots) if (base / name).is_file()), None)
            if found is not None and (other := part_of(found.resolve())) != part:
                mine.add(other)
    return edges


def cycles(edges: dict[str, set[str]]) -> Iterator[str]:
    """The first circle of parts that include each other, if there is one."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        yield f"these include each other: {', '.join(error.args[1])}"


def longest_chain(edges: dict[str, set[str]]) -> list[str]:
    """The parts of the longest chain of includes, from the one that includes; `edges` have no cycle."""
    chains: dict[str, list[str]] = {}

    def chain(part: str) -> list[str]:
        if part not in chains:
            below = max((chain(other) for other in sorted(edges[part])), key=len, default=[])
            chains[part] = [part, *below]
        return chains[part]

    return max((chain(part) for part in sorted(edges)), key=len, default=[])


def too_deep(edges: dict[str, set[str]]) -> Iterator[str]:
    """What is too much of the layers of the core."""
    for layer in LAYERS:
        parts = {part for part in edges if part.startswith(f"core/{layer}/")}
        if len(parts) > MOST_PARTS:
            yield f"core/{layer} has {len(parts)} parts; at most {MOST_PARTS} are allowed"
        chain = longest_chain({part: edges[part] & parts for part in parts})
        if len(chain) > MOST_LEVELS:
            levels = " -> ".join(part.removeprefix(f"core/{layer}/") for part in chain)
            yield f"core/{layer} has {len(chain)} levels of includes; at most {MOST_LEVELS} are allowed: {levels}"


def main() -> int:
    graphs = {folder: graph(folder) for folder in ROOTS}
    problems = [problem for edges in graphs.values() for problem in cycles(edges)] or list(too_deep(graphs["core"]))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
