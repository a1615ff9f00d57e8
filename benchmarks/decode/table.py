# SPDX-License-Identifier: Apache-2.0
"""What the documents show of benchmarks/results/cpu.csv; benchmarks/table.py puts it there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks import goals
from benchmarks.decode.goals import Best, Figures, against_all, better, of_rows
from benchmarks.decode.plan import CHIEF, TASKS
from benchmarks.goals import header, line
from benchmarks.results import Row

WORDS = {
    "yuv420p": "every frame, YUV 4:2:0",
    "nv12": "every frame, NV12",
    "rgb": "every frame, RGB uint8 HWC",
    "tensor_antialiased": "every frame to 224x224 float32 CHW, antialiased",
    "tensor_plain": "the same, not antialiased",
    "random": "32 random frames, RGB",
    "every8th": "every 8th frame, RGB",
    "first": "open to first RGB frame",
}
_KERNELS = {
    "transform_rgb": "to RGB uint8 HWC",
    "transform_tensor": "to 224x224 float32 CHW, bilinear antialiased, normalised",
}


def _figure(unit: str, best: Best | None) -> str:
    if best is None:
        return "-"
    return f"{best.value:.0f} fps" if unit == "frames/s" else f"{best.value:.{0 if best.value >= 20 else 2}f} ms"


def _source(facts: Mapping[str, str], path: str) -> str:
    libraries = dict(each.split(" ", 1) for each in facts["libraries"].split(", ") if " " in each)
    versions = f"tricodec {libraries['tricodec']} with FFmpeg {libraries.get('ffmpeg', '?')}"
    machine = f"{facts['cores']} cores of an {facts['cpu']}, {versions}, {facts['date'][:10]}"
    return f"{machine}; medians of [benchmarks/results/cpu.csv]({path}), ratios over pairs of neighboring runs"


def _tasks(figures: Figures, clip: str) -> Iterator[str]:
    """A line a task: each of one and two cores beside the best peer at it."""
    for task, words in WORDS.items():
        unit = TASKS[task].unit
        row = [words]
        for cores in (1, 2):
            ours, peer = figures.ours(task, clip, cores), figures.peer(task, clip, cores)
            named = f"{_figure(unit, peer)} ({peer.contender})" if peer else "-"
            result = against_all(task, clip, cores).result(figures)
            row += [_figure(unit, ours), named, f"{result.ratio:.2f}x" if result else "-"]
        if set(row[1:]) != {"-"}:
            yield line(row)


def _memory(figures: Figures) -> str:
    """The peak memory of the fastest ways, on the chief clip."""
    peaks = {
        task: max((best.memory_mb for cores in (1, 2) if (best := figures.ours(task, CHIEF, cores))), default=0.0)
        for task in WORDS
    }
    large = {task: peaks.pop(task) for task in ("random", "every8th")}
    others = " and ".join(f"{WORDS[task]} ({megabytes:.0f} MB)" for task, megabytes in large.items())
    return (
        f"Peak memory of the whole process, Python and libraries included, is at most {max(peaks.values()):.0f} MB in "
        f"every row except {others}, where the answer itself is most of it."
    )


def summary(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """docs/reference/benchmarks_cpu.md: how many goals are reached, and the peak memory."""
    del facts
    return f"{goals.counted(of_rows(rows))}.\n\n{_memory(Figures(rows))}\n"


def kernels(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """docs/explanation/one_arithmetic.md's table: one thread of Transform, its kernels and its scalar engine."""
    del facts
    figures = Figures(rows)
    lines = [header(["", "kernels", "scalar", "ratio"])]
    for clip, size in ((CHIEF, "1920x1080"), ("h264_720p", "1280x720")):
        for task, words in _KERNELS.items():
            fast, slow = (figures.best(task, clip, 1, [name]) for name in ("tricodec", "tricodec-scalar"))
            if fast and slow:
                ratio = better("ms", fast.value, slow.value)
                lines.append(line([f"{size} {words}", f"{fast.value:.2f} ms", f"{slow.value:.1f} ms", f"{ratio:.0f}"]))
    return "".join(lines)


def _named(facts: Mapping[str, str], kind: str) -> dict[str, str]:
    return {name.removeprefix(f"{kind} "): fact for name, fact in facts.items() if name.startswith(f"{kind} ")}


def _contenders(facts: Mapping[str, str]) -> str:
    lines = [line([f"`{name}`", versions]) for name, versions in _named(facts, "contender").items()]
    lines += [line([f"`{name}`", f"absent: {why}"]) for name, why in _named(facts, "absent").items()]
    return header(["contender", "versions"]) + "".join(lines)


def _exactness(rows: Sequence[Row]) -> str:
    found = [row for row in rows if row.task == "wrong"]
    names = list(dict.fromkeys(row.contender for row in found))
    lines = [header(["clip", *(f"`{name}`" for name in names)])]
    for clip in dict.fromkeys(row.input for row in found):
        of = {row.contender: row for row in found if row.input == clip}
        cells = [of.get(name) for name in names]
        told = ["-" if cell is None or cell.value is None else f"{cell.value:.0f} of {cell.runs}" for cell in cells]
        lines.append(line([clip, *told]))
    return "".join(lines)


def everything(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """docs/reference/benchmarks_cpu.md: speeds by clip, wrong frames, goals that are missed, versions."""
    figures = Figures(rows)
    clips = _named(facts, "clip")
    parts = [f"{_source(facts, '../../benchmarks/results/cpu.csv')}. Content of the clips: {facts['content']}.\n"]
    for clip, made in clips.items():
        parts.append(f"\n## {clip}\n\n{made}.\n\n")
        parts.append(header(["", "tricodec, 1 core", "best peer", "", "2 cores", "best peer", ""]))
        parts += _tasks(figures, clip)
    parts.append(f"\n## Wrong frames of random access\n\n{_exactness(rows)}")
    found = of_rows(rows)
    missed = [goal for goal in found if not goal.passed]
    parts.append(f"\n## Goals\n\n{goals.counted(found)}. Missed:\n\n{goals.table(missed)}")
    parts.append(f"\n## Contenders\n\n{_contenders(facts)}")
    return "".join(parts)
