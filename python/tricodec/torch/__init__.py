# SPDX-License-Identifier: Apache-2.0
"""Clips of videos for torch's DataLoader: a map-style and an iterable dataset.

    from torch.utils.data import DataLoader
    from tricodec.torch import ClipDataset

    clips = ClipDataset(["a.mp4", "b.mp4"], num_frames=16, fps=8, size=(112, 112))
    for frames, seconds, video in DataLoader(clips, batch_size=4, num_workers=2):
        ...  # uint8 [4, 16, 3, 112, 112], float64 [4, 16], int64 [4]

Both open a file when they read it, in the process that reads: workers may be forked or spawned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

try:
    import torch
    from torch.utils.data import Dataset, IterableDataset, get_worker_info
except ImportError as _error:
    raise ImportError(f"tricodec.torch needs PyTorch ({_error}): pip install 'tricodec[torch]'") from _error

from tricodec._keywords import transform_of
from tricodec._tricodec import FrameReader, Transform
from tricodec.selection import SELECTION_WORDS
from tricodec.torch._clip_loader import ClipLoader, IterableClips

if TYPE_CHECKING:
    from tricodec._words import Layout

__all__ = ["POSITIONS", "Clip", "ClipDataset", "ClipLoader", "ClipStream", "IterableClips"]

Clip: TypeAlias = "tuple[torch.Tensor, torch.Tensor, int]"
POSITIONS = ("random", "middle", "begin")
_OF_CLIPS = ("num_frames", "stride", "fps", "position")
_OF_STREAM = ("num_frames", "drop_last", *SELECTION_WORDS)
_READER_OPTIONS = ("device", "stream_index", "num_workers", "ignore_edit_list", "index")


class ClipDataset(Dataset[Clip]):  # type: ignore[misc,unused-ignore]  # torch may not be installed
    """One clip of each video: a map-style dataset.

    Thread safety: safe.
    """

    def __init__(
        self,
        sources: Sequence[Any],
        *,
        num_frames: int = 16,
        stride: int = 1,
        fps: float | None = None,
        position: str = "random",
        layout: Layout = "CHW",
        **options: Any,
    ) -> None:
        """List the videos; none is opened.

        Args:
            sources: paths or bytes of videos.
            num_frames: frames of a clip. In a shorter video the last frame is repeated.
            stride: distance from one frame to the next.
            fps: frames a second instead of `stride`.
            position: where the clip is: "random" (by torch's generator, which a DataLoader seeds in each worker),
                "middle" or "begin".
            layout: as `Transform` takes it.
            **options: options of `FrameReader` and of `Transform`. `num_workers` is 1 by default: the workers of the
                DataLoader share the cores.

        Raises:
            ValueError, TypeError: an option is not accepted.
        """
        position = position.lower()
        if position not in POSITIONS:
            raise ValueError(f"position is {position!r}; expected one of {', '.join(POSITIONS)}")
        if num_frames < 1 or stride < 1 or (fps is not None and fps <= 0):
            raise ValueError(f"num_frames {num_frames}, stride {stride} and fps {fps} must be above 0")
        self._sources = _listed(sources)
        self._num_frames = num_frames
        self._stride = stride
        self._fps = fps
        self._position = position
        self._reader_options, self._transform = _split("ClipDataset", options, layout, _OF_CLIPS)

    def __len__(self) -> int:
        """Number of videos."""
        return len(self._sources)

    def __getitem__(self, number: int) -> Clip:
        """The clip of a video: frames [F, C, H, W] or as the layout says, their times float64 [F], and its number.

        Raises:
            IndexError: there is no such video.
            Error: the errors of `FrameReader`.
        """
        with FrameReader(self._sources[number], **self._reader_options) as reader:
            indices = self._indices(reader)
            frames = reader.batch(indices, self._transform)
            return torch.from_dlpack(frames), torch.from_numpy(reader.pts_seconds[indices]), number

    def _indices(self, reader: FrameReader) -> list[int]:
        last = reader.num_frames - 1
        if self._fps is None:
            begin = self._begin(max(0, last - (self._num_frames - 1) * self._stride))
            return [min(begin + k * self._stride, last) for k in range(self._num_frames)]
        pts = reader.pts_seconds
        span = (self._num_frames - 1) / self._fps
        room = int((pts <= max(pts[0], pts[-1] - span)).sum()) - 1
        begins = float(pts[self._begin(room)])
        times = [min(begins + k / self._fps, float(pts[-1])) for k in range(self._num_frames)]
        return reader.select(times=times, policy="on_screen")

    def _begin(self, most: int) -> int:
        if self._position == "random":
            return int(torch.randint(most + 1, ()).item())
        return most // 2 if self._position == "middle" else 0


class ClipStream(IterableDataset[Clip]):  # type: ignore[misc,unused-ignore]
    """All clips of all videos, one after another: an iterable dataset. Workers of a DataLoader share the videos."""

    def __init__(
        self,
        sources: Sequence[Any],
        *,
        num_frames: int = 16,
        layout: Layout = "CHW",
        drop_last: bool = True,
        **options: Any,
    ) -> None:
        """List the videos; none is opened.

        Args:
            sources: paths or bytes of videos.
            num_frames: frames of a clip.
            layout: as `Transform` takes it.
            drop_last: leave out the last clip of a video if it has fewer frames.
            **options: options of `FrameReader` and of `Transform`, and the words of `decode_video` that select frames
                of each video (stride, fps, start_s, ...).

        Raises:
            ValueError: an option is not accepted.
        """
        if num_frames < 1:
            raise ValueError(f"num_frames is {num_frames}; it must be at least 1")
        self._sources = _listed(sources)
        self._num_frames = num_frames
        self._drop_last = drop_last
        self._words = {name: options.pop(name) for name in SELECTION_WORDS if name in options}
        self._reader_options, self._transform = _split("ClipStream", options, layout, _OF_STREAM)

    def __iter__(self) -> Iterator[Clip]:
        """The clips of the videos of this worker, as `ClipDataset` gives them."""
        worker = get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        for number in range(first, len(self._sources), step):
            with FrameReader(self._sources[number], **self._reader_options) as reader:
                seconds = reader.pts_seconds[reader.select(**self._words)]
                done = 0
                for frames in reader.batches(
                    self._num_frames, self._transform, drop_last=self._drop_last, **self._words
                ):
                    size = len(frames)
                    yield torch.from_dlpack(frames), torch.from_numpy(seconds[done : done + size]), number
                    done += size


def _listed(sources: Sequence[Any]) -> list[Any]:
    if isinstance(sources, str | bytes):
        raise TypeError(f"sources is one video, {sources[:80]!r}; put it into a list")
    return list(sources)


def _split(
    call: str, options: dict[str, Any], layout: Layout, others: Sequence[str]
) -> tuple[dict[str, Any], Transform]:
    """Options of a reader, and the Transform of the others."""
    of_reader = {name: options.pop(name) for name in _READER_OPTIONS if name in options}
    return {"device": "cpu", "num_workers": 1, **of_reader}, transform_of(
        call, {"layout": layout, **options}, [*others, *_READER_OPTIONS]
    )
