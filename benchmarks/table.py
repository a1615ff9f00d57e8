# SPDX-License-Identifier: Apache-2.0
"""Renders the tables of README.md and of documents from the results files, between two markers.

python benchmarks/table.py           rewrites them
python benchmarks/table.py --check   1 if one is not what its results file says
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gpu_table
from goals import Best, Figures, against_all, better
from plan import CHIEF, TASKS

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).resolve().parent / "results" / "cpu.json"
GPU_RESULTS = RESULTS.with_name("gpu.json")
_TITLE = "H.264 1080p ([results](benchmarks/results/cpu.json))"
_WORDS = {
    "yuv420p": "every frame, YUV 4:2:0",
    "nv12": "every frame, NV12",
    "rgb": "every frame, RGB uint8 HWC",
    "tensor_antialiased": "every frame to 224x224 float32 CHW, antialiased",
    "tensor_plain": "the same, not antialiased",
    "random": "32 random frames of {num_frames}, RGB",
    "every8th": "every 8th frame, RGB",
    "first": "open to first RGB frame",
}
_KERNELS = {
    "transform_rgb": "to RGB uint8 HWC",
    "transform_tensor": "to 224x224 float32 CHW, bilinear antialiased, normalised",
}


def marked(name: str) -> re.Pattern[str]:
    """What lies between a document's markers of that name."""
    return re.compile(rf"(<!-- {name}: written by benchmarks/table.py -->\n).*?(<!-- end of {name} -->)", re.DOTALL)


def replaced(document: str, name: str, block: str) -> str:
    """The document with another block between its markers.

    Raises:
        ValueError: if it does not have them once.
    """
    text, count = marked(name).subn(lambda found: found[1] + block + found[2], document)
    if count != 1:
        message = f"{count} blocks are marked as {name}; there must be one"
        raise ValueError(message)
    return text


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def _header(cells: Sequence[str]) -> str:
    return _row(cells) + "|---" * len(cells) + "|\n"


def _figure(unit: str, best: Best | None) -> str:
    if best is None:
        return "-"
    return f"{best.value:.0f} fps" if unit == "frames/s" else f"{best.value:.{0 if best.value >= 20 else 2}f} ms"


def _source(content: Mapping[str, Any]) -> str:
    environment = content["environment"]
    libraries = environment["libraries"]
    return (
        f"{environment['cores']} cores of an {environment['cpu']}, tricodec {libraries['tricodec']} with FFmpeg "
        f"{libraries.get('ffmpeg', '?')}, {environment['date'][:10]}; medians of "
        f"[benchmarks/results/cpu.json](PATH)"
    )


def summary(content: Mapping[str, Any]) -> str:
    """README's table: each task on the chief clip beside the best peer at it."""
    figures = Figures(content["cells"], content.get("pairs", ()))
    facts = content["clips"][CHIEF]
    lines = [_header([_TITLE, "tricodec, 1 core", "best peer", "", "2 cores", "best peer", ""])]
    for task, words in _WORDS.items():
        unit = TASKS[task].unit
        row = [words.format(num_frames=facts["num_frames"])]
        for cores in (1, 2):
            ours, peer = figures.ours(task, CHIEF, cores), figures.peer(task, CHIEF, cores)
            named = f"{_figure(unit, peer)} ({peer.contender})" if peer else "-"
            result = against_all(task, CHIEF, cores).result(figures)
            row += [_figure(unit, ours), named, f"{result.ratio:.2f}x" if result else "-"]
        lines.append(_row(row))
    goals = content["goals"]
    reached = sum(goal["pass"] for goal in goals)
    source = _source(content).replace("PATH", "benchmarks/results/cpu.json")
    paired = " Ratios are medians over pairs of neighboring runs." if content.get("pairs") else ""
    return f"{''.join(lines)}\n{source}.{paired} {reached} of {len(goals)} goals reached there.\n"


def kernels(content: Mapping[str, Any]) -> str:
    """docs/transform.md's table: one thread of Transform, its kernels and its scalar engine."""
    figures = Figures(content["cells"])
    lines = [_header(["", "kernels", "scalar", "ratio"])]
    for clip, size in ((CHIEF, "1920x1080"), ("h264_720p", "1280x720")):
        for task, words in _KERNELS.items():
            fast, slow = (figures.best(task, clip, 1, [name]) for name in ("tricodec", "tricodec-scalar"))
            if fast and slow:
                ratio = better("ms", fast.value, slow.value)
                lines.append(_row([f"{size} {words}", f"{fast.value:.2f} ms", f"{slow.value:.1f} ms", f"{ratio:.0f}"]))
    return "".join(lines)


def _contenders(content: Mapping[str, Any]) -> str:
    lines = [_header(["contender", "versions"])]
    for name, entry in content["contenders"].items():
        versions = entry["versions"]
        told = ", ".join(f"{what} {version}" for what, version in versions.items()) if versions else ""
        lines.append(_row([f"`{name}`", told or f"absent: {entry['absent']}"]))
    return "".join(lines)


def _cells(content: Mapping[str, Any]) -> str:
    """All figures: a table a clip and task, fastest first."""
    parts = []
    by_group: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for cell in content["cells"]:
        by_group.setdefault((cell["clip"], cell["task"]), []).append(cell)
    for (clip, task), cells in by_group.items():
        unit = TASKS[task].unit
        # The CPU time of a request for one frame, or of a kernel, is the time itself.
        parts.append(f"\n### {clip}: {task} ({unit})\n\n")
        parts.append(
            _header(["contender", "cores / threads", unit, "min to max", "n", "CPU ms a frame", "peak RSS MB"])
        )
        measured = [cell for cell in cells if cell["runs"]]
        for cell in sorted(measured, key=lambda c: (c["cores"], c["median"] * (-1 if unit == "frames/s" else 1))):
            parts.append(
                _row(
                    [
                        cell["contender"],
                        f"{cell['cores']} / {cell['threads']}",
                        f"{cell['median']:.{1 if cell['median'] >= 10 else 3}f}",
                        f"{cell['min']:.1f} to {cell['max']:.1f}"
                        if cell["median"] >= 10
                        else f"{cell['min']:.3f} to {cell['max']:.3f}",
                        str(len(cell["runs"])),
                        f"{cell['cpu_ms']:.2f}",
                        f"{cell['peak_rss_mb']:.0f}",
                    ]
                )
            )
        for cell in cells:
            if cell["failed"]:
                told = f"{cell['cores']} / {cell['threads']}"
                parts.append(_row([cell["contender"], told, "-", "-", "0", "-", f"none: {cell['failed']}"]))
    return "".join(parts)


def _goals(content: Mapping[str, Any]) -> str:
    lines = [_header(["goal", "tricodec", "against", "ratio", "wanted", "reached"])]
    for goal in content["goals"]:
        peer = f"{goal['peer']} {goal['peer_value']:.4g}" if goal["peer"] else "-"
        if goal["of_limit"] is not None:
            peer = f"memory: {goal['of_limit']:.2f} of memcpy's speed"
        ratio = f"{goal['ratio']:.3f}" if goal["ratio"] is not None else "-"
        if "pairs" in goal:
            low, high = goal["ratio_quartiles"]
            spread = f"{low:.3f} to {high:.3f} in {goal['pairs']}"
            ratio = spread if goal["ratio"] is None else f"{ratio} ({spread})"
        wanted = f"{'>=' if goal['at_least'] else '<='} {goal['target']:g}"
        figure = f"{goal['value']:.4g} {goal['unit']}"
        verdict = "yes" if goal["pass"] else "**no**"
        verdict += "" if goal.get("decided", True) else ", not decided"
        lines.append(_row([goal["name"], figure, peer, ratio, wanted, verdict]))
    return "".join(lines)


def _exactness(content: Mapping[str, Any]) -> str:
    lines = [_header(["clip", "contender", "random frames", "wrong"])]
    for result in content["exactness"]:
        lines.append(_row([result["clip"], result["contender"], str(result["of"]), str(len(result["wrong"]))]))
    return "".join(lines)


def everything(content: Mapping[str, Any]) -> str:
    """docs/benchmarks_cpu.md's tables: versions, goals, exactness, cells."""
    source = _source(content).replace("PATH", "../benchmarks/results/cpu.json")
    clips = [_header(["clip", "size", "frames", "bytes", "encoder"])]
    for name, facts in content["clips"].items():
        size = f"{facts['width']}x{facts['height']}"
        clips.append(_row([name, size, str(facts["num_frames"]), str(facts["bytes"]), f"`{facts['encoder']}`"]))
    return (
        f"{source}. Content of the clips: {content['content']}.\n\n"
        f"## Contenders\n\n{_contenders(content)}\n## Clips\n\n{''.join(clips)}\n## Goals\n\n{_goals(content)}\n"
        f"## Wrong frames of random access\n\n{_exactness(content)}\n## Cells\n{_cells(content)}"
    )


# Document, marker, what belongs there, and of which results.
BLOCKS: list[tuple[Path, str, Callable[[Mapping[str, Any]], str], Path]] = [
    (ROOT / "README.md", "performance", summary, RESULTS),
    (ROOT / "docs" / "benchmarks_cpu.md", "figures", everything, RESULTS),
    (ROOT / "docs" / "transform.md", "kernels", kernels, RESULTS),
    (ROOT / "docs" / "gpu.md", "speeds", gpu_table.speeds, GPU_RESULTS),
    (ROOT / "docs" / "gpu.md", "peers", gpu_table.peers, GPU_RESULTS),
    (ROOT / "docs" / "gpu.md", "goals", gpu_table.goals, GPU_RESULTS),
    (ROOT / "docs" / "gpu.md", "transforms", gpu_table.transforms, GPU_RESULTS),
]


def outdated() -> list[str]:
    """Names of the documents with a block that is not what its results file says."""
    found = []
    for path, name, render, results in BLOCKS:
        text = path.read_text()
        if replaced(text, name, render(json.loads(results.read_text()))) != text:
            found.append(f"{path.relative_to(ROOT)} ({results.name})")
    return found


def rewrite() -> None:
    """Puts the blocks of the results files into the documents."""
    for path, name, render, results in BLOCKS:
        path.write_text(replaced(path.read_text(), name, render(json.loads(results.read_text()))))


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        stale = outdated()
        if stale:
            print(f"not what the results say: {', '.join(stale)}; run python benchmarks/table.py", file=sys.stderr)
        sys.exit(1 if stale else 0)
    rewrite()
