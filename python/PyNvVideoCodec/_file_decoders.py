# SPDX-License-Identifier: Apache-2.0
"""SimpleDecoder, a video as a sequence of frames, and ThreadedDecoder, frames that a thread decodes ahead."""

from __future__ import annotations

import bisect
import collections
import os
import threading
from collections.abc import Iterable, Iterator
from typing import Any, overload

from ._calls import PyNvVCException, PyNvVCExceptionUnsupported, expect_flag, expect_int, expect_ints, make_lock, note_2
from ._enums import OutputColorType
from ._frame import DecodedFrame
from ._video_file import ScannedStreamMetadata, StreamMetadata, VideoFile


class _FileDecoder:
    """The part that both decoders share."""

    _video: VideoFile

    def __init__(self, **accepted: Any) -> None:
        """Check arguments that are accepted without effect."""
        note_2()
        expect_ints(**accepted)
        self._lock = make_lock()

    def __len__(self) -> int:
        """Number of frames of the video."""
        with self._lock:
            return self._video.num_frames

    def get_stream_metadata(self) -> StreamMetadata:
        """Size, length, rates and codec of the video."""
        with self._lock:
            return self._video.metadata

    def get_scanned_stream_metadata(self) -> ScannedStreamMetadata:
        """Description of the video with sizes and times of all packets."""
        with self._lock:
            return self._video.scan()


class SimpleDecoder(_FileDecoder):
    """Frames of a video by number: ``decoder[10]``, ``decoder[0:30:2]``, ``for frame in decoder``.

    A frame keeps its memory as long as it exists.

    Thread safety: calls from several threads take turns.

    Args:
        enc_file_path: a path, bytes-like, or an object with ``read()`` and, if it can seek, ``seek()``.
        gpu_id, cuda_context, cuda_stream, use_device_memory, max_width, max_height, output_color_type,
            bWaitForSessionWarmUp, enableDecodeStats: as ``gpuid``, ``cudacontext`` and so on of `CreateDecoder`.
        need_scanned_stream_metadata: whether ``get_scanned_stream_metadata()`` may be called.
        decoder_cache_size: accepted without effect; the process keeps sessions of the GPU's decoders.
    """

    def __init__(
        self,
        enc_file_path: Any,
        gpu_id: int = 0,
        cuda_context: int = 0,
        cuda_stream: int = 0,
        use_device_memory: bool = True,
        max_width: int = 0,
        max_height: int = 0,
        need_scanned_stream_metadata: bool = False,
        decoder_cache_size: int = 4,
        output_color_type: OutputColorType = OutputColorType.NATIVE,
        bWaitForSessionWarmUp: bool = False,
        enableDecodeStats: bool = False,
    ) -> None:
        super().__init__(max_width=max_width, max_height=max_height, decoder_cache_size=decoder_cache_size)
        expect_flag("bWaitForSessionWarmUp", bWaitForSessionWarmUp)
        self._cursor = 0
        self._video = VideoFile(
            enc_file_path, gpu_id, cuda_context, cuda_stream, use_device_memory, output_color_type,
            need_scanned_stream_metadata, enableDecodeStats,
        )  # fmt: skip

    @overload
    def __getitem__(self, key: int) -> DecodedFrame: ...
    @overload
    def __getitem__(self, key: slice) -> list[DecodedFrame]: ...
    def __getitem__(self, key: Any) -> Any:
        """A frame, or a list of frames for a slice. Raises IndexError for numbers past the end and negative ones."""
        with self._lock:
            if isinstance(key, slice):
                numbers = range(*key.indices(len(self)))
                return self._video.frames(list(numbers)) if numbers else []
            if isinstance(key, bool) or not hasattr(key, "__index__"):
                message = f"Unsupported key type: {type(key).__name__}; use an int or a slice"
                raise TypeError(message)
            return self._video.frames([self._checked(key)])[0]

    def get_batch_frames(self, batch_size: int) -> list[DecodedFrame]:
        """The next frames from the cursor on; fewer at the end, none past it."""
        count = expect_int("batch_size", batch_size)
        if count < 0:
            message = f"batch_size must be 0 or more, not {count}"
            raise TypeError(message)
        with self._lock:
            first, last = self._cursor, min(self._cursor + count, len(self))
            self._cursor = last
            return self._video.frames(list(range(first, last))) if last > first else []

    def get_batch_frames_by_index(self, indices: Iterable[int]) -> list[DecodedFrame]:
        """Frames by number in the given order, each once; a number past the end gives a warning."""
        with self._lock:
            numbers = self._video.existing(indices)
            return self._video.frames(numbers) if numbers else []

    def seek_to_index(self, index: int) -> None:
        """Move the cursor of ``get_batch_frames()``. Raises IndexError past the end."""
        with self._lock:
            self._cursor = self._checked(index)

    def get_index_from_time_in_seconds(self, time_in_seconds: float) -> int:
        """Number of the first frame at or after a time. Raises PyNvVCException past the end of the video."""
        with self._lock:
            duration = self._video.metadata.duration
            if time_in_seconds > duration:
                message = (
                    f"Provided timestamp : {time_in_seconds} is greater than the total duration of the video, "
                    f"{duration:g} s"
                )
                raise PyNvVCException(message)
            times = self._video.reader.pts_seconds
            # Allows for rounding of the frame's time.
            return min(bisect.bisect_left(times, time_in_seconds - 1e-6), len(self) - 1)

    def reconfigure_decoder(self, new_source: Any) -> None:
        """Open another video and begin at its first frame."""
        with self._lock:
            self._video.open(new_source)
            self._cursor = 0

    def get_session_init_time(self) -> int:
        """Time in milliseconds to open the video."""
        return int(self._video.start_ms)

    @staticmethod
    def set_session_count(count: int) -> None:
        """Accepted without effect: sessions do not wait for one another."""
        expect_int("count", count)

    def validate_index(self, index: int) -> None:
        """Raise IndexError for a number that no frame has."""
        with self._lock:
            self._checked(index)

    def _checked(self, index: int) -> int:
        number = expect_int("index", index)
        if not 0 <= number < len(self):
            message = f"Index {number} is out of range [0, {len(self) - 1}]"
            raise IndexError(message)
        return number


def CreateSimpleDecoder(
    encSource: Any,
    gpuid: int = 0,
    cudaContext: int = 0,
    cudaStream: int = 0,
    useDeviceMemory: bool = False,
    maxWidth: int = 0,
    maxHeight: int = 0,
    needScannedStreamMetadata: bool = False,
    decoderCacheSize: int = 0,
    outputColorType: OutputColorType = OutputColorType.NATIVE,
    bWaitForSessionWarmUp: bool = False,
    enableDecodeStats: bool = False,
) -> SimpleDecoder:
    """A SimpleDecoder by the native argument names; by default frames are in host memory."""
    return SimpleDecoder(
        encSource, gpuid, cudaContext, cudaStream, useDeviceMemory, maxWidth, maxHeight, needScannedStreamMetadata,
        decoderCacheSize, outputColorType, bWaitForSessionWarmUp, enableDecodeStats,
    )  # fmt: skip


class _Queue:
    """Frames that a thread decodes ahead. The thread keeps no reference to the decoder. Thread safety: safe."""

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
        """Waits for the next frames; fewer at the end."""
        if self._process != os.getpid():
            message = (
                "the thread of this ThreadedDecoder is in the parent process; make the decoder after the fork, or call "
                "reconfigure_decoder()"
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
        """Ends the thread and drops its frames. In a forked child there is no thread, and the lock may be held."""
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
        except Exception as raised:  # take() raises it
            error = raised
        with self._changed:
            self._error = error
            self._finished = True
            self._changed.notify_all()


class ThreadedDecoder(_FileDecoder):
    """Batches of frames from a queue that a thread fills. A frame keeps its memory as long as it exists.

    Thread safety: calls from several threads take turns.

    Args:
        enc_file_path: path of the video.
        buffer_size: the greatest number of frames decoded ahead.
        start_frame: number of the first frame.

    `SimpleDecoder` describes the other arguments.
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
        super().__init__(max_width=max_width, max_height=max_height, decoder_cache_size=decoder_cache_size)
        self._most = expect_int("buffer_size", buffer_size)
        if self._most < 1:
            message = f"buffer_size must be at least 1, not {buffer_size}"
            raise ValueError(message)
        self._video = VideoFile(
            enc_file_path, gpu_id, cuda_context, cuda_stream, use_device_memory, output_color_type,
            need_scanned_stream_metadata, enableDecodeStats,
        )  # fmt: skip
        self._queue = _Queue(self._video, self._most, start_frame)

    def get_batch_frames(self, batch_size: int) -> list[DecodedFrame]:
        """Wait for the next frames in presentation order; fewer at the end, then none, and none after ``end()``.

        Raises:
            ValueError: `batch_size` is greater than `buffer_size`.
            PyNvVCException: decoding failed; earlier calls have returned the frames before.
        """
        count = expect_int("batch_size", batch_size)
        if not 0 <= count <= self._most:
            message = f"batch_size is {count}; it must be from 0 to buffer_size, {self._most}"
            raise ValueError(message)
        with self._lock:
            return self._queue.take(count)

    def reconfigure_decoder(self, new_source: str | os.PathLike[str], start_frame: int = 0) -> None:
        """Open another video and continue with it."""
        with self._lock:
            self._queue.stop()
            self._video.open(new_source)
            self._queue = _Queue(self._video, self._most, start_frame)

    def end(self) -> None:
        """Stop the thread and drop its frames."""
        with self._lock:
            self._queue.stop()

    def __del__(self) -> None:
        """The thread ends with its decoder. No other reference exists, so the lock is free."""
        if hasattr(self, "_queue"):
            self._queue.stop()


def CreateThreadedDecoder(
    encSource: str | os.PathLike[str],
    bufferSize: int,
    gpuid: int = 0,
    cudaContext: int = 0,
    cudaStream: int = 0,
    useDeviceMemory: bool = False,
    maxWidth: int = 0,
    maxHeight: int = 0,
    needScannedStreamMetadata: bool = False,
    decoderCacheSize: int = 0,
    outputColorType: OutputColorType = OutputColorType.NATIVE,
    startFrame: int = 0,
    enableDecodeStats: bool = False,
) -> ThreadedDecoder:
    """A ThreadedDecoder by the native argument names; by default frames are in host memory."""
    return ThreadedDecoder(
        encSource, bufferSize, gpuid, cudaContext, cudaStream, useDeviceMemory, maxWidth, maxHeight,
        needScannedStreamMetadata, decoderCacheSize, outputColorType, startFrame, enableDecodeStats,
    )  # fmt: skip
