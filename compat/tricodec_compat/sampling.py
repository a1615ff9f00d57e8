# SPDX-License-Identifier: Apache-2.0
"""Frames of a video for vision-language models: which ones, their true times, and what a processor wants to know.

    from tricodec_compat import sampling

    clip = sampling.sample("video.mp4", sampling="qwen", fps=2.0, max_frames=64)
    clip.frames          # uint8 [F, H, W, 3]
    clip.pts_seconds     # the true times, which prompts with times should state
    clip.metadata        # for transformers' processors: total_num_frames, fps, frames_indices, ...

docs/migration/compat.md lists the rules, their formulas and the models that use them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tricodec import FrameReader, decode_video
from tricodec.node import NodeReader

from tricodec_compat._rules import RULES, choose, parameters_of
from tricodec_compat._turns import opened

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["RULES", "SampledVideo", "choose", "sample", "smart_resize", "timestamps_text"]

QWEN_MAX_RATIO = 200
_BACKEND = "tricodec"
_PARAMETERS = ("fps", "num_frames", "min_frames", "max_frames", "start_s", "end_s")


@dataclass(frozen=True, slots=True, eq=False)
class SampledVideo:
    """Frames for a model, and where they are in their video."""

    frames: Any
    """[F, H, W, C] or as the layout says, as `DecodedVideo.frames`."""
    indices: npt.NDArray[np.int64]
    """Number of each frame in the video, int64 [F]."""
    pts_seconds: npt.NDArray[np.float64]
    """True presentation time of each frame in seconds, float64 [F]. A processor that reckons index / fps is wrong for
    videos of variable rate, and for those that do not begin at 0."""
    fps: float
    """Frames a second of the source on average."""
    num_frames: int
    """Number of frames of the source."""
    width: int
    """Width of the source's upright pictures in pixels."""
    height: int
    """Height of the source's upright pictures in pixels."""
    duration: float
    """Seconds from the source's first frame to the end of its last."""
    num_damaged_packets: int = 0
    """As `DecodedVideo.num_damaged_packets`."""

    def __len__(self) -> int:
        """Number of sampled frames."""
        return len(self.indices)

    @property
    def sampled_fps(self) -> float:
        """Sampled frames a second of the source: what Qwen's processors call ``fps`` or ``sample_fps``."""
        return len(self.indices) / max(self.num_frames, 1e-6) * self.fps

    @property
    def metadata(self) -> dict[str, Any]:
        """The keys of transformers' ``VideoMetadata``, which vLLM and SGLang take too, and no others.

        ``frames_indices`` are numbers of the source's frames, and ``fps`` is the source's, so that index / fps is the
        time. The frames are sampled already: pass ``do_sample_frames=False`` to the processor.
        """
        return {
            "total_num_frames": self.num_frames,
            "fps": self.fps,
            "width": self.width,
            "height": self.height,
            "duration": self.duration,
            "video_backend": _BACKEND,
            "frames_indices": self.indices.tolist(),
        }

    def metadata_with_true_times(self, fps: float = 1000.0) -> dict[str, Any]:
        """The metadata of a video of constant rate in which index / fps are the true times, to 1 / (2 fps) seconds.

        Args:
            fps: rate of that video; the default gives milliseconds.
        """
        ticks = [round((time - min(0.0, *self.pts_seconds.tolist())) * fps) for time in self.pts_seconds.tolist()]
        total = max(round(self.duration * fps), ticks[-1] + 1 if ticks else 0)
        return {**self.metadata, "fps": fps, "total_num_frames": total, "frames_indices": ticks}


def sample(source: Any, *, sampling: str | None = None, **options: Any) -> SampledVideo:
    """Read the frames that a rule chooses.

    Of threads that call it at once for files or bytes, as many decode as there are cores, or 8 on a GPU; others wait.

    Args:
        source: as in `tricodec.decode_video`, or an open FrameReader.
        sampling: a rule of `RULES`, or one that `tricodec.decode_video` has. None takes the frames that the other
            options select.
        **options: the parameters of the rule; start, start_s and end_s choose a part of the video. Also the other
            options of `tricodec.decode_video`: device, size, dtype, layout, ...

    Raises:
        ValueError: an option is not accepted.
        IndexError: the video is too short for the rule, or a time has no frame.
        Error: the other errors of `tricodec.decode_video`.

    Thread safety: safe; an open FrameReader takes one call at a time.
    """
    if isinstance(source, FrameReader):
        return _sampled(source, sampling, options)
    names = ("device", "stream_index", "num_workers", "ignore_edit_list", "context", "stream")
    of_reader = {name: options.pop(name) for name in names if name in options}
    with opened(source, **of_reader) as reader:
        return _sampled(reader, sampling, options)


def _sampled(reader: FrameReader | NodeReader, sampling: str | None, options: dict[str, Any]) -> SampledVideo:
    selection: dict[str, Any] = {}
    if sampling in RULES:
        selection = {"indices": chosen(reader, sampling, options)}
    elif sampling is not None:
        selection = {"sampling": sampling}
    options |= selection
    video = decode_video(reader, **options) if isinstance(reader, FrameReader) else reader.decode(**options)
    indices = video.indices
    assert indices is not None
    return SampledVideo(
        video.frames, indices, video.pts_seconds, reader.fps, reader.num_frames, reader.width, reader.height,
        reader.duration, video.num_damaged_packets,
    )  # fmt: skip


def chosen(reader: FrameReader | NodeReader, sampling: str, options: dict[str, Any]) -> list[int]:
    """The frame numbers that a rule of `RULES` chooses of an open video. Takes its parameters out of `options`."""
    accepted = parameters_of(sampling)
    part = {
        name: options.pop(name) for name in ("start", "start_s", "end_s") if name in options and name not in accepted
    }
    numbers = reader.select(**part) if part else range(reader.num_frames)
    given = {name: options.pop(name) for name in _PARAMETERS if options.get(name) is not None}
    return [numbers[place] for place in choose(len(numbers), reader.fps, sampling=sampling, **given)]


def smart_resize(
    height: int,
    width: int,
    *,
    factor: int = 28,
    min_pixels: int = 4 * 28 * 28,
    max_pixels: int = 16384 * 28 * 28,
) -> tuple[int, int]:
    """The (height, width) to which Qwen's models resize a picture: multiples of `factor` within bounds of pixels.

    Args:
        height, width: of the picture.
        factor: pixels of a patch times 2: 28 for Qwen2-VL and 2.5, 32 for Qwen3-VL.
        min_pixels, max_pixels: bounds of height times width.

    Raises:
        ValueError: one side is more than 200 times the other.
    """
    height, width = int(height), int(width)  # torch's tensors too
    if max(height, width) / min(height, width) > QWEN_MAX_RATIO:
        raise ValueError(f"the picture is {width}x{height}; Qwen's models take sides of at most 1 to {QWEN_MAX_RATIO}")
    new_height = max(factor, round(height / factor) * factor)
    new_width = max(factor, round(width / factor) * factor)
    if new_height * new_width > max_pixels:
        beta = math.sqrt(height * width / max_pixels)
        new_height = math.floor(height / beta / factor) * factor
        new_width = math.floor(width / beta / factor) * factor
    elif new_height * new_width < min_pixels:
        beta = math.sqrt(min_pixels / (height * width))
        new_height = math.ceil(height * beta / factor) * factor
        new_width = math.ceil(width * beta / factor) * factor
    return new_height, new_width


def timestamps_text(seconds: Sequence[float], *, temporal_patch: int = 2) -> list[str]:
    """Qwen3-VL's markers of time, ``<1.5 seconds>``: one for each temporal patch, the middle of its first and last."""
    padded = [*seconds, *([seconds[-1]] * (-len(seconds) % temporal_patch if len(seconds) else 0))]
    return [
        f"<{(padded[first] + padded[first + temporal_patch - 1]) / 2:.1f} seconds>"
        for first in range(0, len(padded), temporal_patch)
    ]
