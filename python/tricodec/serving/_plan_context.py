# SPDX-License-Identifier: Apache-2.0
"""PlanContext: what one thread at a time reads with, as a Plan says."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tricodec._tricodec import FrameReader, Transform
from tricodec.serving._plan_request import PlanData, PlanRequest
from tricodec.video import DecodedVideo, read_video

if TYPE_CHECKING:
    from tricodec._tricodec import Source, Stream


class PlanContext(contextlib.AbstractContextManager["PlanContext"]):
    """What one thread at a time reads with. Made by `Plan.context`; a context manager.

    It has the plan's `Transform` and, on a GPU, a CUDA stream: the given one, or that of the calling thread.

    Thread safety: one thread at a time. A call while another thread is in one raises RuntimeError.
    """

    def __init__(self, data: PlanData, transform: Transform, stream: Stream | None) -> None:
        self._data = data
        self._transform = transform
        self._stream = stream
        self._lock = threading.RLock()
        self._is_closed = False

    def open(self, source: Source) -> FrameReader:
        """Open a video with the plan's options. The caller closes the reader. Raises the errors of `FrameReader`."""
        with self._in_use():
            return open_reader(self._data.request, source, self._data.choices.num_workers, self._stream)

    def read(self, source: Source, *, out: Any = None, **options: Any) -> DecodedVideo:
        """Read the frames of the request from a video.

        Args:
            source: as in `probe`.
            **options: options of `decode_video` that select frames (start, count, fps, ...); they replace those of the
                request.
            out: as in `FrameReader.batch`.

        Returns:
            What `decode_video` returns for the same options, byte for byte.

        Raises:
            RuntimeError: another thread is in a call of this context.
            ValueError: the context is closed, or an argument is not accepted.
            IndexError: the video does not have so many frames.
            Error: the errors of `FrameReader`.
        """
        with self._in_use(), self.open(source) as reader:
            return read_video(reader, self._transform, self._data.request.selected(**options), out)

    def batches(self, source: Source, *, drop_last: bool = False, **options: Any) -> Iterator[Any]:
        """The frames of the request in batches of the plan's size, decoded ahead.

        Args:
            source, **options: as in `read`.
            drop_last: leave out a last batch of fewer frames.

        Returns:
            An iterator of arrays, as `FrameReader.batches`. It counts as in use only while it makes a batch.

        Raises:
            Exception: the errors of read(), at the first batch or later.
        """
        with self.open(source) as reader:
            selection = self._data.request.selected(**options)
            batch_size = self._data.choices.batch_size
            batches = reader.batches(batch_size, self._transform, drop_last=drop_last, **selection)
            while True:
                with self._in_use():
                    batch = next(batches, None)
                if batch is None:
                    return
                yield batch

    def close(self) -> None:
        """Ends the use of the context. Later calls raise ValueError; a second close() does nothing."""
        if not self._is_closed:
            with self._in_use():
                self._is_closed = True

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _in_use(self) -> Iterator[None]:
        # One thread may enter it again: read() opens.
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(
                "this PlanContext is in use by another thread; give each thread a plan.context() of its own, or use "
                "plan.read() or a WorkerPool"
            )
        try:
            if self._is_closed:
                raise ValueError("this PlanContext is closed; make another one with plan.context()")
            yield
        finally:
            self._lock.release()


def open_reader(request: PlanRequest, source: Source, num_workers: int, stream: Stream | None = None) -> FrameReader:
    return FrameReader(
        source, device=request.device, stream_index=request.stream_index, num_workers=num_workers,
        ignore_edit_list=request.ignore_edit_list, stream=stream,
    )  # fmt: skip
