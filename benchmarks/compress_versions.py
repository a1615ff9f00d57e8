# SPDX-License-Identifier: Apache-2.0
"""What of a goal missed against a package is the newer library that the package brings along (docs/benchmarks.md)."""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from compress_goals import OF_PEER
from compress_library import CLibrary
from compress_peers import FAMILIES, Contender, Family, Library, alone

# Packages whose extension module exports the C library in it: the module, and what the library is for a family.
_MODULES = {
    "deflate": "deflate._deflate",
    "isal": "isal.igzip_lib",
    "zstandard": "zstandard._cffi",
    "python-lz4": "lz4.block._block",
}
_ROUNDS = 7


class _Bare(Library):
    """A C library on one thread, perhaps another build of it than the system's."""

    def __init__(self, name: str, level: int, data: np.ndarray, chunk_bytes: int, file: str = "") -> None:
        self.name = file or name
        self._data = data
        self._library = CLibrary(name, level, data, chunk_bytes, 1, file)


def _file_of(peer: str) -> str:
    try:
        spec = importlib.util.find_spec(_MODULES.get(peer, ""))
    except (ImportError, ValueError):
        return ""
    return (spec.origin or "") if spec else ""


def _library_of(peer: str, family: Family) -> tuple[str, int] | None:
    kind, _, strength = family.name.partition(" ")
    gzip = " gzip" * (kind == "Gzip")
    if peer == "deflate" and kind in ("Deflate", "Gzip"):
        return f"libdeflate{gzip}", {"1": 1, "4": 7}[strength]
    if peer == "isal" and strength == "1":
        return f"ISA-L{gzip}", 1
    return (family.library, family.level) if peer in ("zstandard", "python-lz4") else None


def _pair(
    peer: str, family: Family, way: str, data: np.ndarray, chunk_bytes: int
) -> tuple[str, Contender, Contender] | None:
    """How they are compared, the library that tricodec is linked with, and the peer's."""
    linked = _Bare(family.library, family.level, data, chunk_bytes)
    file = _file_of(peer)
    found = _library_of(peer, family)
    # ISA-L's decompression is not measured bare: where isal is the fastest there, its calls are.
    if file and found and not (peer == "isal" and way == "decompress"):
        try:
            return "library", linked, _Bare(*found, data, chunk_bytes, file)
        except LookupError:
            pass
    calls = alone(peer, family, data, chunk_bytes)
    return ("calls", linked, calls) if calls else None


def _cpu_seconds(work: Callable[[], None]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def explain(goals: list[dict[str, Any]], datas: Callable[[str, Family], np.ndarray], seconds: float) -> None:
    """Adds three fields to each goal that is missed against a package.

    `peer_library`: speed of the package's library / of the one that tricodec is linked with, on one thread, in CPU time
    and in turns, the median of the rounds' ratios. `peer_library_by`: "library" where both libraries were called bare;
    "calls" where the package hides its own, whose calls are then timed with what they add: at least so much faster is
    the library. `peer_goal_by_library`: whether the goal were met if both had the same library.
    """
    families = {family.name: family for family in FAMILIES}
    missed = [goal for goal in goals if not goal["peer_goal"]]
    started = time.monotonic()
    for index, goal in enumerate(missed):
        family = families[goal["family"]]
        pair = _pair(goal["best_peer"], family, goal["way"], datas(goal["data"], family), goal["chunk_bytes"])
        if pair is None:
            continue
        by, linked, theirs = pair
        for contender in (linked, theirs):
            contender.compress()
            contender.check()
        ratios: list[float] = []
        deadline = started + seconds * (index + 1) / len(missed)
        while len(ratios) < _ROUNDS and (len(ratios) < 2 or time.monotonic() < deadline):
            ratios.append(_cpu_seconds(getattr(linked, goal["way"])) / _cpu_seconds(getattr(theirs, goal["way"])))
        goal["peer_library"] = round(statistics.median(ratios), 3)
        goal["peer_library_by"] = by
        goal["peer_goal_by_library"] = goal["of_best_peer"] * goal["peer_library"] >= OF_PEER
