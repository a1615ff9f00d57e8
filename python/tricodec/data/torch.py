# SPDX-License-Identifier: Apache-2.0
"""Clips of videos for PyTorch: a loader of the clips of a `tricodec.data.Dataset`, and a clip of each of some files.

from tricodec.data.torch import ClipLoader

clips = tricodec.data.Dataset("videos/", clip_length=16, size=(224, 224), layout="CHW")
for batch in ClipLoader(clips, 8, seed=1):
    ...  # batch["frames"]: uint8 [8, 16, 3, 224, 224]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

try:
    import torch
    import torch.distributed
    from torch.utils.data import Dataset as TorchDataset
    from torch.utils.data import default_convert
except ImportError as _error:
    raise ImportError(f"tricodec.data.torch needs PyTorch ({_error}): pip install torch") from _error

from tricodec._tricodec import FrameReader
from tricodec.data._batches import ClipBatches, HostMemory
from tricodec.data._clips import Dataset
from tricodec.node import NodeDeviceArray, NodeReader, active
from tricodec.options import transform_of

if TYPE_CHECKING:
    from tricodec._option_types import Layout

__all__ = ["Clip", "ClipDataset", "ClipLoader", "collate", "stack"]

Clip: TypeAlias = "tuple[torch.Tensor, torch.Tensor, int]"
_POSITIONS = ("random", "middle", "start")


class ClipLoader(ClipBatches):
    """Batches of clips as tensors, read ahead by threads, with a place that can be saved.

        clips = tricodec.data.Dataset("videos.parquet", clip_length=16, size=(224, 224), layout="CHW")
        loader = ClipLoader(clips, 8, seed=1)
        for batch in loader:
            print(batch["frames"].shape)  # uint8 [8, 16, 3, 224, 224]
            state = loader.state_dict()

    A state counts the clips that all ranks were given: a run that continues with another number of ranks or clips a
    batch reads exactly the clips that are left. If the data set's device is a GPU, ``frames`` is a tensor there.

    Thread safety: one thread at a time.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        *,
        rank: int | None = None,
        num_ranks: int | None = None,
        **options: Any,
    ) -> None:
        """Starts at epoch 0.

        Args:
            dataset: the clips.
            batch_size: clips of a batch.
            rank, num_ranks: as in `ClipSampler`; None is what ``torch.distributed`` says, or the only one.
            **options: shuffle, seed, drop_last, read_ahead_bytes and num_threads of `ClipBatches`.

        Raises:
            ValueError: an argument is not accepted.
        """
        if rank is None or num_ranks is None:
            if rank is not num_ranks:
                raise ValueError(f"rank is {rank} and num_ranks is {num_ranks}; name both or none")
            is_running = torch.distributed.is_available() and torch.distributed.is_initialized()
            rank = torch.distributed.get_rank() if is_running else 0
            num_ranks = torch.distributed.get_world_size() if is_running else 1
        super().__init__(dataset, batch_size, rank=rank, num_ranks=num_ranks, **options)
        if dataset._device.startswith("cuda"):
            self._memory = DeviceMemory(dataset, dataset._device)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Batches as `ClipBatches` gives them, with tensors."""
        for batch in super().__iter__():
            if isinstance(self._memory, DeviceMemory):
                batch["frames"] = self._memory.to_tensors(batch["frames"])
            yield default_convert(batch)


class DeviceMemory(HostMemory):
    """Memory for the frames of batches on a GPU.

    Note [Memory of batches on a GPU]: a batch is written by threads that wait for their frames, while the model's
    stream is at work. If its memory were of that stream, the writes would wait for the model. So it is allocated on a
    stream of its own, without work, and the consumer's stream is recorded: torch gives the memory out again after that
    stream has passed the place where the tensor was dropped.

    Thread safety: one thread at a time.
    """

    def __init__(self, dataset: Dataset, device: str) -> None:
        super().__init__(dataset)
        self._device = device
        self._stream: Any = None

    def of(self, clips: Sequence[int]) -> Any:
        """Returns an array with one element a clip; None if its shape is not known."""
        found = self._dataset._batch_shape(clips, self._device)
        if found is None or not torch.cuda.is_available():
            return None
        shape, dtype = found
        self._stream = self._stream or torch.cuda.Stream(self._device)
        with torch.cuda.stream(self._stream):
            of_torch = torch.from_numpy(np.empty(0, dtype)).dtype
            return _Frames(torch.empty(shape, dtype=of_torch, device=self._device))

    def put(self, memory: Any, place: int, frames: Any) -> None:
        """Copies the frames of a clip to their place, unless they are there."""
        to = memory.tensor[place]
        if not isinstance(frames, _Frames):
            to.copy_(torch.from_dlpack(frames))
        elif frames.tensor.data_ptr() != to.data_ptr():
            to.copy_(frames.tensor)

    def to_tensors(self, frames: Any) -> Any:
        """The frames of a batch for the stream that is current."""
        if isinstance(frames, _Frames):
            if frames.tensor.is_cuda:
                frames.tensor.record_stream(torch.cuda.current_stream(self._device))
            return frames.tensor
        return [torch.from_dlpack(each) for each in frames]


class _Frames:
    """A tensor as an array without a stream: a reader that writes there waits for no work of torch."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.shape = tuple(tensor.shape)
        if tensor.is_cuda:
            self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, "version": 3, "stream": None}
        else:
            self.__array_interface__ = tensor.numpy().__array_interface__

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, place: int | slice) -> _Frames:
        return _Frames(self.tensor[place])


class ClipDataset(TorchDataset[Clip]):  # type: ignore[misc,unused-ignore]  # torch may not be installed
    """One clip of each of some files: a map-style dataset for a DataLoader, without an index.

    A file is opened when it is read, in the process that reads: workers may be forked or spawned. With a node
    (`tricodec.node.use` or TRICODEC_NODE) the node reads. Frames on a GPU are then arrays that a worker passes on
    without a CUDA context: give the DataLoader ``collate_fn=collate``, and call `stack` on its batches.

    Thread safety: safe.
    """

    def __init__(
        self,
        sources: Sequence[Any],
        *,
        num_frames: int = 16,
        stride: int = 1,
        fps: float | None = None,
        position: Literal["random", "middle", "start"] = "random",
        device: str = "cpu",
        num_workers: int = 1,
        layout: Layout = "CHW",
        **transform_options: Any,
    ) -> None:
        """Lists the videos; none is opened.

        Args:
            sources: paths or bytes of videos.
            num_frames: frames of a clip. In a shorter video the last frame is repeated.
            stride: distance from one frame to the next.
            fps: frames a second instead of `stride`.
            position: where the clip is: "random" (by torch's generator, which a DataLoader seeds in each worker),
                "middle" or "start".
            device, num_workers: as in `FrameReader`; the workers of the DataLoader share the cores.
            layout: as in `Transform`.
            **transform_options: other options of `Transform`: size, dtype, mean, std, ...

        Raises:
            ValueError, TypeError: an option is not accepted.
        """
        if isinstance(sources, str | bytes):
            raise TypeError(f"sources is one video, {sources[:80]!r}; put it into a list")
        if position not in _POSITIONS:
            raise ValueError(f"position is {position!r}; expected one of {', '.join(_POSITIONS)}")
        if num_frames < 1 or stride < 1 or (fps is not None and fps <= 0):
            raise ValueError(f"num_frames {num_frames}, stride {stride} and fps {fps} must be above 0")
        self._sources = list(sources)
        self._num_frames = num_frames
        self._stride = stride
        self._fps = fps
        self._position = position
        self._reader_options: dict[str, Any] = {"device": device, "num_workers": num_workers}
        self._transform = transform_of(type(self), {"layout": layout, **transform_options})

    def __len__(self) -> int:
        """Number of videos."""
        return len(self._sources)

    def __getitem__(self, number: int) -> Clip:
        """The clip of a video: frames [F, C, H, W] or as the layout says, their times float64 [F], and its number.

        Raises:
            IndexError: there is no such video.
            Error: the errors of `FrameReader`.
        """
        source, node = self._sources[number], active()
        with (
            FrameReader(source, **self._reader_options)
            if node is None
            else node.open(source, device=self._reader_options["device"])
        ) as video:
            indices = self._indices(video)
            frames = video.batch(indices, **self._transform.options)
            frames = frames if isinstance(frames, NodeDeviceArray) else torch.from_dlpack(frames)
            return frames, torch.from_numpy(video.pts_seconds[indices]), number

    def _indices(self, reader: FrameReader | NodeReader) -> list[int]:
        last = reader.num_frames - 1
        if self._fps is None:
            first = self._first(max(0, last - (self._num_frames - 1) * self._stride))
            return [min(first + k * self._stride, last) for k in range(self._num_frames)]
        pts = reader.pts_seconds
        span = (self._num_frames - 1) / self._fps
        room = int((pts <= max(pts[0], pts[-1] - span)).sum()) - 1
        start = float(pts[self._first(room)])
        times = [min(start + k / self._fps, float(pts[-1])) for k in range(self._num_frames)]
        return reader.select(times=times, policy="on_screen")

    def _first(self, most: int) -> int:
        if self._position == "random":
            return int(torch.randint(most + 1, ()).item())
        return most // 2 if self._position == "middle" else 0


def collate(clips: Sequence[Any]) -> tuple[list[Any], torch.Tensor, torch.Tensor]:
    """Join clips of a `ClipDataset` without a copy of their frames: a list of those, their times, and their numbers."""
    frames, seconds, numbers = zip(*clips, strict=True)
    return list(frames), torch.stack(seconds), torch.tensor(numbers)


def stack(frames: Sequence[Any]) -> torch.Tensor:
    """One tensor [B, F, C, H, W] of the frames of a batch of `collate`, on the device where they are."""
    return torch.stack([torch.from_dlpack(each) for each in frames])
