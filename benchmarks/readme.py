# SPDX-License-Identifier: Apache-2.0
"""README's table of speeds in English and Chinese: the best row of each machine, and the two worst rows of all."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

from benchmarks.figures import Contest, header, line, results

Texts = tuple[str, str]
DECODE = {
    "yuv420p": ("every frame, YUV 4:2:0", "逐帧解码为 YUV 4:2:0"),
    "nv12": ("every frame, NV12", "逐帧解码为 NV12"),
    "rgb": ("every frame, RGB", "逐帧解码为 RGB"),
    "tensor_antialiased": ("every frame, 224x224 float32", "逐帧得到 224x224 float32"),
    "tensor_plain": ("every frame, 224x224 float32, not antialiased", "逐帧得到 224x224 float32 (无抗锯齿)"),
    "random": ("32 random frames, RGB", "随机 32 帧的 RGB"),
    "every8th": ("every 8th frame, RGB", "每 8 帧取一帧 RGB"),
    "first": ("open to the first frame, RGB", "打开文件到第一帧 RGB"),
}
PROGRAMS = {
    "sequential": ("every frame, one after another", "逐帧读取"),
    "ranges": ("every frame, 50 in a call", "每次取 50 帧直到片尾"),
    "random": ("32 random frames in one call", "一次调用读取随机 32 帧"),
    "first": ("open to the first frame", "打开文件到第一帧"),
    "clips": ("clips of 64 files, DataLoader", "64 个文件的片段 (DataLoader)"),
    "clips, 2 workers": ("clips of 64 files, DataLoader of 2 workers", "64 个文件的片段 (DataLoader 2 个 worker)"),
    "clips, 8 workers": ("clips of 64 files, DataLoader of 8 workers", "64 个文件的片段 (DataLoader 8 个 worker)"),
}
GPU = {
    "one_file": ("one file of 3,000 frames", "单个 3,000 帧文件"),
    "21_files_of_3000": ("21 files of 3,000 frames, a thread each", "21 个 3,000 帧文件 (21 线程)"),
    "28_files_of_300": ("28 files of 300 frames, 14 threads", "28 个 300 帧文件 (14 线程)"),
    "first_frame": ("first frame of a short clip (clips/s)", "短片段的第一帧 (clips/s)"),
}
_PEERS = {"pynvvideocodec": "PyNvVideoCodec", "dali": "DALI"}
_HEADINGS = (["machine", "task", "tricodec", "best peer", "ratio"], ["机器", "任务", "tricodec", "最快的同类", "倍数"])


def clip_name(name: str) -> str:
    """The name of a clip as texts have it."""
    codec, _, size = name.partition("_")
    return f"{codec.upper().replace('H264', 'H.264')} {size}"


@dataclasses.dataclass(frozen=True)
class Standing:
    """A task on a machine: tricodec beside the best peer. Texts are in English and in Chinese."""

    machine: Texts
    task: Texts
    setting: Texts
    contest: Contest

    @property
    def peer(self) -> str:
        """The name of the best peer."""
        return _PEERS.get(self.contest.peer.contender, self.contest.peer.contender)

    def cells(self, language: int) -> list[str]:
        """The cells of README's table."""
        ours, theirs = self.contest.printed("clips/s" if "clips/s" in self.task[0] else "")
        task = ", ".join(filter(None, [self.task[language], self.setting[language]]))
        return [self.machine[language], task, ours, f"{theirs} ({self.peer})", f"{self.contest.ratio:.2f}x"]


def standings() -> Iterator[Standing]:
    """Every task that has a peer, with each clip."""
    decode, programs, gpu = (results(name) for name in ("decode", "programs", "gpu"))
    dates = [each.facts["date"][:10] for each in (decode, programs, gpu)]
    for clip, task, cores in itertools.product(decode.names("input"), DECODE, (1, 2)):
        if contest := decode.contest(input=clip, task=task, cores=cores):
            name = clip_name(clip)
            setting = (f"{name}, {cores} core{'s' * (cores > 1)}", f"{name}, {cores} 核")
            yield Standing((f"2 cores, EPYC, {dates[0]}", f"2 核, EPYC, {dates[0]}"), DECODE[task], setting, contest)
    for task, texts in PROGRAMS.items():
        both = [programs.contest(task=task, setting=package) for package in ("torchcodec", "decord")]
        contest = min(filter(None, both), key=lambda each: each.exact_ratio)
        yield Standing((f"16 cores, Xeon, {dates[1]}", f"16 核, Xeon, {dates[1]}"), texts, ("", ""), contest)
    for (task, texts), codec in itertools.product(GPU.items(), ("h264", "hevc")):
        if contest := gpu.contest(task=task, input=codec):
            clip = clip_name(f"{codec}_1080p")
            yield Standing((f"H200, {dates[2]}",) * 2, texts, (clip, clip), contest)


def performance(language: int) -> str:
    """The table in English (0) or Chinese (1), and the number of rows in which tricodec is slower."""
    ordered = sorted(standings(), key=lambda each: -each.contest.exact_ratio)
    best = {each.machine: each for each in reversed(ordered)}.values()
    rows = [*sorted(best, key=ordered.index), *ordered[-2:]]
    slower = sum(each.contest.ratio < 1 for each in ordered)
    count = (
        f"The best row of each machine and the two worst of all {len(ordered)}; {slower} have a ratio below 1.",
        f"以上是每台机器最好的一行和全部 {len(ordered)} 行中最差的两行 (其中 {slower} 行 tricodec 较慢)。",
    )
    return header(_HEADINGS[language]) + "".join(line(each.cells(language)) for each in rows) + f"\n{count[language]}\n"
