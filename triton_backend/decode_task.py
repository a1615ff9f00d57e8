# SPDX-License-Identifier: Apache-2.0
"""One video to decode, and the decoding of it: what `tricodec.decode_video` does, into memory that is given."""

from __future__ import annotations

import contextlib
import dataclasses
import mmap
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
import tricodec
from tricodec.triton_backend.settings import Settings

OUTPUT_DTYPES = {
    "FRAMES": "uint8",
    "FRAMES_FP16": "float16",
    "FRAMES_BF16": "bfloat16",
    "FRAMES_FP32": "float32",
}
"""The frame outputs: which one a client requests decides the dtype."""

_PTS_ALIGNMENT = 8

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class Decoded:
    """Frames of one video, not to be written, and their times in seconds.

    Attributes:
        frames: in host memory (of bfloat16 the bits), or a tricodec.DeviceArray.
        num_damaged_packets: as tricodec.DecodedVideo has it.
    """

    frames: Any
    pts_seconds: npt.NDArray[np.float64]
    num_damaged_packets: int


@dataclasses.dataclass(frozen=True, slots=True)
class FrameBlock:
    """Where frames and their times lie in a shared memory file: frames first, then float64 seconds.

    Attributes:
        shape: of the frames, [F, H, W, C] or what the layout says.
        dtype: of the frames, NumPy's name or "bfloat16".
        num_damaged_packets: of the video, known once the frames are decoded.
    """

    shape: tuple[int, ...]
    dtype: str
    num_damaged_packets: int = 0

    @property
    def element(self) -> np.dtype[Any]:
        """What NumPy sees in the frames: their dtype, or uint16 for the bits of bfloat16, which it lacks."""
        return np.dtype("uint16" if self.dtype == "bfloat16" else self.dtype)

    @property
    def frames_bytes(self) -> int:
        """Size of the frames."""
        size = self.element.itemsize
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
        frames: npt.NDArray[Any] = np.ndarray(self.shape, self.element, memory)
        pts: npt.NDArray[np.float64] = np.ndarray(self.shape[:1], np.float64, memory, self.pts_offset)
        return frames, pts

    def read(self, memory: mmap.mmap) -> tuple[Decoded, npt.NDArray[Any]]:
        """See task.Block."""
        frames, pts = self.arrays(memory)
        # Copied: the times are not what the file is kept for.
        return Decoded(frames, pts.copy(), self.num_damaged_packets), frames


@dataclasses.dataclass(slots=True)
class DecodeJob:
    """An opened video and what is asked of it: how much memory the frames take is known before they are decoded.

    Attributes:
        reader: of the video.
        select: the numbers of the frames asked for, as the reader numbers frames now.
        indices: what `select` gave last.
        transform: what is done to them.
        place: the memory that they and their times take.
    """

    reader: tricodec.FrameReader
    select: Callable[[], list[int]]
    indices: list[int]
    transform: tricodec.Transform
    place: FrameBlock

    @property
    def block(self) -> FrameBlock:
        """`place`, and how much damage was met by now."""
        return dataclasses.replace(self.place, num_damaged_packets=self.reader.num_damaged_packets)

    def write(self, memory: mmap.mmap) -> None:
        """Decodes into a memory file."""
        self._settle(lambda: self._write(*self.place.arrays(memory)))

    def _settle(self, decode: Callable[[], T]) -> T:
        """Calls `decode`, and again where it shows that a damaged video has other frames than its packets promise.

        Raises:
            tricodec.CorruptDataError: if there are more, for which there is no room.
        """
        while True:
            try:
                result = decode()
            except IndexError:
                if not self._renumbered():
                    raise
            else:
                if not self._renumbered():
                    return result

    def _renumbered(self) -> bool:
        """Takes over what the request means now; False if that has not changed."""
        indices = self.select()
        if indices == self.indices:
            return False
        if len(indices) > len(self.indices):
            raise tricodec.CorruptDataError(
                f"the video is damaged: decoding gives {len(indices)} of the frames asked for, and its packets promise "
                f"{len(self.indices)}; ask for them with COUNT"
            )
        self.indices = indices
        self.place = dataclasses.replace(self.place, shape=(len(indices), *self.place.shape[1:]))
        return True

    def _write(self, frames: npt.NDArray[Any], pts: npt.NDArray[np.float64]) -> None:
        """Decodes straight into `frames`, which no pixel leaves again on its way to Triton, and writes the times.

        Args:
            frames: of the shape and element of `place`.
            pts: [F].

        Raises:
            tricodec.Error: as tricodec.decode_video.
        """
        out = tricodec.Bfloat16Array(frames) if self.place.dtype == "bfloat16" else frames
        self.reader.batch(self.indices, self.transform, out=out)
        pts[:] = self.reader.pts_seconds[self.indices]

    def outcome(self) -> Decoded:
        """Decodes into new memory. tricodec keeps its pages for the next time if it can.

        The frames are a tricodec.DeviceArray if a GPU decodes.
        """
        return self._settle(self._decoded)

    def _decoded(self) -> Decoded:
        pts = np.empty(len(self.indices), np.float64)
        if self.place.dtype == "bfloat16" and self.reader.device == "cpu":
            frames: npt.NDArray[Any] = np.empty(self.place.shape, self.place.element)
            self._write(frames, pts)
        else:
            frames = self.reader.batch(self.indices, self.transform)
            pts[:] = self.reader.pts_seconds[self.indices]
        return Decoded(frames, pts, self.reader.num_damaged_packets)


@dataclasses.dataclass(frozen=True, slots=True)
class DecodeTask:
    """The request for one video, with the keywords of `tricodec.decode_video`.

    Attributes:
        start, stride, count, stream_index: which frames.
        transform: arguments of tricodec.Transform, JSON values only.
    """

    KIND: ClassVar[str] = "decode"
    DOING: ClassVar[str] = "decoding"
    SHORTEN: ClassVar[str] = "ask for fewer frames with COUNT, or for a nearer START"

    start: int = 0
    stride: int = 1
    count: int = -1
    stream_index: int = -1
    transform: dict[str, Any] = dataclasses.field(default_factory=dict)

    @staticmethod
    def read_block(described: dict[str, Any]) -> FrameBlock:
        """See task.Task."""
        block = FrameBlock(
            tuple(int(length) for length in described["shape"]),
            str(described["dtype"]),
            int(described["num_damaged_packets"]),
        )
        if min(*block.shape, block.num_damaged_packets) < 0 or block.dtype not in OUTPUT_DTYPES.values():
            raise ValueError(
                f"an answer describes {block.dtype} frames of shape {block.shape} and {block.num_damaged_packets} "
                "damaged packets"
            )
        return block

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, num_threads: int) -> Iterator[list[DecodeJob]]:
        """Opens a video for as long as the context lasts.

        Args:
            data: the encoded file, bytes-like.
            settings: max_frames, max_output_bytes and device are read; the other limits are the process's.
            num_threads: decoders at work.

        Raises:
            ValueError, IndexError, tricodec.Error: as tricodec.decode_video.
        """
        with self.reader(data, settings, num_threads) as reader:
            yield [self.job(reader, lambda: self.indices(reader, settings), settings, "with COUNT")]

    def reader(self, data: Any, settings: Settings, num_threads: int) -> tricodec.FrameReader:
        """Opens the video."""
        return tricodec.FrameReader(
            data, device=settings.device, stream_index=self.stream_index, num_workers=num_threads
        )

    def indices(self, reader: tricodec.FrameReader, settings: Settings) -> list[int]:
        """The frames asked for.

        Raises:
            IndexError: if the video has fewer.
            tricodec.RefusedError: if they are more than the model's limit.
        """
        indices = reader.select(start=self.start, stride=self.stride, count=self.count)
        if len(indices) > settings.max_frames:
            raise tricodec.RefusedError(
                f"the request means {len(indices)} frames, and this model gives at most {settings.max_frames} a "
                "request (its parameter max_frames); ask for fewer with COUNT, or for a larger STRIDE"
            )
        return indices

    def job(
        self, reader: tricodec.FrameReader, select: Callable[[], list[int]], settings: Settings, remedy: str
    ) -> DecodeJob:
        """The decoding of some frames into one answer.

        Args:
            select: see DecodeJob.
            remedy: how a client gets fewer frames of one answer.

        Raises:
            tricodec.RefusedError: if they take more memory than the model gives.
        """
        indices = select()
        transform = tricodec.Transform(**self.transform)
        block = FrameBlock((len(indices), *reader.output_shape(transform)), transform.options["dtype"])
        if block.frames_bytes > settings.max_output_bytes:
            raise tricodec.RefusedError(
                f"the frames take {block.frames_bytes} bytes, and this model gives at most "
                f"{settings.max_output_bytes} an answer (its parameter max_output_bytes); ask for fewer frames "
                f"{remedy}, or for a smaller SIZE"
            )
        return DecodeJob(reader, select, indices, transform, block)
