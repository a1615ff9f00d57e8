# SPDX-License-Identifier: Apache-2.0
"""tricodec's compression beside its goals (docs/benchmarks.md)."""

from __future__ import annotations

from typing import Any

from compress_peers import LIBRARY, LIBRARY_ALL, OURS, OURS_ALONE, REFERENCES

OF_LIBRARY = 0.95  # of cores x the C library's one thread
OF_PEER = 1.0  # of the best peer's speed
EQUAL_RATIO = 0.98  # a peer's ratio that is at least this part of ours


def _ratio(ours: float, theirs: float | None) -> float | None:
    return round(ours / theirs, 3) if theirs else None


def compared(rows: list[dict[str, Any]], cores: int) -> list[dict[str, Any]]:
    """An entry an algorithm, data set, chunk size and way.

    `of_library` is tricodec's speed / (cores x the C library's on one thread). Where the library itself, run on all
    cores at once, does not get that far (memory, or cores that share), `library_scaling` says so. `of_library_cpu`
    compares work, not time: seconds of all cores that the library's one thread needs / those that tricodec needs, and
    `of_library_all_cores_cpu` the same for the library on all cores, which share caches and memory as tricodec's do.
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
            wall, cpu = f"{way}_gbps", f"{way}_gb_per_cpu_second"
            best = max(equal, key=lambda row: row[wall], default=None)
            entry: dict[str, Any] = {
                "data": data,
                "chunk_bytes": chunk_bytes,
                "family": family,
                "way": way,
                "ours": ours[wall],
                "of_library": _ratio(ours[wall], library and library[wall] * cores),
                "library_scaling": _ratio(everywhere[wall], library[wall] * cores) if library and everywhere else None,
                "of_library_all_cores": _ratio(ours[wall], everywhere and everywhere[wall]),
                "of_library_cpu": _ratio(ours[cpu], library and library[cpu]),
                "of_library_all_cores_cpu": _ratio(ours[cpu], everywhere and everywhere[cpu]),
                "own_scaling": _ratio(ours[wall], group[OURS_ALONE][wall] * cores),
                "of_best_peer": _ratio(ours[wall], best and best[wall]),
                "best_peer": best and best["contender"],
            }
            entry["library_goal"] = entry["of_library"] is None or entry["of_library"] >= OF_LIBRARY
            entry["peer_goal"] = entry["of_best_peer"] is None or entry["of_best_peer"] >= OF_PEER
            found.append(entry)
    return found


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
    for name, what in (("library_goal", "of_library"), ("peer_goal", "of_best_peer")):
        judged = [goal for goal in goals if goal[what] is not None]
        lines.append(f"{what}: {sum(goal[name] for goal in judged)} of {len(judged)} met")
        lines += [
            f"  {goal['data']:8} {goal['chunk_bytes']:8} {goal['family']:10} {goal['way']:10} {what} {goal[what]:.3f} "
            f"(library's scaling {goal['library_scaling']}, of it on all cores {goal['of_library_all_cores']}, "
            f"work {goal['of_library_cpu']}, on all cores {goal['of_library_all_cores_cpu']}, own scaling "
            f"{goal['own_scaling']}, best peer {goal['best_peer']}, its library {goal.get('peer_library')})"
            for goal in judged
            if not goal[name]
        ]
    by_library = sum(goal.get("peer_goal_by_library", False) for goal in goals)
    lines.append(f"of_best_peer: {by_library} more would be met with the library that the package brings along")
    return "\n".join(lines)
