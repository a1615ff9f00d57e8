# SPDX-License-Identifier: Apache-2.0
"""What docs/gpu.md shows of benchmarks/results/gpu.json; benchmarks/table.py puts it there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CODECS = {"h264": "H.264", "hevc": "HEVC"}
_CELLS = {
    "one_decoder": "one decoder, packets from memory",
    "engines_7_decoders": "all engines: 7 decoders, packets from memory",
    "engines_14_decoders": "all engines: 14 decoders, packets from memory",
    "one_file_frames": "one file of 3,000 frames, frame by frame",
    "one_file_batches": "the same in batches of 32 to 224x224 float16 CHW",
    "one_file_tensor": "the same to one tensor of 224x224 float16 CHW",
    "one_file_cold": "one file of 3,000 frames, the first of the process",
    "engines_gop250": "all engines, a key frame every 250 frames",
    "engines_gop250_groups": "the same: 12 decoders, 250 frames each",
    "one_file_frames_gop250": "one file of 3,000 frames, a key frame every 250",
    "one_file_tensor_gop250": "the same to one tensor",
    "engines_2160p": "all engines, 3840x2160",
    "one_file_frames_2160p": "one file of 600 frames of 3840x2160",
    "one_file_tensor_2160p": "the same to one tensor",
    "8_files": "8 files of 3,000 frames at once",
    "16_files": "16 files of 3,000 frames at once",
    "64_files": "64 files of 1,500 frames or more at once",
    "64_files_of_300": "64 files of 300 frames at once",
    "short_clips": "clips of 10 frames, 14 at once",
}
_TASKS = {
    "one_file": "one file of 3,000 frames (tricodec's to 224x224 float16)",
    "21_files_of_3000": "21 files of 3,000 frames, a thread each",
    "28_files_of_300": "28 files of 300 frames, 14 threads",
    "1000_files_of_10": "1,000 clips of 10 frames, 14 threads",
    "first_frame": "first frame of a short clip, clips a second",
}
_CONTENDERS = {
    "tricodec": "tricodec",
    "tricodec-dali": "tricodec in DALI",
    "pynvvideocodec": "PyNvVideoCodec",
    "dali": "DALI",
}


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def _speed(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return ""
    if "median" in row:
        return f"{row['median']:,.0f}"
    if "at_most" not in row:
        return ""
    limit = f" (given up after {row['limit_s']:g} s)" if "limit_s" in row else ""
    return f"below {row['at_most']:,.0f}{limit}"


def speeds(content: Mapping[str, Any]) -> str:
    """Frames a second, and what they cost the host."""
    cells = {cell["name"]: cell for cell in content["cells"]}
    rows = []
    for name, words in _CELLS.items():
        found = [cells.get(f"{codec}.{name}") for codec in _CODECS]
        if not any(found):
            continue
        cost = [f"{cell['cpu_us_per_frame']:.0f}" if cell else "" for cell in found]
        rows.append([words, *(_speed(cell) for cell in found), *cost])
    header = ["", *_CODECS.values(), *(f"us of CPU a frame, {name}" for name in _CODECS.values())]
    return _facts(content) + "\n" + _table(header, rows)


def peers(content: Mapping[str, Any]) -> str:
    """Packages beside one another, the best way of each."""
    rows = []
    for task, words in _TASKS.items():
        for codec, codec_name in _CODECS.items():
            of_task = [row for row in content["contests"] if row["name"] == f"{codec}.{task}"]
            best = [
                max(
                    (row for row in of_task if row["contender"] == who),
                    key=lambda row: row.get("median", 0),
                    default=None,
                )
                for who in _CONTENDERS
            ]
            if any(best):
                rows.append([f"{words}, {codec_name}", *(_speed(row) for row in best)])
    return _table(["", *_CONTENDERS.values()], rows)


def goals(content: Mapping[str, Any]) -> str:
    """Each goal but the kernels' with its ratio; these are counted."""
    rows, kernels = [], []
    for goal in content["goals"]:
        if goal["name"].startswith("transform."):
            kernels.append(goal["pass"])
            continue
        target = "" if goal["target"] is None else f"{'>=' if goal['at_least'] else '<='} {goal['target']:g}"
        reached = "" if goal["target"] is None else "yes" if goal["pass"] else "**no**"
        if goal.get("of_limit") is not None:
            reached += f" (at most {goal['of_limit']:g})"
        rows.append([f"`{goal['name']}`", f"`{goal['of']}`", target, f"{goal['ratio']:g}", reached])
    count = (
        f"\nKernels of the Transform at 0.85 of a copy or more: {sum(kernels)} of {len(kernels)}.\n" if kernels else ""
    )
    return _table(["", "against", "goal", "ratio", "reached"], rows) + count


def transforms(content: Mapping[str, Any]) -> str:
    """The kernels' speed as a part of a copy's, by what they do and the results' type."""
    ratios: dict[str, dict[str, float]] = {}
    for case in content["transform"]["cases"]:
        source, *_ = case["name"].split("_")
        done, _, kind = case["transform"].rpartition(", ")
        dtype, layout = kind.split()
        size = "854x480" if "854x480" in case["name"] else "1080p"
        if "of_reader" in case["name"]:
            size += ", frames of a read"
        ratios.setdefault(f"{source} of {size}: {done}, {layout}", {})[dtype] = case["of_copy"]
    dtypes = list(dict.fromkeys(dtype for row in ratios.values() for dtype in row))
    rows = [[what, *(f"{row[dtype]:.2f}" if dtype in row else "" for dtype in dtypes)] for what, row in ratios.items()]
    return _table(["", *dtypes], rows)


def _facts(content: Mapping[str, Any]) -> str:
    machine = content["environment"]
    runs = content.get("runs") or [{**machine, "measured": []}]
    dates = sorted({run["date"][:10] for run in runs})
    rounds = [len(cell["rounds"]) for cell in content["cells"] if isinstance(cell["rounds"], list)]
    fewest = min(rounds, default=1)
    often = f"Medians of {fewest} rounds or more. " if fewest > 1 else ""
    latest = ", ".join(f"`{name}`" for run in runs[1:] for name in run["measured"])
    if latest:
        often += f"A later run of the same measurements gave {latest}. "
    note = f"{content['note']}\n" if content.get("note") else ""
    return f"{machine['gpu']}, driver {machine['driver']}, {', '.join(dates)}. {often}{note}".rstrip() + "\n"
