# SPDX-License-Identifier: Apache-2.0
"""torchcodec.samplers: clips of frames at random and at regular places of a video.

They use ``len(decoder)``, its metadata, ``get_frames_at`` and ``get_frames_played_at`` only.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import torch

from tricodec_compat.torchcodec._results import FrameBatch

__all__ = [
    "clips_at_random_indices",
    "clips_at_random_timestamps",
    "clips_at_regular_indices",
    "clips_at_regular_timestamps",
]

Policy = Literal["repeat_last", "wrap", "error"]
_POLICIES = ("repeat_last", "wrap", "error")
_Place = TypeVar("_Place", int, float)


def _filled(clip: list[_Place], length: int, policy: Policy) -> list[_Place]:
    """A clip that reaches past the end, made up to its length."""
    if len(clip) == length:
        return clip
    if policy == "error":
        raise ValueError(
            "a clip needs a frame that is beyond the number of frames in the video, and the policy is 'error'; leave "
            "sampling_range_end at its default"
        )
    if policy == "repeat_last":
        return clip + clip[-1:] * (length - len(clip))
    return [clip[i % len(clip)] for i in range(length)]


def _check_common(decoder: Any, num_frames_per_clip: int, policy: str) -> None:
    if len(decoder) < 1:
        raise ValueError(f"Decoder must have at least one frame, found {len(decoder)} frames.")
    if num_frames_per_clip <= 0:
        raise ValueError(f"num_frames_per_clip ({num_frames_per_clip}) must be strictly positive")
    if policy not in _POLICIES:
        raise ValueError(f"Invalid policy ({policy}). Supported values are {', '.join(_POLICIES)}.")


def _in_clips(frames: FrameBatch, num_clips: int, num_frames_per_clip: int) -> FrameBatch:
    """[clips * frames, ...] as [clips, frames, ...]."""
    shape = (num_clips, num_frames_per_clip)
    return FrameBatch(
        frames.data.view(*shape, *frames.data.shape[1:]),
        frames.pts_seconds.view(shape),
        frames.duration_seconds.view(shape),
    )


def _index_range(length: int, span: int, start: int, end: int | None) -> tuple[int, int]:
    """The numbers from which clips may start."""
    if start < -length:
        raise ValueError(f"sampling_range_start ({start}) must be greater than or equal to {-length}.")
    start = start + length if start < 0 else start
    if start >= length:
        raise ValueError(f"sampling_range_start ({start}) must be smaller than the number of frames ({length}).")
    if end is None:
        end = max(length - span + 1, 1)
        if start >= end:
            raise ValueError(
                f"We determined that sampling_range_end should be {end}, but it is not larger than "
                f"sampling_range_start ({start})."
            )
        return start, end
    end = min(end + length if end < 0 else end, length)
    if start >= end:
        raise ValueError(f"sampling_range_start ({start}) must be smaller than sampling_range_end ({end}).")
    return start, end


def _clips_at_indices(
    decoder: Any, random: bool, num_clips: int, num_frames_per_clip: int, distance: int, start: int, end: int | None,
    policy: Policy,
) -> FrameBatch:  # fmt: skip
    _check_common(decoder, num_frames_per_clip, policy)
    if num_clips <= 0:
        raise ValueError(f"num_clips ({num_clips}) must be > 0")
    if distance <= 0:
        raise ValueError(f"num_indices_between_frames ({distance}) must be strictly positive")
    length = len(decoder)
    span = distance * (num_frames_per_clip - 1) + 1
    start, end = _index_range(length, span, start, end)
    if random:
        starts = torch.randint(start, end, (num_clips,))
    else:
        starts = torch.linspace(start, end - 1, num_clips, dtype=torch.int)
    indices: list[int] = []
    for first in starts.tolist():
        clip = list(range(first, min(first + span, length), distance))
        indices += _filled(clip, num_frames_per_clip, policy)
    return _in_clips(decoder.get_frames_at(indices=indices), num_clips, num_frames_per_clip)


def _time_range(
    begin: float, stream_end: float, start: float | None, end: float | None, last: float
) -> tuple[float, float]:
    """The times from which clips may start; `last` is the distance of a clip's last frame from its first."""
    if start is None:
        start = begin
    elif start < begin:
        raise ValueError(f"sampling_range_start ({start}) must be at least {begin}")
    elif start >= stream_end:
        raise ValueError(f"sampling_range_start ({start}) must be smaller than {stream_end}")
    if end is None:
        end = stream_end - last
    elif end <= begin:
        raise ValueError(f"sampling_range_end ({end}) must be at least {begin}")
    if start >= end:
        raise ValueError(f"sampling_range_start ({start}) must be smaller than sampling_range_end ({end})")
    return start, min(end, stream_end)


def _distance(decoder: Any, seconds_between_frames: float | None) -> float:
    if decoder.metadata.average_fps is None:
        raise ValueError("Could not infer average fps from video metadata; use a sampler by index")
    if decoder.metadata.end_stream_seconds is None:
        raise ValueError("Could not infer stream end from video metadata; use a sampler by index")
    if seconds_between_frames is None:
        return float(1 / decoder.metadata.average_fps)
    if seconds_between_frames <= 0:
        raise ValueError(f"seconds_between_frames ({seconds_between_frames}) must be > 0")
    return seconds_between_frames


def _clips_at_starts(
    decoder: Any, starts: list[float], num_frames_per_clip: int, distance: float, policy: Policy
) -> FrameBatch:
    end = decoder.metadata.end_stream_seconds
    times: list[float] = []
    for start in starts:
        clip = [time for i in range(num_frames_per_clip) if (time := start + i * distance) < end]
        times += _filled(clip, num_frames_per_clip, policy)
    return _in_clips(decoder.get_frames_played_at(seconds=times), len(starts), num_frames_per_clip)


def clips_at_random_indices(
    decoder: Any,
    *,
    num_clips: int = 1,
    num_frames_per_clip: int = 1,
    num_indices_between_frames: int = 1,
    sampling_range_start: int = 0,
    sampling_range_end: int | None = None,
    policy: Policy = "repeat_last",
) -> FrameBatch:
    """Clips that start at random frames, drawn by torch's generator.

    Args:
        decoder: a VideoDecoder.
        num_clips: how many.
        num_frames_per_clip: frames of each.
        num_indices_between_frames: distance of a clip's frames.
        sampling_range_start: the first frame that a clip may start at; negative counts from the end.
        sampling_range_end: the frame before which clips start; None is the last that leaves clips whole.
        policy: what takes the place of frames past the end: "repeat_last" repeats the last frame of the clip, "wrap"
            begins the clip again, "error" raises ValueError.

    Returns:
        A FrameBatch, [clips, frames, ...], with times [clips, frames].

    Raises:
        ValueError: for arguments that are not accepted.
    """
    return _clips_at_indices(
        decoder, True, num_clips, num_frames_per_clip, num_indices_between_frames, sampling_range_start,
        sampling_range_end, policy,
    )  # fmt: skip


def clips_at_regular_indices(
    decoder: Any,
    *,
    num_clips: int = 1,
    num_frames_per_clip: int = 1,
    num_indices_between_frames: int = 1,
    sampling_range_start: int = 0,
    sampling_range_end: int | None = None,
    policy: Policy = "repeat_last",
) -> FrameBatch:
    """Clips that start at frames of equal distance, the first and the last of the range among them.

    Arguments, result and errors are those of clips_at_random_indices().
    """
    return _clips_at_indices(
        decoder, False, num_clips, num_frames_per_clip, num_indices_between_frames, sampling_range_start,
        sampling_range_end, policy,
    )  # fmt: skip


def clips_at_random_timestamps(
    decoder: Any,
    *,
    num_clips: int = 1,
    num_frames_per_clip: int = 1,
    seconds_between_frames: float | None = None,
    sampling_range_start: float | None = None,
    sampling_range_end: float | None = None,
    policy: Policy = "repeat_last",
) -> FrameBatch:
    """Clips that start at random times, drawn by torch's generator.

    Args:
        decoder: a VideoDecoder.
        num_clips: how many.
        num_frames_per_clip: frames of each.
        seconds_between_frames: distance of a clip's frames; None is that of the video on average.
        sampling_range_start: the first time that a clip may start at; None is the start of the stream.
        sampling_range_end: the time before which clips start; None is the last that leaves clips whole.
        policy: as in clips_at_random_indices().

    Returns:
        A FrameBatch, [clips, frames, ...], with times [clips, frames].

    Raises:
        ValueError: for arguments that are not accepted, or a decoder that does not know its rate or its end.
    """
    _check_common(decoder, num_frames_per_clip, policy)
    if num_clips <= 0:
        raise ValueError(f"num_clips ({num_clips}) must be > 0")
    distance = _distance(decoder, seconds_between_frames)
    metadata = decoder.metadata
    start, end = _time_range(
        metadata.begin_stream_seconds, metadata.end_stream_seconds, sampling_range_start, sampling_range_end,
        (num_frames_per_clip - 1) * distance,
    )  # fmt: skip
    starts = torch.rand(num_clips, dtype=torch.float64) * (end - start) + start
    return _clips_at_starts(decoder, starts.tolist(), num_frames_per_clip, distance, policy)


def clips_at_regular_timestamps(
    decoder: Any,
    *,
    seconds_between_clip_starts: float,
    num_frames_per_clip: int = 1,
    seconds_between_frames: float | None = None,
    sampling_range_start: float | None = None,
    sampling_range_end: float | None = None,
    policy: Policy = "repeat_last",
) -> FrameBatch:
    """Clips that start every so many seconds.

    Args:
        decoder: a VideoDecoder.
        seconds_between_clip_starts: distance of the clips.
        num_frames_per_clip: frames of each.
        seconds_between_frames: as in clips_at_random_timestamps().
        sampling_range_start: the time of the first clip; None is the start of the stream.
        sampling_range_end: as in clips_at_random_timestamps().
        policy: as in clips_at_random_indices().

    Returns:
        A FrameBatch, [clips, frames, ...], with times [clips, frames].

    Raises:
        ValueError: for arguments that are not accepted, or a decoder that does not know its rate or its end.
    """
    _check_common(decoder, num_frames_per_clip, policy)
    if seconds_between_clip_starts <= 0:
        raise ValueError(f"seconds_between_clip_starts ({seconds_between_clip_starts}) must be > 0")
    distance = _distance(decoder, seconds_between_frames)
    metadata = decoder.metadata
    start, end = _time_range(
        metadata.begin_stream_seconds, metadata.end_stream_seconds, sampling_range_start, sampling_range_end,
        (num_frames_per_clip - 1) * distance,
    )  # fmt: skip
    starts = torch.arange(start, end, seconds_between_clip_starts, dtype=torch.float64)
    starts = starts[starts < end]  # rounding may give one at the end
    return _clips_at_starts(decoder, starts.tolist(), num_frames_per_clip, distance, policy)
