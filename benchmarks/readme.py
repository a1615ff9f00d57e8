# SPDX-License-Identifier: Apache-2.0
"""README's table of speeds in English and Chinese: tricodec beside the best peer on three machines.

From decode.csv it has four tasks on the chief clip, and every task on any clip in which a peer is faster.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import Contest, header, line, results

_CHIEF = "h264_1080p"
_SHOWN = {"rgb": 2, "tensor_antialiased": 2, "random": 2, "first": 1}
"""Tasks on the chief clip, and the number of cores."""
_TASKS = {
    "rgb": ("every frame, RGB", "逐帧解码为 RGB"),
    "tensor_antialiased": ("every frame to 224x224 float32", "逐帧得到 224x224 float32"),
    "random": ("32 random frames, RGB", "随机 32 帧的 RGB"),
    "first": ("open to first RGB frame", "打开文件到第一帧 RGB"),
    "yuv420p": ("every frame as decoded", "逐帧解码"),
    "nv12": ("every frame as NV12", "逐帧解码为 NV12"),
    "tensor_plain": ("every frame to 224x224 float32, not antialiased", "逐帧得到 224x224 float32 (无抗锯齿)"),
    "every8th": ("every 8th frame, RGB", "每 8 帧取一帧 RGB"),
}
_PROGRAMS = {
    "ranges": ("every frame, 50 a call", "每次取 50 帧直到片尾"),
    "random": ("32 frames at random places, in one call", "一次调用读取随机 32 帧"),
    "clips, 8 workers": ("clips from 64 files, DataLoader of 8 workers", "64 个文件的片段 (DataLoader 8 个 worker)"),
}
_GPU = {
    "one_file": ("one file of 3,000 frames", "单个 3,000 帧文件"),
    "28_files_of_300": ("28 files of 300 frames, 14 threads", "28 个 300 帧文件 (14 线程)"),
    "first_frame": ("first frame of a short clip", "短片段的第一帧"),
}
_PEERS = {"pynvvideocodec": "PyNvVideoCodec", "dali": "DALI"}
_HEADINGS = (["machine", "task", "tricodec", "best peer", "ratio"], ["机器", "任务", "tricodec", "最快的同类", "倍数"])


def _cells(words: str, contest: Contest, unit: str = "") -> list[str]:
    ours, theirs = contest.printed(unit)
    peer = contest.peer.contender
    return [words, ours, f"{theirs} ({_PEERS.get(peer, peer)})", f"{contest.ratio:.2f}x"]


def _on_two_cores(language: int) -> Iterator[list[str]]:
    decode = results("decode")
    total = decode.facts["cores"]
    cores_word = ("cores", "核")[language]
    places = dict.fromkeys((row.input, row.task, row.cores) for row in decode.rows)
    for clip, task, cores in sorted(places, key=lambda place: (place[0] != _CHIEF, -place[2])):
        contest = decode.contest(input=clip, task=task, cores=cores)
        if contest is None:
            continue
        is_shown = clip == _CHIEF and _SHOWN.get(task) == cores
        if not is_shown and contest.ratio >= 1:
            continue
        name = _TASKS[task][language] + ("" if clip == _CHIEF else f", {clip.replace('_', ' ')}")
        part = ("{} of {} cores", "{} / {} 核")[language].format(cores, total)
        machine = f"{total} {cores_word}" if str(cores) == total else part
        yield [f"{machine}, {decode.facts['cpu']}, {decode.facts['date'][:10]}", *_cells(name, contest)]


def _with_torchcodec(language: int) -> Iterator[list[str]]:
    programs = results("programs")
    cores_word = ("cores", "核")[language]
    for task, words in _PROGRAMS.items():
        contest = programs.contest(task=task, setting="torchcodec")
        if contest is not None:
            machine = f"{programs.facts['cores']} {cores_word}, Xeon, {programs.facts['date'][:10]}"
            yield [machine, *_cells(words[language], contest)]


def _on_a_gpu(language: int) -> Iterator[list[str]]:
    gpu = results("gpu")
    machine = f"{gpu.facts['gpu'].removeprefix('NVIDIA ')}, {gpu.facts['date'][:10]}"
    for codec, name in (("h264", "H.264"), ("hevc", "HEVC")):
        for task, words in _GPU.items():
            contest = gpu.contest(task=task, input=codec)
            if contest is not None:
                unit = "clips/s" if task == "first_frame" else "fps"
                yield [machine, *_cells(f"{words[language]}, {name}", contest, unit)]


def performance(language: int) -> str:
    """The table in English (0) or Chinese (1): a line for each machine and task."""
    rows = [*_on_two_cores(language), *_with_torchcodec(language), *_on_a_gpu(language)]
    return header(_HEADINGS[language]) + "".join(map(line, rows))
