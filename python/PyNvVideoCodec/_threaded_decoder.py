# SPDX-License-Identifier: Apache-2.0
"""ThreadedDecoder: frames one after another, decoded ahead by a thread of its own."""

from __future__ import annotations

import collections
import os
import threading
from collections.abc import Iterator

from ._arguments import expect_int
from ._enums import OutputColorType
from ._errors import PyNvVCExceptionUnsupported
from ._frame import DecodedFrame
from ._lock import make_lock
from ._metadata import ScannedStreamMetadata, StreamMetadata
from ._video_file import VideoFile


class _Queue:
    """Frames decoded by a thread, which knows nothing of the decoder that is dropped some day.

    Thread safety: safe.
    """

    def __init__(self, video: VideoFile, most: int, start_frame: int) -> None:
        start = expect_int("start_frame", start_frame)
        if start < 0:
            message = f"start_frame must be 0 or more, not {start}"
            raise ValueError(message)
        self._most = most
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._ready: collections.deque[DecodedFrame] = collections.deque()
        self._stopped = self._finished = False
        self._error: Exception | None = None
        self._thread = threading.Thread(
            target=self._work, args=(video.iterate(start),), daemon=True, name="ThreadedDecoder"
        )
        self._thread.start()

    def take(self, count: int) -> list[DecodedFrame]:
        """The next frames, waited for; fewer at the end."""
        if self._process != os.getpid():
            message = (
                "the thread of this ThreadedDecoder stayed in the process that forked this one; make the decoder here, "
                "or call reconfigure_decoder()"
            )
            raise PyNvVCExceptionUnsupported(message)
        with self._changed:
            self._changed.wait_for(lambda: len(self._ready) >= count or self._finished)
            if not self._ready and self._error is not None:
                error, self._error = self._error, None
                raise error
            frames = [self._ready.popleft() for _ in range(min(count, len(self._ready)))]
            self._changed.notify_all()
            return frames

    def stop(self) -> None:
        """Ends the thread and drops what it decoded. In a forked child there is no thread, and its lock may be held."""
        if self._process != os.getpid():
            return
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread is not threading.current_thread():
            self._thread.join()
        with self._changed:
            self._ready.clear()

    def _work(self, frames: Iterator[DecodedFrame]) -> None:
        error: Exception | None = None
        try:
            for frame in frames:
                with self._changed:
                    self._changed.wait_for(lambda: len(self._ready) < self._most or self._stopped)
                    if self._stopped:
                        break
                    self._ready.append(frame)
                    self._changed.notify_all()
        except Exception as raised:  # told to whoever asks for frames
            error = raised
        with self._changed:
            self._error = error
            self._finished = True
            self._changed.notify_all()


class ThreadedDecoder:
    """Batches of frames from a queue that a thread fills.

    A frame keeps its memory while it is held. Thread safety: calls from several threads take turns.

    Args:
        enc_file_path: a path.
        buffer_size: frames that are decoded ahead.
        start_frame: number of the first frame.

    The other arguments are SimpleDecoder's.
    """

    def __init__(
        self,
        enc_file_path: str | os.PathLike[str],
        buffer_size: int,
        gpu_id: int = 0,
        cuda_context: int = 0,
        cuda_stream: int = 0,
        use_device_memory: bool = True,
        max_width: int = 0,
        max_height: int = 0,
        need_scanned_stream_metadata: bool = False,
        decoder_cache_size: int = 4,
        output_color_type: OutputColorType = OutputColorType.NATIVE,
        start_frame: int = 0,
        enableDecodeStats: bool = False,
    ) -> None:
        self._lock = make_lock()
        self._most = expect_int("buffer_size", buffer_size)
        if self._most < 1:
            message = f"buffer_size must be at least 1, not {buffer_size}"
            raise ValueError(message)
        for name, value in (
            ("max_width", max_width),
            ("max_height", max_height),
            ("decoder_cache_size", decoder_cache_size),
        ):
            expect_int(name, value)
        self._video = VideoFile(
            enc_file_path, gpu_id, cuda_context, cuda_stream, use_device_memory, output_color_type,
            need_scanned_stream_metadata, enableDecodeStats,
        )  # fmt: skip
        self._queue = _Queue(self._video, self._most, start_frame)

    def __len__(self) -> int:
        """Number of frames of the video."""
        with self._lock:
            return self._video.num_frames

    def get_batch_frames(self, batch_size: int) -> list[DecodedFrame]:
        """The next frames in order of presentation; waits for them. Fewer at the end, then none, and none after end().

        Raises:
            ValueError: for more than buffer_size.
            PyNvVCException: if decoding failed; the frames before have come out.
        """
        count = expect_int("batch_size", batch_size)
        if not 0 <= count <= self._most:
            message = f"batch_size is {count}; it must be from 0 to buffer_size, {self._most}"
            raise ValueError(message)
        with self._lock:
            return self._queue.take(count)

    def reconfigure_decoder(self, new_source: str | os.PathLike[str], start_frame: int = 0) -> None:
        """Goes over to another video."""
        with self._lock:
            self._queue.stop()
            self._video.open(new_source)
            self._queue = _Queue(self._video, self._most, start_frame)

    def end(self) -> None:
        """Stops the thread and drops what it decoded."""
        with self._lock:
            self._queue.stop()

    def __del__(self) -> None:
        """The thread ends with its decoder, which nobody else has any more: the lock is free."""
        if hasattr(self, "_queue"):
            self._queue.stop()

    def get_stream_metadata(self) -> StreamMetadata:
        """Size, length, rates and codec."""
        with self._lock:
            return self._video.metadata

    def get_scanned_stream_metadata(self) -> ScannedStreamMetadata:
        """The same, and sizes and times of all packets."""
        with self._lock:
            return self._video.scan()
