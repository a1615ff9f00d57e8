# SPDX-License-Identifier: Apache-2.0
"""One array of frames to encode: what `tricodec.encode_video` does, in a worker."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import tricodec
from tricodec.triton_backend.encoder_request import check_file, check_frames
from tricodec.triton_backend.made_file import FileBlock, FileJob, read_file_block
from tricodec.triton_backend.settings import Settings


@dataclasses.dataclass(frozen=True, slots=True)
class EncodeTask:
    """The request for one array of frames. Its bytes are the pixels, then, if there are any, the times as float64.

    Attributes:
        shape, dtype: of the frames, with the axis of frames.
        has_pts: whether times follow the pixels.
        options: arguments of tricodec.encode_video, JSON values only.
    """

    KIND: ClassVar[str] = "encode"
    DOING: ClassVar[str] = "encoding"
    SHORTEN: ClassVar[str] = "send fewer frames, or choose a faster PRESET"

    shape: tuple[int, ...]
    dtype: str
    has_pts: bool = False
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    @staticmethod
    def read_block(described: dict[str, Any]) -> FileBlock:
        """See task.Task."""
        return read_file_block(described)

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, num_threads: int) -> Iterator[list[FileJob]]:
        """Encodes.

        Args:
            data: pixels and times, bytes-like.
            settings: max_frames, max_output_bytes and device are read.
            num_threads: not looked at: what is encoded depends on the number of threads, so the request says it.

        Raises:
            ValueError, tricodec.Error: as tricodec.encode_video.
        """
        check_frames(self.shape[0], settings)
        dtype = np.dtype(self.dtype)
        count = int(np.prod(self.shape, dtype=np.int64))
        buffer = memoryview(data).cast("B")
        frames = np.frombuffer(buffer, dtype, count).reshape(self.shape)
        pts = np.frombuffer(buffer, np.float64, self.shape[0], count * dtype.itemsize) if self.has_pts else None
        file = tricodec.encode_video(frames, pts, device=settings.device, **self.options)
        check_file(len(file), settings)
        yield [FileJob(file, {"num_frames": self.shape[0]})]
