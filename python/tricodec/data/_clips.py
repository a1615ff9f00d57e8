# SPDX-License-Identifier: Apache-2.0
"""Dataset: the clips of the videos of an index, by number."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, SupportsIndex

import numpy as np

from tricodec.data._clip_list import ClipList, check_clips, list_clips
from tricodec.data._clip_reader import ON_DAMAGE, ClipReader, DamagedClip, OnDamage
from tricodec.data._index import DatasetIndex, IndexSource, index_of
from tricodec.errors import CorruptDataError
from tricodec.options import transform_of


class Dataset:
    """Clips of the videos of an index, by number: a map-style dataset for a DataLoader.

        clips = tricodec.data.Dataset("videos.parquet", clip_length=16, stride=2, size=(224, 224), layout="CHW")
        print(len(clips), clips[0]["frames"].shape)
        for batch in tricodec.data.ClipBatches(clips, 8, seed=1):
            print(batch["frames"].shape)  # [8, 16, 3, 224, 224]

    A clip is `clip_length` frames of one video, `stride` apart; the next clip of the video starts `step` frames later.
    Clips do not go past the end of a video or part, and those that are shorter have none. Which clips there are
    follows from the index and the arguments alone.

    An object can be pickled, and works in a child made by ``fork()``.

    Videos that cannot be read or are shorter than a clip are left out, with a warning that counts them.

    Thread safety: safe.
    """

    def __init__(
        self,
        index: IndexSource,
        *,
        clip_length: int,
        stride: int = 1,
        step: int | None = None,
        fps: float | None = None,
        parts: Iterable[Mapping[str, Any]] | None = None,
        members: Sequence[str] = (),
        on_damage: OnDamage = "raise",
        device: str = "cpu",
        num_workers: int = 1,
        **transform_options: Any,
    ) -> None:
        """Lists the clips of an index.

        Args:
            index: an index, or the path of one; or the sources of `DatasetIndex.build`: folders, files, tar archives,
                URLs. Their index is kept in the folder for caches (XDG_CACHE_HOME), and updated now.
            clip_length: frames of a clip.
            stride: distance from one frame of a clip to the next.
            step: distance from the first frame of a clip to that of the next clip; None is ``clip_length * stride``.
            fps: frames a second, in which the numbers above count then: a clip has the frames on screen at instants
                of this rate, as ``fps`` of `decode_video`. None: they count the frames of the video.
            parts: what is cut into clips, instead of whole videos: scenes, actions. Mappings or a pyarrow.Table with
                the column path, as the index has it, and start and count (frames) or start_s and end_s (seconds). A
                clip then has ``part``, the number of its part, for the labels of parts.
            members: extensions of files in the samples of a tar archive that a clip has too, under these names: texts
                if they are UTF-8, else bytes.
            on_damage: how a clip that cannot be given whole is handled, which includes videos that cannot be opened.
                "raise" is an error. "skip" leaves it out: the batch is shorter, and lists it. From a damaged packet
                on, a group of pictures counts as damaged.
            device: as in `FrameReader`; "cpu" unless it is named.
            num_workers: as in `FrameReader`.
            **transform_options: options of `Transform`: size, dtype, layout, mean, std, ...

        Raises:
            ValueError: a number is below 1, an option is not accepted, a part is of a video that is not in the index,
                or there is no clip.
            TypeError: an option is unknown.
        """
        index = index_of(index)
        rows: Any = parts
        if hasattr(rows, "to_pylist"):
            rows = rows.to_pylist()
        table = None if rows is None else [dict(row) for row in rows]
        clips = list_clips(index, clip_length, stride, step, fps, table)
        check_clips(index, clips, "video" if table is None else "part")
        self._has_parts = table is not None
        self._members = tuple(members)
        names = ["part"] * self._has_parts + list(self._members)
        self._set_up(index, clips, names, on_damage, {"device": device, "num_workers": num_workers}, transform_options)

    def _set_up(
        self,
        index: DatasetIndex,
        clips: ClipList,
        names: Sequence[str],
        on_damage: OnDamage,
        reader_options: dict[str, Any],
        transform_options: dict[str, Any],
    ) -> None:
        """Takes clips that are listed. `names` is what they have beside their frames."""
        if on_damage not in ON_DAMAGE:
            raise ValueError(f"on_damage is {on_damage!r}; accepted are {', '.join(map(repr, ON_DAMAGE))}")
        transform_of(type(self), transform_options)  # refuses wrong options here
        self.index = index
        self.fingerprint = clips.fingerprint(index)
        """A text that differs if the videos or the choice of clips do."""
        self._clips = clips
        self._names = ["frames", "pts_seconds", "video", "start", "clip", *names]
        self._may_skip = on_damage == "skip"
        self._device = str(reader_options["device"])
        self._reading = (index, clips, transform_options, reader_options, on_damage)
        self._open()

    def __len__(self) -> int:
        return len(self._clips)

    def __getitem__(self, i: SupportsIndex) -> dict[str, Any]:
        """A clip.

        Returns:
            dict: ``frames`` as `FrameReader.batch` gives them, ``pts_seconds`` (float64), ``video`` (its row in the
            index), ``start`` (the number of its first frame), ``clip`` (its own number), and what `parts` and
            `members` add.

        Raises:
            IndexError: there is no such clip.
            CorruptDataError: the clip is damaged.
            Error: the errors of `DatasetIndex.reader` and `FrameReader.batch`.
        """
        number = self._checked(i.__index__())
        found = self._read(self._clips.row(number), [number])[0]
        if isinstance(found, DamagedClip):
            raise CorruptDataError(f"clip {number} of '{found.path}' is left out: {found.message}")
        return found

    def __getitems__(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Clips in the order of a list of numbers; one read decodes those of a video. DataLoader calls it.

        With ``on_damage="skip"`` damaged clips are not in the list.
        """
        numbers = [self._checked(number) for number in numbers]
        by_row: dict[int, list[int]] = {}
        for number in numbers:
            by_row.setdefault(self._clips.row(number), []).append(number)
        found = {
            number: clip
            for row, clips in by_row.items()
            for number, clip in zip(clips, self._read(row, clips), strict=True)
        }
        return [clip for clip in map(found.__getitem__, numbers) if isinstance(clip, dict)]

    def close(self) -> None:
        """Closes the open videos. The dataset can be used again."""
        self._reader_here().close()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_reader"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    def __repr__(self) -> str:
        return f"<tricodec.data.{type(self).__name__} of {len(self)} clips, '{self.index.path}'>"

    def _open(self) -> None:
        self._process = os.getpid()
        self._reader = ClipReader(*self._reading)

    def _reader_here(self) -> ClipReader:
        if self._process != os.getpid():  # a child made by fork(): the parent may have been reading
            self._open()
        return self._reader

    def _checked(self, number: int) -> int:
        clip = number + len(self) if number < 0 else number
        if not 0 <= clip < len(self):
            raise IndexError(f"clip {number} was asked for; there are {len(self)} clips")
        return clip

    def _read(
        self, row: int, clips: Sequence[int], outs: Sequence[Any] | None = None
    ) -> list[dict[str, Any] | DamagedClip]:
        """Clips of one video; their frames in `outs` if they fit."""
        found = self._reader_here().read(row, clips, outs or [None] * len(clips))
        for number, clip in zip(clips, found, strict=True):
            if isinstance(clip, dict):
                clip.update(self._more(row, number))
        return found

    def _more(self, row: int, clip: int) -> dict[str, Any]:
        """What a clip has beside its frames."""
        more: dict[str, Any] = {"part": self._clips.place(clip)[0]} if self._has_parts else {}
        sample = self.index.sample(row) if self._members else {}
        for name in self._members:
            if name not in sample:
                raise ValueError(f"'{self.index.table['path'][row].as_py()}' has no file '{name}' in its sample")
            try:
                more[name] = sample[name].decode()
            except UnicodeDecodeError:
                more[name] = sample[name]
        return more

    def _batch_shape(self, clips: Sequence[int], device: str) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
        """The shape and dtype of the frames of a batch, if all clips have one shape and this device decodes them."""
        shapes = {self._reader.clip_shape(self._clips.row(clip)) for clip in clips}
        dtype = self._reader.dtype
        if len(shapes) != 1 or self._device != device or dtype is None:
            return None
        return (len(clips), *shapes.pop()), dtype

    def _groups(self, clip: int) -> tuple[int, int, int]:
        """The row of a clip's video, and about the first and the last group of pictures that the clip needs."""
        row = self._clips.row(clip)
        frames = self._clips.near(clip, self.index.table["fps"][row].as_py() or 0.0)
        starts = self.index.table["gop_first_frame"][row].values.to_numpy(zero_copy_only=False)
        first, last = starts.searchsorted(frames, "right") - 1
        return row, int(first), int(last)

    def _clip_bytes(self, clip: int) -> int:
        dtype = self._reader.dtype
        return math.prod(self._reader.clip_shape(self._clips.row(clip))) * (8 if dtype is None else dtype.itemsize)
