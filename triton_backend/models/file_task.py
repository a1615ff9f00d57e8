# SPDX-License-Identifier: Apache-2.0
"""Files that the node makes or describes: `tricodec.encode_video`, `tricodec.transcode` and `tricodec.probe`."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import mmap
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import tricodec
from tricodec.node.tasks import Block, Tools, lay_out
from tricodec.triton_backend.runtime.settings import Settings

_SMALLER_FILE = "encode fewer frames, or with a lower BIT_RATE or a higher CRF"
_NO_VIDEO = {
    "stream_index": -1, "num_frames": 0, "width": 0, "height": 0, "frame_rate": 0.0, "seconds": 0.0, "codec": "",
}  # fmt: skip


class MadeJob:
    """A `tricodec.node.tasks.Job` that is done when it is opened: how much memory it takes was not known before."""

    def __init__(self, arrays: Sequence[npt.NDArray[Any]], facts: dict[str, Any]) -> None:
        self._arrays = arrays
        self.block = Block(lay_out((array.dtype.str, array.shape) for array in arrays), facts=facts)

    def write(self, memory: mmap.mmap) -> None:
        """Copies the arrays into a memory file."""
        for place, array in zip(self.block.places, self._arrays, strict=True):
            place.array(memory)[...] = array


def _file(data: bytes, facts: dict[str, Any]) -> list[MadeJob]:
    return [MadeJob([np.frombuffer(data, np.uint8)], facts)]


@dataclasses.dataclass(frozen=True, slots=True)
class EncodeTask:
    """The request for one array of frames. Its bytes are the pixels, then, if there are any, the times as float64.

    Attributes:
        shape, dtype: of the frames, with the axis of frames.
        has_pts: whether times follow the pixels.
        options: arguments of tricodec.encode_video, JSON values only.
    """

    DOING: ClassVar[str] = "encoding"
    SHORTEN: ClassVar[str] = "send fewer frames, or choose a faster PRESET"

    shape: tuple[int, ...]
    dtype: str
    has_pts: bool = False
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, tools: Tools) -> Iterator[list[MadeJob]]:
        """Encodes with the number of threads that the request states: the bytes depend on it."""
        _check_frames(self.shape[0], settings)
        dtype = np.dtype(self.dtype)
        count = int(np.prod(self.shape, dtype=np.int64))
        buffer = memoryview(data).cast("B")
        frames = np.frombuffer(buffer, dtype, count).reshape(self.shape)
        pts = np.frombuffer(buffer, np.float64, self.shape[0], count * dtype.itemsize) if self.has_pts else None
        file = tricodec.encode_video(frames, pts, device=tools.device, **self.options)
        settings.check_output(len(file), "the file takes", _SMALLER_FILE)
        yield _file(file, {"num_frames": self.shape[0]})


@dataclasses.dataclass(frozen=True, slots=True)
class TranscodeTask:
    """The request for one file. Its options are arguments of tricodec.transcode, JSON values only."""

    DOING: ClassVar[str] = "transcoding"
    SHORTEN: ClassVar[str] = "ask for a part with START_SECONDS and END_SECONDS, or choose a faster PRESET"

    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, tools: Tools) -> Iterator[list[MadeJob]]:
        """Transcodes, with the number of threads as in EncodeTask."""

        def check(num_frames: int, *_: Any) -> None:
            _check_frames(num_frames, settings)

        result = tricodec.transcode(data, None, device=tools.device, progress=check, **self.options)
        assert result.data is not None
        settings.check_output(len(result.data), "the file takes", _SMALLER_FILE)
        yield _file(result.data, dataclasses.asdict(dataclasses.replace(result, data=None)))


@dataclasses.dataclass(frozen=True, slots=True)
class ProbeTask:
    """The request for one file; a stream_index of -1 is the best video stream."""

    DOING: ClassVar[str] = "describing"
    SHORTEN: ClassVar[str] = "send a smaller file"

    stream_index: int = -1

    @contextlib.contextmanager
    def open(self, data: Any, settings: Settings, tools: Tools) -> Iterator[list[MadeJob]]:
        """Describes the file."""
        info = tricodec.probe(data)
        video = self._video(data, info, tools.num_threads) if info.video is not None or self.stream_index >= 0 else None
        facts = info.to_dict() | {"name": "", "video": video}
        yield _file(json.dumps(facts).encode(), video or _NO_VIDEO)

    def _video(self, data: Any, info: tricodec.video.MediaInfo, num_threads: int) -> dict[str, Any]:
        with tricodec.FrameReader(
            data, device="cpu", stream_index=self.stream_index, num_workers=num_threads
        ) as reader:
            stream = reader.stream
            height, width, _ = reader.output_shape(tricodec.Transform())
            rate = stream.average_frame_rate or stream.real_frame_rate
            return {
                "stream_index": stream.index,
                "num_frames": len(reader),
                "width": width,
                "height": height,
                "frame_rate": float(rate) if rate else 0.0,
                "seconds": float(stream.duration_seconds or info.duration_seconds or 0),
                "codec": stream.codec_name,
            }


def _check_frames(num_frames: int, settings: Settings) -> None:
    """Raises RefusedError for more frames than the model's parameter max_frames allows."""
    if num_frames > settings.max_frames:
        raise tricodec.RefusedError(
            f"there are {num_frames} frames, and this model encodes at most {settings.max_frames} a request (its "
            "parameter max_frames); send them in parts"
        )
