# SPDX-License-Identifier: Apache-2.0
"""One video to decode, and the decoding of it: what `tricodec.decode_video` does, into memory that is shared."""

from __future__ import annotations

import dataclasses
import mmap
import os
from typing import Any

import numpy as np
import numpy.typing as npt
import tricodec
from tricodec.triton_backend.settings import Settings

_PTS_ALIGNMENT = 8


@dataclasses.dataclass(frozen=True, slots=True)
class DecodeTask:
    """What is asked of one video, in the words of `tricodec.decode_video`.

    Attributes:
        start, stride, count, stream_index: which frames.
        transform: arguments of tricodec.Transform, JSON values only.
    """

    start: int = 0
    stride: int = 1
    count: int = -1
    stream_index: int = -1
    transform: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class FrameBlock:
    """Where frames and their times lie in a shared memory file: frames first, then float64 seconds.

    Attributes:
        shape: of the frames, [F, H, W, C] or [F, C, H, W].
        dtype: of the frames, NumPy's name.
    """

    shape: tuple[int, ...]
    dtype: str

    @property
    def frames_bytes(self) -> int:
        """Size of the frames."""
        size = np.dtype(self.dtype).itemsize
        for length in self.shape:
            size *= length
        return size

    @property
    def pts_offset(self) -> int:
        """Where the times begin."""
        return -(-self.frames_bytes // _PTS_ALIGNMENT) * _PTS_ALIGNMENT

    @property
    def total_bytes(self) -> int:
        """Size of the file; one byte where there is nothing, because an empty file cannot be mapped."""
        return max(1, self.pts_offset + 8 * self.shape[0])

    def arrays(self, memory: mmap.mmap) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
        """Views of the frames and of their times in a mapping of the file."""
        frames: npt.NDArray[Any] = np.ndarray(self.shape, self.dtype, memory)
        pts: npt.NDArray[np.float64] = np.ndarray(self.shape[:1], np.float64, memory, self.pts_offset)
        return frames, pts


def decode_to_memory(task: DecodeTask, video: Any, settings: Settings, num_threads: int) -> tuple[int, FrameBlock]:
    """Decodes into a new memory file, so that no pixel is copied on its way to another process.

    Args:
        task: what is asked.
        video: the encoded file, bytes-like.
        settings: max_frames, max_output_bytes and device are read; the other limits are the process's.
        num_threads: decoders at work.

    Returns:
        The file's descriptor, which the caller closes, and what is where in it.

    Raises:
        ValueError, IndexError, tricodec.Error: as tricodec.decode_video.
    """
    transform = tricodec.Transform(**task.transform)
    with tricodec.FrameReader(
        video, device=settings.device, stream_index=task.stream_index, num_workers=num_threads
    ) as reader:
        indices = reader.select(start=task.start, stride=task.stride, count=task.count)
        if len(indices) > settings.max_frames:
            raise tricodec.RefusedError(
                f"the request means {len(indices)} frames, and this model gives at most {settings.max_frames} "
                "an answer (its parameter max_frames); ask for fewer with COUNT, or for a larger STRIDE"
            )
        # No frames, but their shape: crops, rotation and size are the transform's business.
        empty = reader.batch([], transform)
        block = FrameBlock((len(indices), *empty.shape[1:]), empty.dtype.name)
        if block.frames_bytes > settings.max_output_bytes:
            raise tricodec.RefusedError(
                f"the frames take {block.frames_bytes} bytes, and this model gives at most {settings.max_output_bytes} "
                "an answer (its parameter max_output_bytes); ask for fewer frames with COUNT, or for a smaller SIZE"
            )
        file = os.memfd_create("tricodec-frames", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(file, block.total_bytes)
            frames, pts = block.arrays(mmap.mmap(file, block.total_bytes))
            reader.batch(indices, transform, out=frames)
            pts[:] = reader.pts_seconds[indices]
        except BaseException:
            os.close(file)
            raise
    return file, block
