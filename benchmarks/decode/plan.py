# SPDX-License-Identifier: Apache-2.0
"""What is measured: tasks, and the cells that a run consists of."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Sequence

from benchmarks.decode import clips

CHIEF = "h264_1080p"
NUM_RANDOM = 32


@dataclasses.dataclass(frozen=True)
class Task:
    """One kind of work.

    Attributes:
        unit: "frames/s" (more is better) or "ms" (less is better).
        what: in words.
        contenders: on the chief clip, the strongest peers first: those run beside ours in the first round.
        elsewhere: those of them that are measured on the other clips, the strongest.
    """

    unit: str
    what: str
    contenders: tuple[str, ...]
    elsewhere: tuple[str, ...] = ()


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_SOUGHT = _names("tricodec torchcodec opencv decord2 pyav torchcodec-approximate")
TASKS: dict[str, Task] = {
    "yuv420p": Task(
        "frames/s",
        "every frame as decoded, its planes as arrays",
        _names("tricodec tricodec-copy pyav-views pyav imageio-ffmpeg ffmpeg-pipe ffmpeg-null"),
        _names("tricodec pyav-views"),
    ),
    "nv12": Task(
        "frames/s",
        "every frame as NV12",
        _names("tricodec pyav imageio-ffmpeg ffmpeg-pipe"),
        _names("tricodec pyav imageio-ffmpeg"),
    ),
    "rgb": Task(
        "frames/s",
        "every frame as RGB uint8 HWC",
        _names("tricodec tricodec-batch pyav+cv2 opencv pyav decord2 torchcodec imageio-ffmpeg ffmpeg-pipe"),
        _names("tricodec pyav+cv2 opencv decord2"),
    ),
    "tensor_antialiased": Task(
        "frames/s",
        "every frame as 224x224 RGB float32 CHW, antialiased, normalized, in batches of 16",
        _names("tricodec tricodec-batch decord2 imageio-ffmpeg pyav pyav+cv2area torchcodec ffmpeg-pipe"),
        _names("tricodec-batch pyav imageio-ffmpeg"),
    ),
    "tensor_plain": Task(
        "frames/s",
        "the same, not antialiased",
        _names("tricodec tricodec-batch pyav+cv2planes pyav+cv2 opencv"),
        _names("tricodec-batch pyav+cv2planes"),
    ),
    "random": Task(
        "ms",
        "32 random frames as RGB, opening included",
        _SOUGHT,
        _names("tricodec pyav torchcodec-approximate opencv decord2"),
    ),
    "every8th": Task(
        "frames/s",
        "every 8th frame as RGB; the frames counted are those asked for",
        (*_SOUGHT, "tricodec-batch"),
        _names("tricodec tricodec-batch torchcodec-approximate opencv pyav"),
    ),
    "first": Task(
        "ms",
        "open a file and get its first frame as RGB",
        _names("tricodec opencv torchcodec pyav decord2"),
        _names("tricodec pyav opencv"),
    ),
    "readers": Task(
        "frames/s",
        "as many Python threads as cores, each with a reader of its own of one thread, each reading the whole clip as "
        "tensor_antialiased",
        _names("tricodec pyav decord2"),
    ),
    "transform_rgb": Task(
        "ms",
        "one decoded frame to RGB uint8 HWC",
        _names("tricodec pyav cv2 memcpy tricodec-scalar"),
        _names("tricodec pyav cv2 memcpy tricodec-scalar"),
    ),
    "transform_tensor": Task(
        "ms",
        "one decoded frame to 224x224 float32 CHW, antialiased, normalized",
        _names("tricodec pyav cv2 memcpy tricodec-scalar"),
        _names("tricodec pyav cv2 memcpy tricodec-scalar"),
    ),
}
# No peers: ffmpeg-null and memcpy deliver nothing to Python and show what the machine allows, memcpy what its
# memory gives to two threads; the last is our oracle: its two threads show what the cores give without memory.
REFERENCES = ("ffmpeg-null", "memcpy", "tricodec-scalar")
_FRAMES = ("yuv420p", "nv12", "rgb", "tensor_antialiased", "tensor_plain")
_SEEKS = ("random", "every8th", "first")
_KERNELS = ("transform_rgb", "transform_tensor")
# FFmpeg's threads decode for these, each with a picture. On two cores its own choice is three of them, but five are
# faster for some: the first round tries both, of seeks where a clip stands for the others.
_FRAME_THREADS = ("pyav", "pyav-views", "pyav+cv2", "pyav+cv2planes", "decord2", "opencv")
_TORCHCODEC = ("torchcodec", "torchcodec-approximate")  # fastest with two or with three, by the task
_SEEKS_TRIED_ON = (CHIEF, "hevc_1080p")
# Random frames elsewhere: OpenCV's wheel has no AV1 decoder, decord2 gives other frames than asked for of open groups.
_NO_RANDOM = {("opencv", "av1"), ("decord2", "hevc")}
_ONE_SETTING = ("first", "readers", *_KERNELS)
_SLOW = ("imageio-ffmpeg", "ffmpeg-pipe", "torchcodec", "dali-cpu")


@dataclasses.dataclass(frozen=True)
class Cell:
    """One contender at one task on one clip with one number of cores.

    Attributes:
        task: of TASKS.
        clip: of clips.RECIPES.
        contender: of peers.MODULES.
        cores: that it may run on.
        threads: that it is told to use.
    """

    task: str
    clip: str
    contender: str
    cores: int
    threads: int

    @property
    def indices(self) -> tuple[int, ...]:
        """The frames asked for, ascending; empty where the task takes all."""
        num_frames = clips.RECIPES[self.clip].num_frames
        if self.task == "random":
            return random_indices(num_frames, 0)
        return tuple(range(0, num_frames, 8)) if self.task == "every8th" else ()


def random_indices(num_frames: int, seed: int) -> tuple[int, ...]:
    """32 different frames, ascending; the same for every contender."""
    return tuple(sorted(random.Random(seed).sample(range(num_frames), min(NUM_RANDOM, num_frames))))


def _threads(task: str, clip: str, contender: str, cores: int) -> tuple[int, ...]:
    """The settings that are measured; after the first round only the best of them (rounds.settled)."""
    if cores == 1 or contender.startswith("tricodec") or task in _ONE_SETTING:
        return (cores,)
    if contender == "decord2" and clip == "vp9_1080p":  # decord2 3.4.0: "Error sending packet" with three
        return (cores,)
    if contender == "imageio-ffmpeg":
        return (cores + 1,)
    if contender in _FRAME_THREADS:
        both = task in _FRAMES or clip in _SEEKS_TRIED_ON
        return (cores + 1, cores + 3) if both else (cores + 1,)
    if contender in _TORCHCODEC:
        return (cores, cores + 1, cores + 3) if clip == CHIEF else (cores + 1,)
    return (cores,)


def _of(clip: str, tasks: Sequence[str], cores: Sequence[int]) -> Iterator[Cell]:
    chief = clip == CHIEF
    for task in tasks:
        names = TASKS[task].contenders if chief else TASKS[task].elsewhere
        if task == "random" and not chief:
            names = tuple(name for name in names if (name, clip.partition("_")[0]) not in _NO_RANDOM)
        if clip == "vp9_1080p" and task in ("rgb", "tensor_antialiased", "first"):
            names = (*names, "dali-cpu")
        for count in cores:
            for name in names:
                for threads in _threads(task, clip, name, count):
                    yield Cell(task, clip, name, count, threads)


def full(cores: Sequence[int]) -> list[Cell]:
    """Everything."""
    cells = list(_of(CHIEF, [*_FRAMES, *_SEEKS, "readers", *_KERNELS], cores))
    for clip in ("hevc_1080p", "av1_1080p", "vp9_1080p", "h264_720p", "hevc_720p", "av1_720p"):
        cells += _of(clip, [*_FRAMES, *_SEEKS], cores)
    cells += _of("h264_720p", _KERNELS, cores[:1])
    cells += _of("h264_1080p_gop30", ["random", "every8th"], cores)
    return cells


def quick(cores: Sequence[int]) -> list[Cell]:
    """The chief clip without the contenders that are slow to measure."""
    cells = _of(CHIEF, [*_FRAMES, *_SEEKS, "readers", *_KERNELS], cores)
    kept = [c for c in cells if c.contender not in (*_SLOW, *REFERENCES, "pyav+cv2area")]
    one_setting = {(cell.task, cell.contender, cell.cores): cell for cell in kept}  # the last named: more threads
    return list(one_setting.values())


def smoke() -> list[Cell]:
    """A tiny clip: that each task starts, and a peer in those that it does in its own way."""
    ours = [Cell(task, "tiny", "tricodec", 1, 1) for task in TASKS]
    return ours + [Cell(task, "tiny", "pyav", 1, 1) for task in ("rgb", "random")]
