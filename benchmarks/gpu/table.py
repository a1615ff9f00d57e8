# SPDX-License-Identifier: Apache-2.0
"""What docs/howto/check_gpu.md shows of benchmarks/results/gpu.csv; benchmarks/table.py puts it there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.goals import counted, header, line
from benchmarks.goals import table as table_of_goals
from benchmarks.gpu.goals import CODECS, Figures, goals_of
from benchmarks.results import Row

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
    "first_frame": "first frame of a short clip, clips a second",
}
_CONTENDERS = {
    "tricodec": "tricodec",
    "tricodec-dali": "tricodec in DALI",
    "pynvvideocodec": "PyNvVideoCodec",
    "dali": "DALI",
}


def _best(figures: Figures, task: str, contender: str = "tricodec") -> Row | None:
    rows = figures.all(task, contender)
    return max(rows, key=lambda row: row.value or 0.0, default=None)


def _speed(row: Row | None) -> str:
    if row is None:
        return ""
    if row.value is not None:
        return f"{row.value:,.0f}"
    return f"below {row.high:,.0f} (given up)" if row.high is not None else ""


def speeds(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """Frames a second, and what they cost the host."""
    codecs = [Figures(codec, rows) for codec in CODECS]
    lines = [header(["", *CODECS.values(), *(f"us of CPU a frame, {name}" for name in CODECS.values())])]
    for name, words in _CELLS.items():
        found = [_best(figures, name) for figures in codecs]
        if any(found):
            cost = [f"{row.cpu_ms * 1e3:.0f}" if row and row.cpu_ms else "" for row in found]
            lines.append(line([words, *map(_speed, found), *cost]))
    dates = sorted({value[:10] for name, value in facts.items() if name.startswith("measured ")})
    source = f"{facts['gpu']}, driver {facts['driver']}, {', '.join(dates or [facts['date'][:10]])}."
    return f"{source} Medians of the rounds that gpu.csv names.\n\n{''.join(lines)}"


def peers(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """Packages beside one another, the best way of each."""
    del facts
    lines = [header(["", *_CONTENDERS.values()])]
    for task, words in _TASKS.items():
        for codec, codec_name in CODECS.items():
            best = [_best(Figures(codec, rows), task, contender) for contender in _CONTENDERS]
            if any(best):
                lines.append(line([f"{words}, {codec_name}", *map(_speed, best)]))
    return "".join(lines)


def goals(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """Each goal with its ratio."""
    found = goals_of(facts, rows)
    return f"{table_of_goals(found)}\n{counted(found)}.\n"


def transforms(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """Microseconds a frame of each kernel, by what it does and the results' type."""
    del facts
    times: dict[str, dict[str, str]] = {}
    for row in rows:
        if row.task != "transform":
            continue
        source, *_ = row.input.split("_")
        done, _, kind = row.setting.rpartition(", ")
        dtype, layout = kind.split()
        size = "854x480" if "854x480" in row.input else "1080p"
        if "of_reader" in row.input:
            size += ", frames of a read"
        times.setdefault(f"{source} of {size}: {done}, {layout}", {})[dtype] = f"{row.value:.2f}"
    dtypes = list(dict.fromkeys(dtype for row in times.values() for dtype in row))
    lines = [line([what, *(row.get(dtype, "") for dtype in dtypes)]) for what, row in times.items()]
    return header(["", *dtypes]) + "".join(lines)
