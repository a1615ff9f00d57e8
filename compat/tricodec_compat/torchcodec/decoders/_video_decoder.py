# SPDX-License-Identifier: Apache-2.0
"""torchcodec's VideoDecoder on the project's FrameReader."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from tricodec import FrameReader, UnsupportedError, probe
from tricodec.video import StreamInfo, SwscaleRgb
from tricodec.video.cores import share_of_cores

from tricodec_compat._frames_in_order import FramesInOrder
from tricodec_compat.torchcodec._frame_table import FrameTable
from tricodec_compat.torchcodec._metadata import VideoStreamMetadata, described_by_content, described_by_header
from tricodec_compat.torchcodec._results import Frame, FrameBatch
from tricodec_compat.torchcodec._source import opened
from tricodec_compat.torchcodec.decoders._arguments import (
    DTYPES,
    DTypeName,
    device_of,
    expect_num_threads,
    expect_output_dtype,
    expect_stream,
)
from tricodec_compat.torchcodec.decoders._cuda import CpuFallbackStatus, fallback_of
from tricodec_compat.torchcodec.transforms import steps_of


class VideoDecoder:
    """The frames of one video stream as torch tensors. Frame i is the i-th frame that decoding the whole stream gives.

    ``decoder[i]`` and ``decoder[a:b:c]`` are tensors; the methods return them with their times. On the CPU the pixels
    are those of ``ffmpeg -pix_fmt rgb24``, bit for bit, and the tensors own memory that nothing copies.

    Args:
        source: a path, bytes, a uint8 tensor of one axis, or an object with ``read(size)`` and
            ``seek(offset, whence)``.
        stream_index: among all streams of the file; None is the best video stream.
        dimension_order: "NCHW" (a view of NHWC memory) or "NHWC".
        num_ffmpeg_threads: 0 and 1 use all cores, in a worker of a DataLoader its share. A larger number is the number
            of workers. It changes no pixel.
        device: where frames are decoded and returned; None is torch's default device.
        seek_mode: "exact" scans the packets once. "approximate" takes the metadata from the header; the frames are
            exact all the same.
        transforms: Resize, CenterCrop and RandomCrop, in order; only on the CPU.
        output_dtype: torch.uint8 (0 to 255), torch.float32 (0 to 1, from 16 bits), or "auto": float32 for videos of
            more than 8 bits.
        custom_frame_mappings: times of the frames as ffprobe prints them, in place of a scan for the metadata.

    Attributes:
        metadata: a VideoStreamMetadata.
        stream_index: of the stream that is read.

    Raises:
        ValueError: for an argument that is not accepted, or a stream that is no video.
        TypeError: for a source of another kind.
        RuntimeError: if the source cannot be opened, or the device does not exist.

    Thread safety: calls from several threads take turns; the interpreter's lock is released while they work.
    """

    stream_index: int
    metadata: VideoStreamMetadata
    _source: Any
    _steps: list[tuple[int, ...]]
    _arguments: dict[str, Any]
    _reader: FrameReader
    _convert: SwscaleRgb | None
    _device: str
    _dtype: DTypeName
    _nhwc: bool
    _begin: float
    _end: float
    _num_frames: int
    _cpu_fallback: CpuFallbackStatus

    def __init__(
        self,
        source: Any,
        *,
        stream_index: int | None = None,
        dimension_order: Literal["NCHW", "NHWC"] = "NCHW",
        num_ffmpeg_threads: int = 1,
        device: str | torch.device | None = None,
        seek_mode: Literal["exact", "approximate"] = "exact",
        transforms: Sequence[Any] | None = None,
        output_dtype: torch.dtype | Literal["auto"] = torch.uint8,
        custom_frame_mappings: Any = None,
    ) -> None:
        if seek_mode not in ("exact", "approximate"):
            raise ValueError(f"Invalid seek mode ({seek_mode}). Supported values are exact, approximate.")
        if custom_frame_mappings is not None and seek_mode == "approximate":
            raise ValueError("custom_frame_mappings do not go with seek_mode='approximate'; leave seek_mode out")
        if dimension_order not in ("NCHW", "NHWC"):
            raise ValueError(f"Invalid dimension order ({dimension_order}). Supported values are NCHW, NHWC.")
        expect_num_threads(num_ffmpeg_threads)
        expect_output_dtype(output_dtype)
        self._arguments = {
            "stream_index": stream_index,
            "dimension_order": dimension_order,
            "num_ffmpeg_threads": num_ffmpeg_threads,
            "device": None if device is None else str(device),
            "seek_mode": seek_mode,
            "output_dtype": output_dtype,
        }
        self._source = source
        self._nhwc = dimension_order == "NHWC"
        workers = num_ffmpeg_threads if num_ffmpeg_threads > 1 else share_of_cores()
        self._device = device_of(device)
        if transforms and self._device != "cpu":
            raise RuntimeError(f"Transforms are only supported for CPU devices, not {self._device}")
        self._reader = opened(source, lambda given: _open(given, stream_index, self._device, workers))
        stream = self._reader.stream
        self.stream_index = stream.index
        self._table: FrameTable | None = None
        if custom_frame_mappings is not None:
            self._table = FrameTable.from_mappings(custom_frame_mappings, self._reader)
        elif seek_mode == "exact":
            self._table = FrameTable.of(self._reader)
        if self._table is None:
            self.metadata = described_by_header(self._reader.info, stream)
            for value, what in (
                (self.metadata.end_stream_seconds, "maximum pts value"),
                (self.metadata.num_frames, "number of frames"),
            ):
                if value is None:
                    raise ValueError(f"The {what} is unknown: the header does not say; use seek_mode='exact'")
        else:
            self.metadata = described_by_content(stream, self._table.begin, self._table.end, len(self._table))
        # The metadata may be changed by their owner.
        self._begin = self.metadata.begin_stream_seconds or 0
        self._end = self.metadata.end_stream_seconds or 0
        self._num_frames = self.metadata.num_frames or 0
        steps = steps_of(transforms, (self.metadata.height or 0, self.metadata.width or 0))
        dtype = _dtype_name(output_dtype, stream)
        self._convert = SwscaleRgb(dtype=dtype, steps=steps) if self._device == "cpu" else None
        self._in_order = None if self._convert is None else FramesInOrder(self._reader, self._convert, workers)
        self._dtype = dtype
        self._steps = steps
        self._cpu_fallback = fallback_of(self._device, self._reader.device)

    def __reduce__(self) -> Any:
        if not isinstance(self._source, (str, bytes)) and not hasattr(self._source, "__fspath__"):
            raise TypeError(
                f"a VideoDecoder of a {type(self._source).__name__} cannot be pickled; pass a path or bytes"
            )
        if self._steps:
            raise TypeError("a VideoDecoder with transforms cannot be pickled; make it in the process that uses it")
        return _unpickled, (type(self), self._source, self._arguments)

    def __len__(self) -> int:
        return self._num_frames

    @property
    def cpu_fallback(self) -> CpuFallbackStatus:
        """Whether the CPU decodes in place of the GPU that was asked for."""
        return self._cpu_fallback

    def __getitem__(self, key: numbers.Integral | slice) -> Tensor:
        """One frame, or those of a slice, as a tensor.

        Raises:
            IndexError: past either end.
            TypeError: for another key.
            RuntimeError: for a slice that goes backward.
        """
        if isinstance(key, numbers.Integral):
            return self._frame(self._position(int(key))).data
        if isinstance(key, slice):
            return self.get_frames_in_range(*_bounds(key, self._num_frames)).data
        raise TypeError(f"Unsupported key type: {type(key)}. Supported types are int and slice.")

    def get_frame_at(self, index: int) -> Frame:
        """One frame by number; negative numbers count from the end.

        Raises:
            IndexError: past either end.
            RuntimeError: for a number that is no integer.
        """
        if not isinstance(index, numbers.Integral):
            raise RuntimeError(f"Expected a value of type 'int' for argument 'index' but found {index!r}")
        return self._frame(self._position(int(index)))

    def get_frames_at(self, indices: Tensor | Sequence[int]) -> FrameBatch:
        """Frames by number, in this order, repeats allowed; each is decoded once.

        Args:
            indices: integers in a list, tuple, range, array or tensor; floats in a tensor are truncated.

        Raises:
            IndexError: past either end.
            RuntimeError: for numbers that are no integers, or none at all.
        """
        given = indices if isinstance(indices, Tensor) else torch.as_tensor(indices)
        if not isinstance(indices, Tensor) and given.dtype.is_floating_point:
            raise RuntimeError("expected scalar type Long but found Float: pass integers, at least one")
        positions = [self._position(int(i)) for i in given.reshape(-1).to(torch.int64).tolist()]
        return self._batch(np.array(positions, dtype=np.int64))

    def get_frames_in_range(self, start: int, stop: int | None, step: int = 1) -> FrameBatch:
        """Frames start, start + step, ... before stop, by the rules of slices.

        Raises:
            ValueError: for a step of 0.
            RuntimeError: for a step below 0, or a stop before start.
        """
        start, stop, step = slice(start, stop, step).indices(self._num_frames)
        if step < 0:
            raise RuntimeError(f"Step must be greater than 0; is {step}")
        if stop < start:
            raise RuntimeError(
                f"the range from {start} to {stop} has a negative dimension; stop must not be below start"
            )
        return self._batch(np.arange(start, stop, step))

    def get_frame_played_at(self, seconds: float) -> Frame:
        """The frame on screen at a time.

        Raises:
            IndexError: before the start of the stream, or at its end or later.
        """
        if not self._begin <= seconds < self._end:
            raise IndexError(
                f"Invalid pts in seconds: {seconds}. It must be greater than or equal to {self._begin} and less than "
                f"{self._end}."
            )
        return self._frame_of_row(self._times.first_before_end(float(seconds)))

    def get_frames_played_at(self, seconds: Tensor | Sequence[float]) -> FrameBatch:
        """The frames on screen at these times, in this order, repeats allowed.

        Raises:
            ValueError: for what makes no tensor.
            RuntimeError: for a time before the start of the stream, or at its end or later.
        """
        try:
            given = torch.as_tensor(seconds, dtype=torch.float64)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueError(f"Couldn't convert timestamps input to a tensor: {error}") from error
        wanted = given.reshape(-1).cpu().numpy()
        for time in wanted:
            if not time >= self._begin:
                raise RuntimeError(f"frame pts is {time}; must be greater than or equal to {self._begin}.")
            if not time < self._end:
                raise RuntimeError(f"frame pts is {time}; must be less than {self._end}.")
        return self._batch_of_rows(self._times.shown_at(wanted))

    def get_frames_played_in_range(
        self, start_seconds: float, stop_seconds: float, fps: float | None = None
    ) -> FrameBatch:
        """The frames that come on screen before stop_seconds, from the one on screen at start_seconds on.

        Args:
            start_seconds: from the start of the stream on.
            stop_seconds: up to the end of the stream.
            fps: frames at this rate in place of the stream's: those on screen at start_seconds + k / fps. The times of
                the result are these times.

        Raises:
            ValueError: for times outside the stream, or in the wrong order.
            RuntimeError: for an fps that is not positive.
        """
        if not start_seconds <= stop_seconds:
            raise ValueError(
                f"Invalid start seconds: {start_seconds}. It must be less than or equal to stop seconds "
                f"({stop_seconds})."
            )
        if not self._begin <= start_seconds < self._end:
            raise ValueError(
                f"Invalid start seconds: {start_seconds}. It must be greater than or equal to {self._begin} and less "
                f"than {self._end}."
            )
        if not stop_seconds <= self._end:
            raise ValueError(f"Invalid stop seconds: {stop_seconds}. It must be less than or equal to {self._end}.")
        if fps is not None and not fps > 0:
            raise RuntimeError(f"fps must be positive, got {fps}")
        if start_seconds == stop_seconds:
            return self._batch_of_rows(np.empty(0, dtype=np.int64))
        if fps is None:
            first = int(self._times.shown_at([start_seconds])[0])
            return self._batch_of_rows(np.arange(first, max(int(self._times.first_from(stop_seconds)), first)))
        count = math.floor((stop_seconds - start_seconds) * fps + 0.5)
        times = start_seconds + np.arange(count) * (1 / fps)
        frames = self._batch_of_rows(self._times.shown_at(times))
        durations = torch.full((count,), 1 / fps, dtype=torch.float64)
        return FrameBatch(frames.data, torch.from_numpy(times), durations)

    def get_all_frames(self, fps: float | None = None) -> FrameBatch:
        """All frames, or the whole stream at another rate; see get_frames_played_in_range()."""
        return self.get_frames_played_in_range(self._begin, self._end, fps)

    @property
    def _times(self) -> FrameTable:
        if self._table is None:
            self._table = FrameTable.of(self._reader)
        return self._table

    def _position(self, index: int) -> int:
        position = index + self._num_frames if index < 0 else index
        if position < 0:
            raise IndexError(
                f"Invalid frame index={index} for stream_index={self.stream_index}; negative indices must have an "
                f"absolute value less than the number of frames, {self._num_frames}"
            )
        if position >= self._num_frames:
            raise IndexError(
                f"Invalid frame index={index} for stream_index={self.stream_index}; must be less than "
                f"{self._num_frames}"
            )
        return position

    def _rows(self, positions: Any) -> Any:
        """Rows of the table. If the header states another number of frames, the first ones from its rate's times on."""
        table = self._times
        rate = self.metadata.average_fps_from_header
        if self._num_frames == len(table) or not rate or len(table) == 0:
            return positions
        tick = float(self._reader.stream.time_base or 1e-6)
        rows = table.first_from(np.round((self._begin + positions / rate) / tick) * tick - tick / 4)
        if len(rows) and rows.max() >= len(table):
            raise RuntimeError(
                "Requested next frame while there are no more frames left to decode: the header states "
                f"{self._num_frames} frames, and there are {len(table)}; use seek_mode='exact'"
            )
        return rows

    def _frame(self, position: int) -> Frame:
        if self._table is None and position == 0 and self._in_order is not None:  # needs no scan
            frame, array = self._in_order[0]
            base = self._reader.stream.time_base
            if frame.pts is not None and base is not None:
                pts, duration = (float(ticks * base) for ticks in (frame.pts, frame.duration))
                return Frame(self._ordered(torch.from_numpy(array)), pts, duration)
        return self._frame_of_row(int(self._rows(np.array([position]))[0]))

    def _frame_of_row(self, row: int) -> Frame:
        times = self._times
        number = int(times.numbers[row])
        data = self._on_gpu([number])[0] if self._in_order is None else torch.from_numpy(self._in_order[number][1])
        return Frame(self._ordered(data), times.pts[row], times.durations[row])

    def _batch(self, positions: Any) -> FrameBatch:
        return self._batch_of_rows(self._rows(positions))

    def _batch_of_rows(self, rows: Any) -> FrameBatch:
        times = self._times
        numbers = times.numbers[rows]
        if self._convert is None:
            data = self._on_gpu(numbers)
        else:
            data = torch.from_numpy(self._reader.batch(numbers, self._convert))
        pts, durations = torch.from_numpy(times.pts[rows]), torch.from_numpy(times.durations[rows])
        return FrameBatch(self._ordered(data), pts, durations)

    def _on_gpu(self, numbers: Any) -> Tensor:
        """By the project's own conversion, which runs there."""
        frames = self._reader.batch(list(numbers), dtype=self._dtype, chroma="nearest")
        return torch.from_dlpack(frames).to(self._device)

    def _ordered(self, data: Tensor) -> Tensor:
        return data if self._nhwc else data.movedim(-1, -3)


def _open(source: Any, stream_index: int | None, device: str, workers: int) -> FrameReader:
    """The reader of a stream; None is the best video stream."""
    if stream_index is not None:
        streams = probe(source).streams
        expect_stream(streams, stream_index)
        if (kind := streams[stream_index].kind) != "video":
            raise ValueError(f"The stream at index {stream_index} is not a video stream; it holds {kind}")
        return FrameReader(source, device=device, stream_index=stream_index, num_workers=workers)
    try:
        return FrameReader(source, device=device, num_workers=workers)
    except UnsupportedError as error:
        raise ValueError(f"The best video stream is unknown and there is no specified stream: {error}") from error


def _bounds(key: slice, length: int) -> tuple[int, int, int]:
    start, stop, step = key.indices(length)
    if step < 0:
        raise RuntimeError(f"Step must be greater than 0; is {step}")
    return start, stop, step


def _dtype_name(output_dtype: torch.dtype | str, stream: StreamInfo) -> DTypeName:
    if output_dtype == "auto":
        name = stream.pixel_format_name
        return "float32" if any(bits in name for bits in ("9le", "10", "12", "14", "16le")) else "uint8"
    return next(name for name, dtype in DTYPES.items() if dtype == output_dtype)


def _unpickled(cls: type[VideoDecoder], source: Any, arguments: dict[str, Any]) -> VideoDecoder:
    return cls(source, **arguments)


VideoDecoder.__module__ = "tricodec_compat.torchcodec.decoders"
