# SPDX-License-Identifier: Apache-2.0
"""Reading clips: the open videos of a data set, and how clips that are damaged are handled."""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tricodec._tricodec import FrameReader, Transform, log
from tricodec.data._clip_list import ClipList
from tricodec.data._index import DatasetIndex
from tricodec.errors import CorruptDataError, RefusedError, UnsupportedError
from tricodec.node import Node, active

OnDamage = Literal["raise", "skip"]
ON_DAMAGE: tuple[OnDamage, ...] = ("raise", "skip")

_OPEN_READERS = 16
#: Errors of a video that cannot be read.
_READ_ERRORS = (CorruptDataError, RefusedError, UnsupportedError, OSError)
#: H.264 and HEVC decode at most this many frames before one that is shown earlier.
_MOST_REORDERED = 16


@dataclasses.dataclass(frozen=True)
class DamagedClip:
    """A clip that was left out."""

    clip: int
    """Its number."""
    video: int
    """The row of its video in the index."""
    path: str
    """The video, as the index has it."""
    message: str
    """What is wrong."""


class _Video:
    """An open video, and what is known of it before a frame is read."""

    def __init__(self, reader: FrameReader) -> None:
        self.reader = reader
        self.times = reader.pts_seconds
        self._gops = reader._gops()
        self._num_damaged_packets = reader.num_damaged_packets

    @property
    def has_met_damage(self) -> bool:
        """Whether reading found other packets or frames than the index has."""
        reader = self.reader
        return reader.num_damaged_packets != self._num_damaged_packets or len(reader) != len(self.times)

    def is_damaged(self, numbers: npt.NDArray[np.int64]) -> bool:
        """Whether one of some frames follows a damaged packet in its group of pictures."""
        issues = self.reader.issues
        if not issues:
            return False
        firsts, ends = self._gops[:, 0], np.cumsum(self._gops[:, 1])  # ends: packets up to the end of each group
        for issue in issues:
            if issue.packet_number >= ends[-1]:  # the end of a file that is cut: there is no frame after it
                continue
            if self.reader.stream.interlaced:  # a packet may be a field, so its frame is not known
                return True
            group = int(np.searchsorted(ends, issue.packet_number, "right"))
            start = max(int(firsts[group]), issue.packet_number - _MOST_REORDERED)
            if self._gops[group, 4]:  # pictures of an open group are shown before its key frame
                start = int(firsts[group]) - _MOST_REORDERED
            end = firsts[group + 1] if group + 1 < len(firsts) else len(self.times)
            if ((numbers >= start) & (numbers < end)).any():
                return True
        return False


class ClipReader:
    """Reads clips of videos, several videos at once. A reader that meets damage is closed.

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
        """Opens nothing yet. `reader_options` are those of `DatasetIndex.reader`."""
        self._index = index
        self._clips = clips
        self._transform = Transform(**transform_options)
        try:
            self.dtype: np.dtype[Any] | None = np.dtype(self._transform.options["dtype"])
            """Of the frames; None if numpy does not have it."""
        except TypeError:
            self.dtype = None
        self._reader_options = dict(reader_options)
        self._on_damage = on_damage
        self._lock = threading.Lock()
        self._idle: OrderedDict[int, _Video] = OrderedDict()
        self._warned: set[int] = set()

    def read(self, row: int, clips: Sequence[int], outs: Sequence[Any]) -> list[dict[str, Any] | DamagedClip]:
        """Clips of the video of a row, decoded together, as `Dataset` gives them; in `outs` if their frames fit."""
        try:
            if (node := active()) is not None:
                return [self._read_by(node, row, clip) for clip in clips]
            with self._use(row) as video:
                found = self._decode(video, row, clips, outs)
                if found is not None and not video.has_met_damage:
                    return found
            # After damage a read of several clips does not tell which of them are whole.
            return [self._read_alone(row, clip) for clip in clips]
        except _READ_ERRORS as error:
            if self._on_damage == "raise":
                raise
            return [self._lost(row, clip, str(error)) for clip in clips]

    def _read_by(self, node: Node, row: int, clip: int) -> dict[str, Any] | DamagedClip:
        """A clip that a node decodes."""
        video = node.decode_video(
            self._index.source(row), device=self._reader_options["device"],
            stream_index=self._index.table["stream_index"][row].as_py(), **self._clips.selection(clip),
            **self._transform.options,
        )  # fmt: skip
        if video.num_damaged_packets or video.indices is None:
            return self._lost(row, clip, "packets that its frames need are damaged")
        facts = {"video": row, "start": int(video.indices[0]), "clip": clip}
        return {"frames": video.frames, "pts_seconds": video.pts_seconds, **facts}

    def close(self) -> None:
        """Closes the videos that are not in use."""
        with self._lock:
            idle, self._idle = self._idle, OrderedDict()
        for video in idle.values():
            video.reader.close()

    @contextmanager
    def _use(self, row: int) -> Iterator[_Video]:
        """An open video for one thread."""
        with self._lock:
            video = self._idle.pop(row, None)
        if video is None:
            video = _Video(self._index.reader(row, **self._reader_options))
        try:
            yield video
        except BaseException:
            video.reader.close()
            raise
        closed: _Video | None = video
        if not video.has_met_damage:
            with self._lock:
                closed = self._idle.pop(row, None)  # of another thread
                self._idle[row] = video
                if len(self._idle) > _OPEN_READERS:
                    _, closed = self._idle.popitem(last=False)
        if closed is not None:
            closed.reader.close()

    def _decode(
        self, video: _Video, row: int, clips: Sequence[int], outs: Sequence[Any]
    ) -> list[dict[str, Any] | DamagedClip] | None:
        """Clips, in the given memory if their frames fit; None if frames of them are damaged."""
        reader = video.reader
        shape = (self._clips.length, *reader.output_shape(self._transform))
        fits = all(out is not None and out.shape == shape for out in outs)
        selections = [self._clips.selection(clip) for clip in clips]
        try:
            frames, wanted = reader._read_parts(selections, self._transform, list(outs) if fits else [])
        except IndexError:
            if len(reader) == len(video.times):  # the request is wrong, not the video
                raise
            return None
        if len(reader) != len(video.times) or video.is_damaged(np.concatenate(wanted)):
            return None
        if not fits:
            starts = range(0, len(frames[0]), self._clips.length)
            frames = [frames[0][start : start + self._clips.length] for start in starts]
        return [
            {"frames": each, "pts_seconds": video.times[some], "video": row, "start": int(some[0]), "clip": clip}
            for clip, each, some in zip(clips, frames, wanted, strict=True)
        ]

    def _read_alone(self, row: int, clip: int) -> dict[str, Any] | DamagedClip:
        """A clip of a video with damage, by a reader that has read nothing else."""
        video = _Video(self._index.reader(row, **self._reader_options))
        with video.reader as reader:
            found = self._decode(video, row, [clip], [None])
            if found is not None:
                return found[0]
            issues = reader.issues
        what = f"; the first damage: {issues[0].message}" if issues else ""
        return self._lost(row, clip, f"its frames are damaged{what}")

    def _lost(self, row: int, clip: int, message: str) -> DamagedClip:
        """A clip that is left out."""
        path = self._index.table["path"][row].as_py()
        if self._on_damage == "raise":
            raise CorruptDataError(f"clip {clip} of '{path}': {message}; on_damage='skip' leaves such clips out")
        with self._lock:
            is_first = row not in self._warned
            self._warned.add(row)
        if is_first:
            log("warning", f"'{path}': clip {clip} is left out: {message}")
        return DamagedClip(clip, row, path, message)

    def clip_shape(self, row: int) -> tuple[int, ...]:
        """The shape of the frames of a clip of a video, from the index alone."""
        width, height, rotation = (self._index.table[name][row].as_py() for name in ("width", "height", "rotation"))
        return (self._clips.length, *self._transform.output_shape(width or 1, height or 1, rotation or 0))
