# SPDX-License-Identifier: Apache-2.0
"""README's table of speeds: tricodec beside the best peer on three machines; benchmarks/table.py puts it there."""

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


def _on_two_cores(source: _Source, language: int) -> Iterator[list[str]]:
    figures = Figures(source.rows)
    for task, words in _DECODE.items():
        ours, peer = figures.ours(task, CHIEF, 2), figures.peer(task, CHIEF, 2)
        ratio = against_all(task, CHIEF, 2).result(figures)
        if ours and peer and ratio:
            unit = "fps" if TASKS[task].unit == "frames/s" else "ms"
            shown = [f"{each.value:,.{0 if each.value >= 20 else 1}f} {unit}" for each in (ours, peer)]
            yield [words[language], shown[0], f"{shown[1]} ({peer.contender})", f"{ratio.ratio:.2f}x"]


def _with_torchcodec(source: _Source, language: int) -> Iterator[list[str]]:
    rows = [row for row in source.rows if row.setting == "torchcodec"]
    for task, words in _COMPAT.items():
        of = {row.contender: row for row in rows if row.task == task and not row.against}
        ratio = next(row for row in rows if row.task == task and row.against)
        shown = [f"{of[name].spread.median * 1000:,.0f} ms" for name in ("tricodec", "torchcodec")]
        yield [words[language], shown[0], f"{shown[1]} (torchcodec)", f"{ratio.spread.median:.2f}x"]


def _on_a_gpu(source: _Source, language: int) -> Iterator[list[str]]:
    for codec, name in (("h264", "H.264"), ("hevc", "HEVC")):
        figures = GpuFigures(codec, source.rows)
        for task, words in _GPU.items():
            best = {
                contender: max(values)
                for contender in ("tricodec", *_GPU_PEERS)
                if (values := [row.value for row in figures.all(task, contender) if row.value])
            }
            peers = {contender: value for contender, value in best.items() if contender != "tricodec"}
            if "tricodec" in best and peers:
                peer = max(peers, key=lambda contender: peers[contender])
                unit = "clips/s" if task == "first_frame" else "fps"
                shown = [f"{value:,.0f} {unit}" for value in (best["tricodec"], peers[peer])]
                ratio = best["tricodec"] / peers[peer]
                yield [f"{words[language]}, {name}", shown[0], f"{shown[1]} ({_GPU_PEERS[peer]})", f"{ratio:.2f}x"]


def summary(language: int = 0) -> str:
    """The table in English (0) or Chinese (1): a line for each machine and task."""
    cores = ("cores", "核")[language]
    two, sixteen, gpu = _read("cpu.csv"), _read("compat_wall.csv"), _read("gpu.csv")
    lines = [header(_HEADINGS[language])]
    for source, machine, rows in (
        (two, f"{two.facts['cores']} {cores}, {two.facts['cpu']}", _on_two_cores(two, language)),
        (sixteen, f"{sixteen.facts['cores']} {cores}, Xeon", _with_torchcodec(sixteen, language)),
        (gpu, gpu.facts["gpu"].removeprefix("NVIDIA "), _on_a_gpu(gpu, language)),
    ):
        lines += [line([f"{machine}, {source.facts['date'][:10]}", *row]) for row in rows]
    return "".join(lines)
