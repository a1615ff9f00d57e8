# SPDX-License-Identifier: Apache-2.0
"""README's table of speeds: tricodec beside the best peer on three machines; benchmarks/table.py puts it there.

A ratio is the quotient of the two figures as they are printed beside it. Rows are of three runs or more of both, and
rows in which a peer is faster are all there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from benchmarks import results
from benchmarks.decode.goals import Figures, against_all
from benchmarks.decode.plan import CHIEF, TASKS
from benchmarks.goals import header, line
from benchmarks.gpu.goals import Figures as GpuFigures
from benchmarks.results import Row

#: Tasks of cpu.csv, of compat_wall.csv and of gpu.csv that the table shows, in each language.
_DECODE = {
    "rgb": ("every frame, RGB", "逐帧解码为 RGB"),
    "tensor_antialiased": ("every frame to 224x224 float32", "逐帧得到 224x224 float32"),
    "random": ("32 random frames, RGB", "随机 32 帧的 RGB"),
    "first": ("open to first RGB frame", "打开文件到第一帧 RGB"),
}
_OTHERS = {
    "yuv420p": ("every frame as decoded", "逐帧解码"),
    "nv12": ("every frame as NV12", "逐帧解码为 NV12"),
    "tensor_plain": ("every frame to 224x224 float32, not antialiased", "逐帧得到 224x224 float32 (无抗锯齿)"),
    "every8th": ("every 8th frame, RGB", "每 8 帧取一帧 RGB"),
}
_LEAST_RUNS = 3
_COMPAT = {
    "ranges": ("every frame, 50 a call", "每次取 50 帧直到片尾"),
    "random": ("32 frames at random places, in one call", "一次调用读取随机 32 帧"),
    "clips, 8 workers": ("clips from 64 files, DataLoader of 8 workers", "64 个文件的片段 (DataLoader 8 个 worker)"),
}
_GPU = {
    "one_file": ("one file of 3,000 frames", "单个 3,000 帧文件"),
    "21_files_of_3000": ("21 files of 3,000 frames, a thread each", "21 个 3,000 帧文件 (每个一个线程)"),
    "28_files_of_300": ("28 files of 300 frames, 14 threads", "28 个 300 帧文件 (14 线程)"),
    "first_frame": ("first frame of a short clip", "短片段的第一帧"),
}
_GPU_PEERS = {"pynvvideocodec": "PyNvVideoCodec", "dali": "DALI"}
_HEADINGS = (["machine", "task", "tricodec", "best peer", "ratio"], ["机器", "任务", "tricodec", "最快的同类", "倍数"])


@dataclasses.dataclass(frozen=True)
class _Source:
    facts: Mapping[str, str]
    rows: Sequence[Row]


def _read(name: str) -> _Source:
    return _Source(*results.read(results.FOLDER / name))


def _row(words: str, ours: float, theirs: float, peer: str, unit: str) -> tuple[list[str], float]:
    """Cells of a line, and the ratio of the printed figures."""
    digits = 0 if min(ours, theirs) >= 20 else 1
    ours, theirs = round(ours, digits), round(theirs, digits)
    ratio = theirs / ours if unit == "ms" else ours / theirs
    figures = [f"{value:,.{digits}f} {unit}" for value in (ours, theirs)]
    return [words, figures[0], f"{figures[1]} ({peer})", f"{ratio:.2f}x"], ratio


def _on_two_cores(source: _Source, language: int) -> Iterator[tuple[int, list[str]]]:
    """Numbers of cores and cells: the tasks on the chief clip, then all in which a peer is faster."""
    figures, shown = Figures(source.rows), set()
    for clip, task, cores in sorted(figures.combinations(), key=lambda each: (each[0] != CHIEF, -each[2])):
        words = {**_DECODE, **_OTHERS}.get(task)
        found = against_all(task, clip, cores).result(figures) if words else None
        if words is None or found is None or found.pairs is None or found.pairs.count < _LEAST_RUNS:
            continue
        name = words[language] + ("" if clip == CHIEF else f", {clip.replace('_', ' ')}")
        unit = "fps" if TASKS[task].unit == "frames/s" else "ms"
        cells, ratio = _row(name, found.ours.value, found.peer.value, found.peer.contender, unit)
        if ratio < 1 or (clip == CHIEF and task in _DECODE and task not in shown):
            shown.add(task)
            yield cores, cells


def _with_torchcodec(source: _Source, language: int) -> Iterator[list[str]]:
    rows = [row for row in source.rows if row.setting == "torchcodec" and not row.against]
    for task, words in _COMPAT.items():
        of = {row.contender: row.spread for row in rows if row.task == task}
        if min(each.count for each in of.values()) >= _LEAST_RUNS:
            values = [of[name].median * 1000 for name in ("tricodec", "torchcodec")]
            yield _row(words[language], *values, "torchcodec", "ms")[0]


def _on_a_gpu(source: _Source, language: int) -> Iterator[list[str]]:
    for codec, name in (("h264", "H.264"), ("hevc", "HEVC")):
        figures = GpuFigures(codec, source.rows)
        for task, words in _GPU.items():
            best = {
                contender: max(values)
                for contender in ("tricodec", *_GPU_PEERS)
                if (values := [r.value for r in figures.all(task, contender) if r.value and r.runs >= _LEAST_RUNS])
            }
            peers = {contender: value for contender, value in best.items() if contender != "tricodec"}
            if "tricodec" in best and peers:
                peer = max(peers, key=lambda contender: peers[contender])
                unit = "clips/s" if task == "first_frame" else "fps"
                words_of = f"{words[language]}, {name}"
                yield _row(words_of, best["tricodec"], peers[peer], _GPU_PEERS[peer], unit)[0]


def summary(language: int = 0) -> str:
    """The table in English (0) or Chinese (1): a line for each machine and task."""
    cores = ("cores", "核")[language]
    of_two = ("{} of {} cores", "{} / {} 核")[language]
    two, sixteen, gpu = _read("cpu.csv"), _read("compat_wall.csv"), _read("gpu.csv")
    lines = [header(_HEADINGS[language])]
    total = two.facts["cores"]
    entries = [
        (two, f"{f'{total} {cores}' if str(used) == total else of_two.format(used, total)}, {two.facts['cpu']}", row)
        for used, row in _on_two_cores(two, language)
    ]
    entries += [
        (sixteen, f"{sixteen.facts['cores']} {cores}, Xeon", row) for row in _with_torchcodec(sixteen, language)
    ]
    entries += [(gpu, gpu.facts["gpu"].removeprefix("NVIDIA "), row) for row in _on_a_gpu(gpu, language)]
    lines += [line([f"{machine}, {source.facts['date'][:10]}", *row]) for source, machine, row in entries]
    return "".join(lines)
