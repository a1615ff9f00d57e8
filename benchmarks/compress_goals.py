# SPDX-License-Identifier: Apache-2.0
"""tricodec's compression beside its goals (docs/benchmarks.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compress_peers import LIBRARY, LIBRARY_ALL, OURS, OURS_ALONE, REFERENCES

OF_LIBRARY = 0.95  # of cores x the C library's one thread, and of the library on all cores
OF_PEER = 1.0  # of the best peer's speed
EQUAL_RATIO = 0.98  # a peer's ratio that is at least this part of ours

#: What decides a goal about a contender, as ratios of tricodec's speed to its; of others it is not known who they are.
TARGETS: dict[str, Callable[[int], tuple[float, ...]]] = {
    LIBRARY: lambda cores: (OF_LIBRARY * cores,),
    LIBRARY_ALL: lambda cores: (OF_LIBRARY,),
}


def _pair(row: dict[str, Any] | None, way: str, clock: str = "wall") -> dict[str, Any] | None:
    """tricodec's speed as a multiple of a contender's, from the runs beside each other."""
    return None if row is None else row[f"{way}_{clock}_pairs"]


def _ratio(pair: dict[str, Any] | None, times: float = 1) -> float | None:
    return None if pair is None else round(pair["median"] / times, 3)


def _quartiles(pair: dict[str, Any] | None, times: float = 1) -> list[float] | None:
    return None if pair is None else [round(value / times, 3) for value in pair["quartiles"]]


def compared(rows: list[dict[str, Any]], cores: int) -> list[dict[str, Any]]:
    """An entry an algorithm, data set, chunk size and way.

    Each ratio is the median of those of runs beside each other, those judged with their quartiles. `of_library` is
    tricodec's speed / (cores x the C library's on one thread). Where the library itself, run on all cores at once, does
    not get that far (memory, or cores that share), `library_scaling` says so, and `of_library_all_cores` compares with
    that. `of_library_cpu` compares work, not time: seconds of all cores that the library's one thread needs / those
    that tricodec needs, and `of_library_all_cores_cpu` the same for the library on all cores, which share caches and
    memory as tricodec's do.
    """
    groups: dict[tuple[str, int, str], dict[str, dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["data"], row["chunk_bytes"], row["family"]), {})[row["contender"]] = row
    found = []
    for (data, chunk_bytes, family), group in groups.items():
        ours = group[OURS]
        library, everywhere = group.get(LIBRARY), group.get(LIBRARY_ALL)
        peers = [row for name, row in group.items() if name not in REFERENCES]
        equal = [row for row in peers if row["ratio"] >= EQUAL_RATIO * ours["ratio"]]
        for way in ("compress", "decompress"):
            best = min(equal, key=lambda row: row[f"{way}_wall_pairs"]["median"], default=None)
            one, every, peer = (_pair(row, way) for row in (library, everywhere, best))
            entry: dict[str, Any] = {
                "data": data,
                "chunk_bytes": chunk_bytes,
                "family": family,
                "way": way,
                "ours": ours[f"{way}_gbps"],
                "of_library": _ratio(one, cores),
                "of_library_quartiles": _quartiles(one, cores),
                "library_scaling": _ratio(one, cores * every["median"]) if one and every else None,
                "of_library_all_cores": _ratio(every),
                "of_library_all_cores_quartiles": _quartiles(every),
                "of_library_cpu": _ratio(_pair(library, way, "cpu")),
                "of_library_all_cores_cpu": _ratio(_pair(everywhere, way, "cpu")),
                "own_scaling": _ratio(_pair(group[OURS_ALONE], way), cores),
                "of_best_peer": _ratio(peer),
                "of_best_peer_quartiles": _quartiles(peer),
                "best_peer": best and best["contender"],
            }
            for goal, what, target in _GOALS:
                entry[goal] = entry[what] is None or entry[what] >= target
            found.append(entry)
    return found


_GOALS = (
    ("library_goal", "of_library", OF_LIBRARY),
    ("library_all_cores_goal", "of_library_all_cores", OF_LIBRARY),
    ("peer_goal", "of_best_peer", OF_PEER),
)


def told(goals: list[dict[str, Any]]) -> str:
    """How many goals are met, and a line for each that is not."""
    if not goals or "library_goal" not in goals[0]:
        return "\n".join(
            f"{goal['data']} {goal['batch']} {goal['family']} {goal['way']}: {goal['of_official']} of the official "
            f"package's, goal {goal['goal']}"
            for goal in goals
            if not goal["met"]
        )
    lines = []
    for name, what, _ in _GOALS:
        judged = [goal for goal in goals if goal[what] is not None]
        lines.append(f"{what}: {sum(goal[name] for goal in judged)} of {len(judged)} met")
        lines += [
            f"  {goal['data']:8} {goal['chunk_bytes']:8} {goal['family']:10} {goal['way']:10} {what} {goal[what]:.3f} "
            f"({goal[f'{what}_quartiles']}; library's scaling {goal['library_scaling']}, of it on all cores "
            f"{goal['of_library_all_cores']}, work {goal['of_library_cpu']}, on all cores "
            f"{goal['of_library_all_cores_cpu']}, own scaling {goal['own_scaling']}, "
            f"best peer {goal['best_peer']}, its library {goal.get('peer_library')})"
            for goal in judged
            if not goal[name]
        ]
    by_library = sum(goal.get("peer_goal_by_library", False) for goal in goals)
    lines.append(f"of_best_peer: {by_library} more would be met with the library that the package brings along")
    return "\n".join(lines)
