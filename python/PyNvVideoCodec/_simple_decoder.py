# SPDX-License-Identifier: Apache-2.0
"""SimpleDecoder: a video as a sequence of frames."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from typing import Any, overload

from ._arguments import expect_flag, expect_int
from ._enums import OutputColorType
from ._errors import PyNvVCException
from ._frame import DecodedFrame
from ._lock import make_lock
from ._metadata import ScannedStreamMetadata, StreamMetadata
from ._video_file import VideoFile


class SimpleDecoder:
    """Frames of a video by number: ``decoder[10]``, ``decoder[0:30:2]``, ``for frame in decoder``.

    A frame keeps its memory while it is held. Thread safety: calls from several threads take turns.

    Args:
        enc_file_path: a path, bytes-like, or an object with read() and, if it can, seek().
        gpu_id: which GPU; not used without one.
        cuda_context: handle of the application's CUDA context, or 0.
        cuda_stream: handle of the application's CUDA stream, which sees frames complete, or 0.
        use_device_memory: frames in device memory; without a usable GPU they are in host memory, and a warning says so.
        max_width: accepted; any size is taken at any time.
        max_height: accepted; any size is taken at any time.
        need_scanned_stream_metadata: allows get_scanned_stream_metadata().
        decoder_cache_size: accepted; sessions of the GPU's decoders are kept for the whole process.
        output_color_type: RGB or RGBP convert frames to 8-bit RGB.
        bWaitForSessionWarmUp: accepted; sessions do not wait for one another.
        enableDecodeStats: not in this version.
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
        for name, value in (
            ("max_width", max_width),
            ("max_height", max_height),
            ("decoder_cache_size", decoder_cache_size),
        ):
            expect_int(name, value)
        expect_flag("bWaitForSessionWarmUp", bWaitForSessionWarmUp)
        self._lock = make_lock()
        self._cursor = 0
        self._video = VideoFile(
            enc_file_path, gpu_id, cuda_context, cuda_stream, use_device_memory, output_color_type,
            need_scanned_stream_metadata, enableDecodeStats,
        )  # fmt: skip

    def __len__(self) -> int:
        """Number of frames."""
        return self._video.num_frames

    @overload
    def __getitem__(self, key: int) -> DecodedFrame: ...
    @overload
    def __getitem__(self, key: slice) -> list[DecodedFrame]: ...
    def __getitem__(self, key: Any) -> Any:
        """A frame, or a list of frames for a slice. Raises IndexError past the end and for negative numbers."""
        with self._lock:
            if isinstance(key, slice):
                numbers = range(*key.indices(len(self)))
                return self._video.frames(list(numbers)) if numbers else []
            if isinstance(key, bool) or not hasattr(key, "__index__"):
                message = f"Unsupported key type: {type(key).__name__}; use an int or a slice"
                raise TypeError(message)
            return self._video.frames([self._checked(key)])[0]

    def get_batch_frames(self, batch_size: int) -> list[DecodedFrame]:
        """The next frames from the cursor on; fewer at the end, none behind it."""
        count = expect_int("batch_size", batch_size)
        if count < 0:
            message = f"batch_size must be 0 or more, not {count}"
            raise TypeError(message)
        with self._lock:
            first, last = self._cursor, min(self._cursor + count, len(self))
            self._cursor = last
            return self._video.frames(list(range(first, last))) if last > first else []

    def get_batch_frames_by_index(self, indices: Iterable[int]) -> list[DecodedFrame]:
        """Frames by number in the order of their first mention, each once; numbers past the end cost a warning."""
        with self._lock:
            numbers = self._video.existing(indices)
            return self._video.frames(numbers) if numbers else []

    def seek_to_index(self, index: int) -> None:
        """Moves the cursor of get_batch_frames(). Raises IndexError past the end."""
        with self._lock:
            self._cursor = self._checked(index)

    def get_index_from_time_in_seconds(self, time_in_seconds: float) -> int:
        """Number of the first frame shown at or after a time. Raises PyNvVCException past the end of the video."""
        with self._lock:
            duration = self._video.metadata.duration
            if time_in_seconds > duration:
                message = (
                    f"Provided timestamp : {time_in_seconds} is greater than the total duration of the video, "
                    f"{duration:g} s"
                )
                raise PyNvVCException(message)
            times = self._video.reader.pts_seconds
            # A hair off the time of a frame is that frame.
            return min(bisect.bisect_left(times, time_in_seconds - 1e-6), len(self) - 1)

    def get_stream_metadata(self) -> StreamMetadata:
        """Size, length, rates and codec."""
        return self._video.metadata

    def get_scanned_stream_metadata(self) -> ScannedStreamMetadata:
        """The same, and sizes and times of all packets."""
        with self._lock:
            return self._video.scan()

    def reconfigure_decoder(self, new_source: Any) -> None:
        """Goes over to another video, from its beginning."""
        with self._lock:
            self._video.open(new_source)
            self._cursor = 0

    def get_session_init_time(self) -> int:
        """Milliseconds that opening took."""
        return int(self._video.start_ms)

    @staticmethod
    def set_session_count(count: int) -> None:
        """Accepted: sessions do not wait for one another."""
        expect_int("count", count)

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
    decoderCacheSize: int = 4,
    outputColorType: OutputColorType = OutputColorType.NATIVE,
    bWaitForSessionWarmUp: bool = False,
    enableDecodeStats: bool = False,
) -> SimpleDecoder:
    """SimpleDecoder by its native names; frames are in host memory unless asked otherwise."""
    return SimpleDecoder(
        encSource, gpuid, cudaContext, cudaStream, useDeviceMemory, maxWidth, maxHeight, needScannedStreamMetadata,
        decoderCacheSize, outputColorType, bWaitForSessionWarmUp, enableDecodeStats,
    )  # fmt: skip
