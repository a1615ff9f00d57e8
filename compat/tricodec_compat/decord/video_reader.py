# SPDX-License-Identifier: Apache-2.0
"""decord.video_reader: decord's VideoReader on the project's FrameReader."""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np
import numpy.typing as npt
from tricodec import Error, FrameReader, UnsupportedError
from tricodec.video import SwscaleRgb
from tricodec.video.cores import share_of_cores

from tricodec_compat._frames_in_order import FramesInOrder
from tricodec_compat._packages import DISTRIBUTIONS
from tricodec_compat.decord.base import DECORDError, DECORDLimitReachedError
from tricodec_compat.decord.bridge import bridge_out
from tricodec_compat.decord.ndarray import DECORDContext, NDArray, cpu

__all__ = ["VideoReader"]

_ON_CPU = cpu(0)


def source_of(uri: Any) -> Any:
    """A path, or all bytes of an object with ``read``.

    Raises:
        TypeError: for anything else.
    """
    if hasattr(uri, "read"):
        return bytes(uri.read())
    if not isinstance(uri, str):
        raise TypeError(f"uri must be a str or an object with read(), not {type(uri).__name__}")
    return uri


class VideoReader:
    """The frames of a video as arrays [H, W, 3], uint8 RGB with the pixels of ``ffmpeg -pix_fmt rgb24``.

    Frame i is exact by every way. Frames that an edit list hides are not counted. The reader keeps a place for next(),
    as a file does.

    Args:
        uri: a path, or an object with ``read``, which is read to its end.
        ctx: cpu() or gpu().
        width: of the result; below 1 the video's.
        height: of the result; below 1 the video's.
        num_threads: workers; 0 is all cores, in a worker of a DataLoader its share.
        fault_tol: how many damaged packets are tolerated: below 0 all, below 1 a part of the frames, else a number.

    Raises:
        RuntimeError: if the file cannot be read.
        DECORDError: without a video stream, or if the GPU cannot be used.
        AssertionError: for a video without frames, or a `ctx` that is no context.

    Thread safety: as FrameReader for the frames; the place belongs to one thread.
    """

    def __init__(
        self,
        uri: Any,
        ctx: DECORDContext = _ON_CPU,
        width: int = -1,
        height: int = -1,
        num_threads: int = 0,
        fault_tol: float = -1,
    ) -> None:
        assert isinstance(ctx, DECORDContext), f"ctx must be decord.cpu() or decord.gpu(), not {ctx!r}"
        self._ctx = ctx
        self._fault_tol = fault_tol
        source = source_of(uri)
        name = uri if isinstance(uri, str) else f"{len(source)} bytes"
        try:
            workers = num_threads if num_threads > 0 else share_of_cores()
            self._reader = FrameReader(source, device=ctx.device, num_workers=workers)
        except UnsupportedError as error:
            raise DECORDError(f"cannot find a video stream in {name}: {error}") from error
        except (Error, ValueError) as error:
            kind = RuntimeError if ctx.device == "cpu" else DECORDError
            raise kind(f"Error reading {name}...: {error}") from error
        stream = self._reader.stream
        turned = stream.rotation in (90, 270)
        own = (stream.width, stream.height) if turned else (stream.height, stream.width)
        self._size = (height if height > 0 else own[0], width if width > 0 else own[1])
        # decord 0.6 has the default of its FFmpeg 4, decord2 that of a newer one.
        bilinear = DISTRIBUTIONS["decord"] == "decord"
        self._convert = SwscaleRgb(size=None if self._size == own else self._size, bilinear=bilinear)
        self._in_order = FramesInOrder(self._reader, self._convert, workers)
        self._num_frame = len(self._reader)
        assert self._num_frame > 0, f"Invalid frame count: {self._num_frame}"
        self._next = 0  # the frame that next() gives
        self._claimed = 0  # where the last seek() was to go
        self._frame_pts: npt.NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return self._num_frame

    def __getitem__(self, idx: Any) -> Any:
        """One frame [H, W, 3], or those of a slice [N, H, W, 3]. next() continues after it.

        Raises:
            IndexError: past either end.
        """
        if isinstance(idx, slice):
            return self.get_batch(range(*idx.indices(len(self))))
        if idx < 0:
            idx += self._num_frame
        if idx >= self._num_frame or idx < 0:
            raise IndexError(f"Index: {idx} out of bound: {self._num_frame}")
        self.seek_accurate(idx)
        return self.next()

    def next(self) -> Any:
        """The frame at the reader's place, which steps on.

        Raises:
            StopIteration: at the end.
        """
        if self._next >= self._num_frame:
            raise StopIteration
        frame = self._one(self._next)
        self._next += 1
        self._claimed += 1
        return bridge_out(NDArray(frame, self._ctx))

    def get_batch(self, indices: Any) -> Any:
        """Frames by number, in this order, repeats allowed: [N, H, W, 3].

        Args:
            indices: numbers in any sequence or array; negative ones count from the end.

        Raises:
            IndexError: past either end.
            DECORDError: if a frame cannot be decoded.
            DECORDLimitReachedError: for more damage than `fault_tol` allows.
        """
        numbers = self._validate_indices(indices).reshape(-1)
        if len(numbers) == 0:
            return bridge_out(NDArray(np.empty((0, *self._size, 3), np.uint8), self._ctx))
        frames = self._read(numbers)
        self._next = self._claimed = int(numbers[-1]) + 1
        return bridge_out(NDArray(frames, self._ctx))

    def _validate_indices(self, indices: Any) -> npt.NDArray[np.int64]:
        found = np.array(indices, dtype=np.int64)
        found[found < 0] += self._num_frame
        if (found < 0).any():
            raise IndexError(f"Invalid negative indices: {found[found < 0] - self._num_frame}")
        if (found >= self._num_frame).any():
            raise IndexError(f"Out of bound indices: {found[found >= self._num_frame]}")
        return found

    def _read(self, numbers: npt.NDArray[np.int64]) -> Any:
        def read() -> Any:
            if self._ctx.device != "cpu":
                return self._reader.batch([int(i) for i in numbers], size=self._size, chroma="nearest")
            return self._reader.batch(numbers, self._convert)

        return self._decoded(read)

    def _one(self, number: int) -> Any:
        def read() -> Any:
            if self._ctx.device != "cpu":
                return self._reader.batch([number], size=self._size, chroma="nearest")[0]
            return self._in_order[number][1]

        return self._decoded(read)

    def _decoded(self, read: Any) -> Any:
        try:
            frames = read()
        except IndexError as error:
            raise DECORDError(f"the file has fewer frames than its container promises: {error}") from error
        except Error as error:
            raise DECORDError(str(error)) from error
        damaged = self._reader.num_damaged_packets
        allowed = self._fault_tol * self._num_frame if 0 <= self._fault_tol < 1 else self._fault_tol
        if self._fault_tol >= 0 and damaged > allowed:
            raise DECORDLimitReachedError(f"{damaged} packets are damaged, and fault_tol allows {allowed:g}")
        return frames

    def get_frame_timestamp(self, idx: Any) -> npt.NDArray[np.float32]:
        """When frames are on screen, in seconds from the start of the stream.

        Args:
            idx: a number, or numbers in any sequence or array.

        Returns:
            (start, end) as float32, [2] or [N, 2].
        """
        if self._frame_pts is None:
            self._frame_pts = self._times()
        if isinstance(idx, slice):
            idx = range(*idx.indices(len(self)))
        return self._frame_pts[self._validate_indices(idx), :]

    def _times(self) -> npt.NDArray[np.float32]:
        stream = self._reader.stream
        base = stream.time_base
        _, durations = self._reader.frame_times()
        unit = 0.0 if base is None else base.numerator / base.denominator
        start = (stream.start_pts or 0) * unit
        starts = self._reader.pts_seconds - start
        return np.stack([starts, starts + durations * unit], axis=1).astype(np.float32)

    def get_key_indices(self) -> list[int]:
        """Numbers of the frames from which decoding can start."""
        return self._reader.key_frames

    def get_avg_fps(self) -> float:
        """Frames a second, as the container states it, or else as its times say."""
        return float(self._reader.stream.average_frame_rate or self._reader.fps)

    def seek(self, pos: int) -> None:
        """Go to a key frame: forward to the next one, backward to the one before.

        Raises:
            AssertionError: past either end.
        """
        self._expect_place(pos)
        keys = self.get_key_indices() or [0]
        if pos > self._claimed:
            self._next = keys[min(bisect.bisect_left(keys, pos), len(keys) - 1)]
        else:
            self._next = keys[max(bisect.bisect_right(keys, pos) - 1, 0)]
        self._claimed = pos

    def seek_accurate(self, pos: int) -> None:
        """Go to a frame.

        Raises:
            AssertionError: past either end.
        """
        self._expect_place(pos)
        self._next = self._claimed = int(pos)

    def _expect_place(self, pos: int) -> None:
        assert 0 <= pos < self._num_frame, f"frame {pos} is not in the video, which has {self._num_frame}"

    def skip_frames(self, num: int = 1) -> None:
        """Leave out frames.

        Raises:
            AssertionError: for a number below 1.
        """
        assert num > 0, f"num is {num}; it must be at least 1"
        self._next += num
        self._claimed += num


VideoReader.__module__ = "tricodec_compat.decord"
