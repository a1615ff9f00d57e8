# SPDX-License-Identifier: Apache-2.0
"""Dataset: the clips of the videos of an index, by number."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, SupportsIndex

import numpy as np

from tricodec._dataset._batches import ClipBatches, collate
from tricodec._dataset._cached import IndexSource, index_of
from tricodec._dataset._clip_list import ClipList, check_clips, list_clips, read_parts
from tricodec._dataset._clip_reader import ClipReader
from tricodec._dataset._damage import ON_DAMAGE, DamagedClip, OnDamage
from tricodec._dataset._index import DatasetIndex
from tricodec._dataset._labels import LabelSource, read_labels
from tricodec._dataset._sampler import ClipSampler, Last
from tricodec._keywords import TRANSFORM_WORDS, unknown_keyword
from tricodec.errors import CorruptDataError

_OWN_WORDS = (
    "clip_length",
    "stride",
    "step",
    "fps",
    "parts",
    "labels",
    "members",
    "on_damage",
    "device",
    "num_workers",
)


class Dataset:
    """Clips of the videos of an index, by number: a map-style dataset for a DataLoader.

        clips = tricodec.Dataset("videos.parquet", clip_length=16, stride=2, size=(224, 224), layout="CHW")
        print(len(clips), clips[0]["frames"].shape)
        for batch in clips.batches(8, seed=1):
            print(batch["frames"].shape)  # [8, 16, 3, 224, 224]

    A clip is `clip_length` frames of one video, `stride` apart; the next one of the video begins `step` frames later.
    Clips do not go past the end of a video or part, and those that are shorter have none. Which clips there are
    follows from the index and the arguments alone.

    An object can be pickled, and works in a child made by ``fork()``.

    Videos that cannot be read or are shorter than a clip are left out, with a warning that counts them.

    Thread safety: safe.
    """

    _PART = "video"

    def __init__(
        self,
        index: IndexSource,
        *,
        clip_length: int | None = None,
        stride: int = 1,
        step: int | None = None,
        fps: float | None = None,
        parts: Iterable[Mapping[str, Any]] | str | os.PathLike[str] | None = None,
        labels: LabelSource | None = None,
        members: Sequence[str] = (),
        on_damage: OnDamage = "raise",
        device: str = "cpu",
        num_workers: int = 1,
        **transform_options: Any,
    ) -> None:
        """Lists the clips of an index.

        Args:
            index: an index, or the path of one; or what `DatasetIndex.build` takes as sources: folders, files, tar
                archives, URLs. Their index is kept in the folder for caches (XDG_CACHE_HOME), and updated now.
            clip_length: frames of a clip. None: each of `parts` is one clip.
            stride: distance from one frame of a clip to the next.
            step: distance from the first frame of a clip to that of the next clip; None is ``clip_length * stride``.
            fps: frames a second, in which the numbers above count then: a clip has the frames on screen at instants
                of this rate, as ``fps`` of `decode_video`. None: they count the frames of the video.
            parts: what is cut into clips, instead of whole videos: scenes, actions. Mappings, a pyarrow.Table, or a
                CSV or Parquet file with the column path, as the index has it, and start and count (frames) or start_s
                and end_s (seconds). Without `clip_length`: with the words of `decode_video` that select frames.
            labels: "folder" (the name of the folder that a video is in), a column of `parts` or of the index, a
                mapping from path to label, a list with a label for each video, a CSV or Parquet file with the columns
                path and label, or the extension of a file in the samples of a tar archive, such as "cls". Texts
                become numbers in the order of `label_names`.
            members: extensions of files in the samples of a tar archive that a clip has too, under these names: texts
                if they are UTF-8, else bytes.
            on_damage: how a clip that cannot be given whole is handled, which includes videos that cannot be opened.
                "raise" is an error. "skip" leaves it out: the batch is shorter, and lists it. "pad" repeats the whole
                frame before each damaged one, and a clip has ``valid``, bool [F]; of videos that cannot be read all is
                0. From a damaged packet on, a group of pictures counts as damaged.
            device: as `FrameReader` takes it; "cpu" unless it is named.
            num_workers: as `FrameReader` takes it.
            **transform_options: options of `Transform`: size, dtype, layout, mean, std, ...

        Raises:
            ValueError: a number is below 1, an option is not accepted, a part is of a video that is not in the index,
                a video has no label, or there is no clip.
            TypeError: an option is unknown.
        """
        self.index = index_of(index)
        for name in transform_options:
            if name not in TRANSFORM_WORDS:
                raise unknown_keyword("Dataset", name, [*_OWN_WORDS, *TRANSFORM_WORDS])
        if on_damage not in ON_DAMAGE:
            raise ValueError(f"on_damage is {on_damage!r}; accepted are {', '.join(map(repr, ON_DAMAGE))}")
        table = None if parts is None else read_parts(parts)
        self._keywords = {
            "clip_length": clip_length, "stride": stride, "step": step, "fps": fps, "parts": table, "labels": labels,
            "members": tuple(members), "on_damage": on_damage, "device": device, "num_workers": num_workers,
            **transform_options,
        }  # fmt: skip
        self._may_skip = on_damage == "skip"
        self._clips = self._list(clip_length, stride, step, fps, table)
        check_clips(self.index, self._clips, self._PART if table is None else "part")
        self.fingerprint = self._clips.fingerprint(self.index)
        self.label_names: list[str] = []
        """The text of each label, if labels are texts."""
        self._labels = None
        if labels is not None:
            found = read_labels(labels, self.index, self._clips.rows.tolist(), table)
            self._labels, self.label_names = found.values, found.names
        self._reader_options: dict[str, Any] = {"device": device, "num_workers": num_workers}
        self._on_damage: OnDamage = on_damage
        self._transform_options = transform_options
        self._process = os.getpid()
        self._reader = self._new_reader()
        self._names = ["frames", "pts_seconds", "video", "start", "clip"]
        self._members = tuple(members)
        self._names += self._members
        self._names += ["valid"] * (on_damage == "pad") + ["label"] * (labels is not None)

    def __len__(self) -> int:
        """The number of clips."""
        return len(self._clips)

    def __getitem__(self, i: SupportsIndex) -> dict[str, Any]:
        """A clip.

        Returns:
            dict: ``frames`` as `FrameReader.batch` gives them, ``pts_seconds`` (float64), ``video`` (its row in the
            index), ``start`` (the number of its first frame), ``clip`` (its own number), with `labels` ``label``, and
            with ``on_damage="pad"`` ``valid``.

        Raises:
            IndexError: there is no such clip, or its words select frames that the video does not have.
            CorruptDataError: the clip is damaged, and ``on_damage`` is not "pad".
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
        by_video: dict[int, list[int]] = {}
        for position, number in enumerate(numbers):
            by_video.setdefault(self._clips.row(number), []).append(position)
        found: list[Any] = [None] * len(numbers)
        for row, positions in by_video.items():
            clips = self._read(row, [numbers[position] for position in positions])
            for position, clip in zip(positions, clips, strict=True):
                found[position] = clip
        return [clip for clip in found if isinstance(clip, dict)]

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

    def batches(
        self,
        batch_size: int,
        *,
        read_ahead_bytes: int = 256 << 20,
        num_threads: int = 0,
        rank: int = 0,
        num_ranks: int = 1,
        shuffle: bool = True,
        seed: int = 0,
        last: Last = "partial",
    ) -> ClipBatches:
        """The batches of a rank with their frames, read ahead by threads.

        Args:
            batch_size: as `ClipSampler` takes it.
            read_ahead_bytes: bound of the memory of the frames that are read ahead. Clips of it that need the same
                group of pictures are decoded together. The next batch is read whatever it takes.
            num_threads: videos read at once; 0 is the number of cores.
            rank, num_ranks, shuffle, seed, last: as `ClipSampler` takes them.

        Returns:
            ClipBatches: an iterable of dicts, with ``state_dict()`` and ``load_state_dict()``.

        Raises:
            ValueError: an argument is not accepted.
        """
        sampler = self.sampler(batch_size, rank=rank, num_ranks=num_ranks, shuffle=shuffle, seed=seed, last=last)
        return ClipBatches(self, sampler, read_ahead_bytes, num_threads)

    def close(self) -> None:
        """Closes the open videos. The dataset can be used again."""
        self._reader_here().close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (self.index, self._keywords)

    def __repr__(self) -> str:
        return f"<tricodec.Dataset of {len(self)} clips, '{self.index.path}'>"

    def _checked(self, number: int) -> int:
        clip = number + len(self) if number < 0 else number
        if not 0 <= clip < len(self):
            raise IndexError(f"clip {number} was asked for; there are {len(self)} clips")
        return clip

    def _read(
        self, row: int, clips: Sequence[int], outs: Sequence[Any] | None = None
    ) -> list[dict[str, Any] | DamagedClip]:
        """Clips of one video; their frames in `outs` if that is possible."""
        found = self._reader_here().read(row, clips, outs or [None] * len(clips))
        for number, clip in zip(clips, found, strict=True):
            if isinstance(clip, dict):
                clip.update(self._more(row, number))
        if self._labels is not None:
            for number, clip in zip(clips, found, strict=True):
                if isinstance(clip, dict):
                    clip["label"] = self._labels[self._clips.place(number)[0]]
        return found

    def _list(
        self,
        clip_length: int | None,
        stride: int,
        step: int | None,
        fps: float | None,
        parts: list[dict[str, Any]] | None,
    ) -> ClipList:
        """The clips that there are."""
        return list_clips(self.index, clip_length, stride, step, fps, parts)

    def _more(self, row: int, clip: int) -> dict[str, Any]:
        """What a clip has beside its frames and its label."""
        if not self._members:
            return {}
        sample = self.index.sample(row)
        for name in self._members:
            if name not in sample:
                raise ValueError(f"'{self.index.table['path'][row].as_py()}' has no file '{name}' in its sample")
        return {name: _text(sample[name]) for name in self._members}

    def _collate(
        self, found: Sequence[dict[str, Any] | DamagedClip], memory: Any, put: Callable[[Any, int, Any], None]
    ) -> dict[str, Any]:
        return collate(found, self._names, self._may_skip, memory, put)

    @property
    def _device(self) -> str:
        return str(self._reader_options["device"])

    def _batch_shape(self, clips: Sequence[int], device: str = "cpu") -> tuple[tuple[int, ...], np.dtype[Any]] | None:
        """The shape and dtype of the frames of a batch, if all its clips have a known one and this device decodes."""
        shapes = {self._reader.clip_shape(self._clips.row(clip), self._clips.length(clip)) for clip in clips}
        if len(shapes) != 1 or self._device != device or self._reader.dtype is None:
            return None
        return (len(clips), *shapes.pop()), self._reader.dtype

    def _groups(self, clip: int) -> tuple[int, int, int]:
        """The row of a clip's video, and about the first and the last group of pictures that it needs."""
        row = self._clips.row(clip)
        first, last = self._clips.near(clip, self.index.table["fps"][row].as_py() or 0.0)
        starts = self.index.table["gop_first_frame"][row].values.to_numpy(zero_copy_only=False)
        begin, end = starts.searchsorted([first, last], "right") - 1
        return row, int(begin), int(end)

    def _clip_bytes(self, clip: int) -> int:
        shape = self._reader.clip_shape(self._clips.row(clip), self._clips.length(clip))
        return math.prod(shape) * (8 if self._reader.dtype is None else self._reader.dtype.itemsize)

    def _new_reader(self) -> ClipReader:
        return ClipReader(self.index, self._clips, self._transform_options, self._reader_options, self._on_damage)

    def _reader_here(self) -> ClipReader:
        if self._process != os.getpid():  # a child made by fork(): the parent may have been reading
            self._process = os.getpid()
            self._reader = self._new_reader()
        return self._reader


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _opened(index: DatasetIndex, keywords: dict[str, Any]) -> Dataset:
    return Dataset(index, **keywords)
