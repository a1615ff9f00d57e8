# SPDX-License-Identifier: Apache-2.0
"""Refuses parts of the C++ code that include each other. A part is a .h and its .cpp (or .cu) of the same name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from check_layers import ROOT, includes, sources

SUFFIXES = (".h", ".cpp", ".cu", ".cuh")
ROOTS = {"core": ("core", "core/include"), "plugin": ("plugin",), "python/bindings": ("python/bindings",)}


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


def cycles(edges: dict[str, set[str]]) -> Iterator[list[str]]:
    """Groups of parts that reach each other (Tarjan's strongly connected components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(part: str) -> None:
        index[part] = low[part] = len(index)
        stack.append(part)
        for other in sorted(edges.get(part, ())):
            if other not in index:
                visit(other)
            if other in stack:
                low[part] = min(low[part], low[other])
        if low[part] == index[part]:
            at = stack.index(part)
            group = stack[at:]
            del stack[at:]
            if len(group) > 1:
                found.append(sorted(group))

    for part in sorted(edges):
        if part not in index:
            visit(part)
    yield from found


def main() -> int:
    sys.setrecursionlimit(10_000)
    problems = [group for folder in ROOTS for group in cycles(graph(folder))]
    for group in problems:
        print(f"these include each other: {', '.join(group)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
