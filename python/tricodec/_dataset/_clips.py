# SPDX-License-Identifier: Apache-2.0
"""Dataset: the clips of the videos of an index, by number."""

from __future__ import annotations

import bisect
import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from tricodec._dataset._columns import READABLE
from tricodec._dataset._index import DatasetIndex
from tricodec._dataset._sampler import ClipSampler, Last
from tricodec._keywords import TRANSFORM_WORDS, unknown_keyword
from tricodec._tricodec import FrameReader, Transform

_OPEN_READERS = 16


class Dataset:
    """Clips of the videos of an index, by number: a map-style dataset for a DataLoader.

        clips = tricodec.Dataset("videos.parquet", clip_length=16, stride=2, size=(224, 224), layout="CHW")
        print(len(clips), clips[0]["frames"].shape)
        for batch in clips.sampler(batch_size=8):
            items = clips.__getitems__(batch)

    A clip is `clip_length` frames of one video, `stride` apart; the next one of the video begins `step` frames later.
    Clips do not go past the end of a video, and videos that are shorter have none. Which clips there are follows from
    the index alone; no video is opened for that.

    The CPU decodes. An object can be pickled, and works in a child made by ``fork()``.

    Thread safety: safe; reads of one process take turns.
    """

    def __init__(
        self,
        index: DatasetIndex | str | os.PathLike[str],
        *,
        clip_length: int,
        stride: int = 1,
        step: int | None = None,
        num_workers: int = 1,
        **transform_options: Any,
    ) -> None:
        """Lists the clips of an index.

        Args:
            index: an index, or the path of one.
            clip_length: frames of a clip.
            stride: distance from one frame of a clip to the next.
            step: distance from the first frame of a clip to that of the next clip; None is ``clip_length * stride``.
            num_workers: as `FrameReader` takes it.
            **transform_options: options of `Transform`: size, dtype, layout, mean, std, ...

        Raises:
            ValueError: a number is below 1, or an option is not accepted.
            TypeError: an option is unknown.
        """
        self.index = index if isinstance(index, DatasetIndex) else DatasetIndex(index)
        step = clip_length * stride if step is None else step
        for name, value in (("clip_length", clip_length), ("stride", stride), ("step", step)):
            if value < 1:
                raise ValueError(f"{name} is {value}; expected 1 or more")
        for name in transform_options:
            if name not in TRANSFORM_WORDS:
                raise unknown_keyword("Dataset", name, ["clip_length", "stride", "step", *TRANSFORM_WORDS])
        self._transform = Transform(**transform_options)
        self._keywords = {
            "clip_length": clip_length, "stride": stride, "step": step, "num_workers": num_workers, **transform_options,
        }  # fmt: skip
        self._offsets = np.arange(clip_length) * stride
        self._step = step
        self._num_workers = num_workers
        table = self.index.table
        frames = np.array([count or 0 for count in table["num_frames"].to_pylist()], np.int64)
        usable = np.array([status in READABLE for status in table["status"].to_pylist()], bool)
        counts = np.where(usable, np.maximum(frames - self._offsets[-1] - 1 + step, 0) // step, 0)
        self._ends = np.cumsum(counts).tolist()
        digest = hashlib.sha256(f"{clip_length} {stride} {step}\n".encode())
        names = zip(table["path"].to_pylist(), table["checksum"].to_pylist(), counts.tolist(), strict=True)
        for path, checksum, count in names:
            digest.update(f"{path} {checksum} {count}\n".encode())
        self.fingerprint = digest.hexdigest()
        self._forget_readers()

    def __len__(self) -> int:
        """The number of clips."""
        return int(self._ends[-1]) if self._ends else 0

    def __getitem__(self, i: SupportsIndex) -> dict[str, Any]:
        """A clip.

        Returns:
            dict: ``frames`` as `FrameReader.batch` gives them, ``pts_seconds`` (float64), ``video`` (its row in the
            index), ``start`` (the number of its first frame), ``clip`` (its own number).

        Raises:
            IndexError: there is no such clip, or the video is damaged and has fewer frames than the index says.
            Error: the errors of `DatasetIndex.reader` and `FrameReader.batch`.
        """
        return self.__getitems__([i.__index__()])[0]

    def __getitems__(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Clips in the order of a list of numbers; one read decodes those of a video. DataLoader calls it."""
        places = [self._place(number) for number in numbers]
        by_video: dict[int, list[int]] = {}
        for position, (row, _) in enumerate(places):
            by_video.setdefault(row, []).append(position)
        clips: list[dict[str, Any]] = [{} for _ in places]
        with self._lock_here():
            for row, positions in by_video.items():
                reader = self._reader(row)
                starts = [places[position][1] for position in positions]
                wanted = np.concatenate([start + self._offsets for start in starts])
                frames = reader.batch(wanted, self._transform)
                times = reader.pts_seconds[wanted]
                length = len(self._offsets)
                for number, position in enumerate(positions):
                    part = slice(number * length, (number + 1) * length)
                    clips[position] = {
                        "frames": frames[part], "pts_seconds": times[part], "video": row, "start": starts[number],
                        "clip": numbers[position] % len(self),
                    }  # fmt: skip
        return clips

    def sampler(
        self,
        batch_size: int,
        *,
        rank: int = 0,
        num_ranks: int = 1,
        shuffle: bool = True,
        seed: int = 0,
        last: Last = "partial",
    ) -> ClipSampler:
        """Batches of clip numbers for a rank, as `ClipSampler` makes them.

        Args:
            batch_size, rank, num_ranks, shuffle, seed, last: as `ClipSampler` takes them.
        """
        return ClipSampler(
            self, batch_size, rank=rank, num_ranks=num_ranks, shuffle=shuffle, seed=seed, last=last
        )  # fmt: skip

    def close(self) -> None:
        """Closes the open videos. The dataset can be used again."""
        with self._lock_here():
            while self._readers:
                self._readers.popitem()[1].close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (self.index, self._keywords)

    def __repr__(self) -> str:
        return f"<tricodec.Dataset {len(self)} clips of {len(self._offsets)} frames, '{self.index.path}'>"

    def _place(self, number: int) -> tuple[int, int]:
        """The row and the first frame of a clip."""
        clip = number + len(self) if number < 0 else number
        if not 0 <= clip < len(self):
            raise IndexError(f"clip {number} was asked for; there are {len(self)} clips")
        row = bisect.bisect_right(self._ends, clip)
        before = self._ends[row - 1] if row else 0
        return row, (clip - before) * self._step

    def _reader(self, row: int) -> FrameReader:
        reader = self._readers.pop(row, None)
        if reader is None:
            reader = self.index.reader(row, device="cpu", num_workers=self._num_workers)
            if len(self._readers) >= _OPEN_READERS:
                self._readers.popitem(last=False)[1].close()
        self._readers[row] = reader
        return reader

    def _lock_here(self) -> threading.Lock:
        if self._process != os.getpid():  # a child made by fork(): the parent may have been reading
            self._forget_readers()
        return self._lock

    def _forget_readers(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._readers: OrderedDict[int, FrameReader] = OrderedDict()


def _opened(index: DatasetIndex, keywords: dict[str, Any]) -> Dataset:
    return Dataset(index, **keywords)
