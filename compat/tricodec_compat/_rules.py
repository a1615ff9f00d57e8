# SPDX-License-Identifier: Apache-2.0
"""The rules by which the packages of vision-language models choose frames.

Each rule repeats the operations of the package that models were trained with, in its order and precision, so that the
numbers are equal. numpy computes in float64; torch.arange and torch.linspace give float32.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

_FPS = 2.0
_MIN_FRAMES, _MAX_FRAMES = 4, 768
_FACTOR = 2
"""Frames of Qwen's temporal patch."""
_SKIPPED_SECONDS = 1.0
"""What SmolVLM leaves out at both ends of a long video."""
_NO_BOUND_SECONDS = 100_000
"""InternVL's "whole video"."""


def _expect_enough(rule: str, count: int, total: int, least: int) -> None:
    if not least <= count <= total:
        raise IndexError(
            f'sampling "{rule}" chooses {count} of {total} frames; it needs from {least} to {total}: take another '
            'num_frames, fps or max_frames, or sampling="uniform"'
        )


def _linspace_in_float32(first: int, last: int, count: int) -> list[int]:
    """torch.linspace(first, last, count).round(), which computes from both ends."""
    begin, end = np.float32(first), np.float32(last)
    step = (end - begin) / np.float32(max(1, count - 1))
    places = np.arange(count)
    forward = begin + step * places.astype(np.float32)
    backward = end - step * (count - 1 - places).astype(np.float32)
    numbers: list[int] = np.where(places < count // 2, forward, backward).round().astype(int).tolist()
    return numbers if count > 1 else [first]


def _smart_nframes(
    total: int, source_fps: float, fps: float | None, num_frames: int | None, least: int, most: int
) -> int:
    if num_frames is not None:
        return round(num_frames / _FACTOR) * _FACTOR
    wanted = total / source_fps * (fps or _FPS)
    return math.floor(min(max(wanted, least), most, total) / _FACTOR) * _FACTOR


def qwen(
    total: int,
    source_fps: float,
    *,
    fps: float | None = None,
    num_frames: int | None = None,
    min_frames: int = _MIN_FRAMES,
    max_frames: int | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
) -> list[int]:
    """The rule of qwen-vl-utils: whole frames inside of the bounds, an even number of them."""
    first, last = 0, total - 1
    if start_s is not None or end_s is not None:
        longest = total / source_fps
        first = 0 if start_s is None else math.ceil(min(max(start_s, 0.0), longest) * source_fps)
        last = last if end_s is None else min(math.floor(min(max(end_s, 0.0), longest) * source_fps), last)
        if first >= last:
            raise IndexError(
                f'start_s and end_s leave frames {first} to {last} of {total}; sampling "qwen" needs two: choose other '
                "bounds"
            )
    size = last - first + 1
    least = math.ceil(min_frames / _FACTOR) * _FACTOR
    most = math.floor((max_frames or min(_MAX_FRAMES, size)) / _FACTOR) * _FACTOR
    count = _smart_nframes(size, source_fps, fps, num_frames, least, most)
    _expect_enough("qwen", count, size, _FACTOR)
    return _linspace_in_float32(first, last, count)


def qwen2_vl(
    total: int,
    source_fps: float,
    *,
    fps: float | None = None,
    num_frames: int | None = None,
    min_frames: int = _MIN_FRAMES,
    max_frames: int = _MAX_FRAMES,
) -> list[int]:
    """The rule of Qwen2-VL in transformers: torch.arange(0, total, total / n), without a number past the end."""
    most = math.floor(min(max_frames, total) / _FACTOR) * _FACTOR
    count = _smart_nframes(total, source_fps, fps, num_frames, min_frames, most)
    _expect_enough("qwen2_vl", count, total, 1)
    numbers: list[int] = (np.arange(count) * (total / count)).astype(np.float32).astype(int).tolist()
    return numbers


def qwen3_vl(
    total: int,
    source_fps: float,
    *,
    fps: float | None = None,
    num_frames: int | None = None,
    min_frames: int = _MIN_FRAMES,
    max_frames: int = _MAX_FRAMES,
) -> list[int]:
    """The rule of Qwen3-VL in transformers."""
    count = num_frames or min(max(int(total / source_fps * (fps or _FPS)), min_frames), max_frames, total)
    numbers: list[int] = np.linspace(0, total - 1, count).round().astype(int).tolist()
    return numbers


def smolvlm(total: int, source_fps: float, *, fps: float = 1.0, max_frames: int = 64) -> list[int]:
    """The rule of SmolVLM: frames at a rate; of a long video evenly, without its first and last second."""
    duration = total / source_fps
    count = max(1, min(round(fps * duration), max_frames))
    first, last = 0, total - 1
    if duration - 2 * _SKIPPED_SECONDS > max_frames * fps:
        first = int(_SKIPPED_SECONDS * source_fps)
        last = min(int(total - _SKIPPED_SECONDS * source_fps), total - 1)
    if first >= last:
        first, last = 0, total - 1
    numbers: list[int] = np.unique(np.linspace(first, last, count, dtype=int)).tolist()
    return numbers


def segments(
    total: int, source_fps: float, *, num_frames: int, start_s: float | None = None, end_s: float | None = None
) -> list[int]:
    """InternVL's recipe: the middles of equal segments."""
    first = max(0, round((-_NO_BOUND_SECONDS if start_s is None else start_s) * source_fps))
    last = min(round((_NO_BOUND_SECONDS if end_s is None else end_s) * source_fps), total - 1)
    size = (last - first) / num_frames
    return [int(first + size / 2 + np.round(size * k)) for k in range(num_frames)]


RULES: dict[str, Callable[..., list[int]]] = {
    "qwen": qwen, "qwen2_vl": qwen2_vl, "qwen3_vl": qwen3_vl, "smolvlm": smolvlm, "segments": segments,
}  # fmt: skip


def parameters_of(sampling: str) -> tuple[str, ...]:
    """The options that a rule takes.

    Raises:
        ValueError: for a rule that is not one of `RULES`.
    """
    if sampling not in RULES:
        raise ValueError(f"sampling {sampling!r} is not one of {', '.join(RULES)}")
    return tuple(inspect.signature(RULES[sampling]).parameters)[2:]


def choose(total: int, source_fps: float, *, sampling: str, **options: Any) -> list[int]:
    """The frame numbers that a rule chooses of a video of constant rate, without a file.

    Args:
        total: number of frames of the video.
        source_fps: frames a second of the video.
        sampling: a rule of `RULES`.
        **options: its parameters: num_frames, fps, min_frames, max_frames; start_s and end_s of "qwen" and "segments".

    Raises:
        ValueError: the rule or a parameter is not accepted.
        IndexError: the video is too short for the rule.
    """
    accepted = parameters_of(sampling)
    for name, value in options.items():
        if name not in accepted:
            raise ValueError(f'{name} does not go with sampling "{sampling}", which takes {", ".join(accepted)}')
        if name not in ("start_s", "end_s") and value is not None and not value > 0:
            raise ValueError(f"{name} is {value}; it must be above 0")
    if options.get("fps") is not None and options.get("num_frames") is not None:
        raise ValueError("fps and num_frames are both given; leave one out")
    return RULES[sampling](total, source_fps, **options)
