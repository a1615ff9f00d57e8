# SPDX-License-Identifier: Apache-2.0
"""Reading clips: the open videos of a dataset, and how clips that are damaged are handled."""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tricodec._dataset._damage import DamagedClip, Expected, OnDamage
from tricodec._tricodec import FrameReader, Transform, log
from tricodec.errors import CorruptDataError, RefusedError, UnsupportedError

if TYPE_CHECKING:
    from tricodec._dataset._clip_list import ClipList
    from tricodec._dataset._index import DatasetIndex

_OPEN_READERS = 16
#: Of a video that cannot be read.
_READ_ERRORS = (CorruptDataError, RefusedError, UnsupportedError, OSError)


@dataclasses.dataclass(frozen=True)
class _Open:
    reader: FrameReader
    expected: Expected


class ClipReader:
    """Reads clips of videos, several videos at once. A reader that meets damage is closed: the frames of a clip do not
    depend on what was read before.

    Thread safety: safe.
    """

    def __init__(
        self,
        index: DatasetIndex,
        clips: ClipList,
        transform_options: Mapping[str, Any],
        reader_options: Mapping[str, Any],
        on_damage: OnDamage,
    ) -> None:
        """Keeps what is needed; opens nothing.

        Args:
            index: of the videos.
            clips: which frames each clip has.
            transform_options: of the Transform of the frames.
            reader_options: for `DatasetIndex.reader`.
            on_damage: as `Dataset` takes it.
        """
        self._index = index
        self._clips = clips
        self._transform = Transform(**transform_options)
        self.dtype = _numpy_dtype(transform_options)
        """Of the frames; None if numpy does not have it."""
        self._transform_options = transform_options
        self._reader_options = dict(reader_options)
        self._on_damage = on_damage
        self._lock = threading.Lock()
        self._idle: OrderedDict[int, _Open] = OrderedDict()
        self._warned: set[int] = set()

    def read(self, row: int, clips: Sequence[int], outs: Sequence[Any]) -> list[dict[str, Any] | DamagedClip]:
        """Clips of one video, decoded together.

        Args:
            row: of the video in the index.
            clips: their numbers.
            outs: memory for the frames of each clip, or None. It is used if all of them fit.

        Returns:
            For each clip ``frames``, ``pts_seconds``, ``video``, ``start``, ``clip`` and, with "pad", ``valid``; or
            what is wrong with it, with "skip".

        Raises:
            CorruptDataError: a clip has damaged frames, and ``on_damage`` is "raise".
            Error: a video cannot be read, and ``on_damage`` is "raise".
            IndexError: the words of a clip select frames that the video does not have.
        """
        try:
            with self._use(row) as video:
                wanted = [video.reader._selected(**self._clips.words(clip))[0] for clip in clips]
                frames = self._whole(video, wanted, outs)
                if frames is not None:
                    return [
                        self._clip(row, clip, part, video.expected.times[numbers], numbers, None)
                        for clip, part, numbers in zip(clips, frames, wanted, strict=True)
                    ]
            # What a reader knows of damage depends on its reads: each clip has a reader of its own.
            return [self._alone(row, clip) for clip in clips]
        except _READ_ERRORS as error:
            return [self._lost(row, clip, str(error), error) for clip in clips]

    def close(self) -> None:
        """Closes the videos that are not in use."""
        with self._lock:
            idle, self._idle = self._idle, OrderedDict()
        for video in idle.values():
            video.reader.close()

    @contextmanager
    def _use(self, row: int) -> Iterator[_Open]:
        """An open video for one thread."""
        with self._lock:
            video = self._idle.pop(row, None)
        if video is None:
            video = self._open(row)
        try:
            yield video
        except BaseException:
            video.reader.close()
            raise
        if not video.expected.holds(video.reader):
            video.reader.close()
            return
        closed = []
        with self._lock:
            if (other := self._idle.pop(row, None)) is not None:
                closed.append(other)
            self._idle[row] = video
            if len(self._idle) > _OPEN_READERS:
                closed.append(self._idle.popitem(last=False)[1])
        for each in closed:
            each.reader.close()

    def _whole(
        self, video: _Open, wanted: Sequence[npt.NDArray[np.int64]], outs: Sequence[Any]
    ) -> list[Any] | None:  # fmt: skip
        """The frames of each clip, in its memory if that fits; None if some of them are damaged."""
        reader, numbers = video.reader, np.concatenate(wanted)
        shape = reader.output_shape(self._transform)
        has_room = all(
            out is not None and out.shape == (len(each), *shape) for each, out in zip(wanted, outs, strict=True)
        )
        try:
            if has_room:
                frames = list(outs)
                reader._batch_into([each.tolist() for each in wanted], self._transform, frames)
            else:
                together = reader.batch(numbers, self._transform)
                ends = np.cumsum([len(each) for each in wanted]).tolist()
                frames = [together[end - len(each) : end] for each, end in zip(wanted, ends, strict=True)]
        except IndexError:  # it has fewer frames than its index says
            return None
        if not video.expected.holds(reader):
            return None
        if reader.num_damaged_packets and not video.expected.find(reader, numbers)[1].all():
            return None
        return frames

    def _open(self, row: int) -> _Open:
        reader = self._index.reader(row, **self._reader_options)
        return _Open(reader, Expected.of(reader))

    def _alone(self, row: int, clip: int) -> dict[str, Any] | DamagedClip:
        """A clip of a video that has damage somewhere."""
        video = self._open(row)
        with video.reader:
            numbers = video.reader._selected(**self._clips.words(clip))[0]
            frames = self._whole(video, [numbers], [None])
            if frames is not None:
                return self._clip(row, clip, frames[0], video.expected.times[numbers], numbers, None)
            return self._damaged(row, clip, video, numbers)

    def _damaged(
        self, row: int, clip: int, video: _Open, numbers: npt.NDArray[np.int64]
    ) -> dict[str, Any] | DamagedClip:
        """A clip for which damage was met."""
        reader, expected = video.reader, video.expected
        places, valid = expected.find(reader, numbers)
        times = expected.times[numbers]
        if valid.all():
            return self._clip(row, clip, reader.batch(places, self._transform), times, numbers, None)
        if not valid.any() or self._on_damage != "pad":
            issues = reader.issues
            what = f"; the first damage: {issues[0].message}" if issues else ""
            return self._lost(row, clip, f"{len(valid) - int(valid.sum())} of {len(valid)} frames are damaged{what}")
        # A damaged frame is replaced by the whole one before it, or the first whole one.
        last = np.maximum.accumulate(np.where(valid, np.arange(len(valid)), -1))
        shown = places[np.where(last < 0, int(np.argmax(valid)), last)]
        return self._clip(row, clip, reader.batch(shown, self._transform), times, numbers, valid)

    def _lost(
        self, row: int, clip: int, message: str, cause: BaseException | None = None
    ) -> dict[str, Any] | DamagedClip:
        """A clip without a whole frame, or one that is left out."""
        path = self._index.table["path"][row].as_py()
        if self._on_damage == "raise":
            if cause is not None:
                raise cause
            raise CorruptDataError(f"clip {clip} of '{path}': {message}; on_damage='skip' leaves such clips out")
        with self._lock:
            is_first = row not in self._warned
            self._warned.add(row)
        if is_first:
            log("warning", f"'{path}': clip {clip} is damaged, and on_damage is '{self._on_damage}': {message}")
        if self._on_damage == "skip":
            return DamagedClip(clip, row, path, message)
        length = self._clips.length(clip)
        frames = np.zeros(self.clip_shape(row, length), self.dtype or np.float32)
        nothing = np.full(length, np.nan)
        return self._clip(row, clip, frames, nothing, np.full(length, -1), np.zeros(length, bool))

    def _clip(self, row: int, clip: int, frames: Any, times: Any, numbers: Any, valid: Any) -> dict[str, Any]:
        found = {
            "frames": frames, "pts_seconds": times, "video": row, "start": int(numbers[0]) if len(numbers) else 0,
            "clip": clip,
        }  # fmt: skip
        if self._on_damage == "pad":
            found["valid"] = np.ones(len(numbers), bool) if valid is None else valid
        return found

    def clip_shape(self, row: int, length: int) -> tuple[int, int, int, int]:
        """The shape of the frames of a clip, from the index alone."""
        options, table = self._transform_options, self._index.table
        height, width = (table[name][row].as_py() or 1 for name in ("height", "width"))
        if (table["rotation"][row].as_py() or 0) % 180 and options.get("rotate", True):
            height, width = width, height
        if options.get("crop") is not None:
            height, width = tuple(options["crop"])[-2:]
        if options.get("size") is not None:
            height, width = options["size"]
        layout = str(options.get("layout", "HWC")).upper()
        channels = 8 if layout.endswith("8") else 1 if str(options.get("color")).lower() in ("gray", "grey") else 3
        return (length, channels, height, width) if "CHW" in layout else (length, height, width, channels)


def _numpy_dtype(options: Mapping[str, Any]) -> np.dtype[Any] | None:
    """The dtype of frames, if numpy has it."""
    try:
        dtype: np.dtype[Any] = np.dtype(options.get("dtype", "uint8"))
        return dtype
    except TypeError:
        return None
