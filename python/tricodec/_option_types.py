# SPDX-License-Identifier: Apache-2.0
"""Types of arguments: for the stubs, type checkers, help() and IPython.

A call accepts the values in any case and in other usual spellings. Type checkers accept these alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, SupportsIndex, TypeAlias, TypedDict

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from fractions import Fraction

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Buffer, TypeVar

    ArrayT = TypeVar("ArrayT", default=Any)
else:
    from typing import TypeVar

    ArrayT = TypeVar("ArrayT")

Layout: TypeAlias = Literal["HWC", "CHW", "CHW2", "HWC8", "NHWC", "NCHW"]
Color: TypeAlias = Literal["rgb", "bgr", "gray", "yuv", "rgba"]
Resize: TypeAlias = Literal["nearest", "bilinear", "bicubic"]
Chroma: TypeAlias = Literal["interpolated", "nearest"]
Unspecified: TypeAlias = Literal["bt601", "bt709", "by_height"]
Matrix: TypeAlias = Literal["bt601", "bt709", "bt2020", "fcc", "smpte240m", "ycgco"]
Range: TypeAlias = Literal["limited", "full"]
DTypeName: TypeAlias = Literal["uint8", "float16", "float32", "bfloat16"]
SoundDTypeName: TypeAlias = Literal["float32", "int16"]
SeekMode: TypeAlias = Literal["exact", "approximate"]
Policy: TypeAlias = Literal["nearest", "on_screen", "exact"]
Rule: TypeAlias = Literal["uniform", "uniform_floor", "stride", "centers", "key_frames", "around"]
"""The values of ``sampling=``."""
CodecName: TypeAlias = Literal["h264", "hevc", "av1", "vp8", "vp9", "mpeg1video", "mpeg2video", "mpeg4", "mjpeg"]
"""Codecs that are decoded."""


class TorchDType(Protocol):
    """torch.dtype, without torch."""

    @property
    def is_floating_point(self) -> bool:
        """Whether it is a type of floats."""


class TorchDevice(Protocol):
    """torch.device, without torch."""

    @property
    def type(self) -> str:
        """ "cpu" or "cuda"."""

    @property
    def index(self) -> int | None:
        """Number of the GPU; None is the current one."""


DTypeObject: TypeAlias = "np.dtype[Any] | type[np.generic] | TorchDType"
DType: TypeAlias = "DTypeName | DTypeObject"
SoundDType: TypeAlias = "SoundDTypeName | DTypeObject"
Device: TypeAlias = "str | TorchDevice"
Number: TypeAlias = "float | Fraction"
Numbers: TypeAlias = "float | Sequence[float] | npt.NDArray[np.number[Any]]"
Times: TypeAlias = "Sequence[float] | npt.NDArray[np.floating[Any]]"
IndexList: TypeAlias = "Sequence[SupportsIndex] | npt.NDArray[np.integer[Any]]"


# options types selection: written by tools/options.py
class SelectionOptions(TypedDict, total=False):
    """Options of the table `selection`."""

    start: int
    stride: int
    count: int
    times: Times | None
    tolerance_s: Number | None
    policy: Policy | None
    fps: Number | None
    num_frames: int | None
    start_s: Number | None
    end_s: Number | None
    sampling: Rule | None
    min_frames: int | None
    max_frames: int | None


# end of options


# options types transform: written by tools/options.py
class TransformOptions(TypedDict, total=False):
    """Options of the table `transform`."""

    crop: Sequence[int] | None
    size: Sequence[int] | None
    resize: Resize
    antialias: bool
    chroma: Chroma
    color: Color
    matrix: Matrix | None
    range: Range | None
    unspecified: Unspecified
    rotate: bool
    dtype: DType
    layout: Layout
    scale: Number | None
    mean: Numbers | None
    std: Numbers | None


# end of options


class BatchOptions(SelectionOptions, TransformOptions, total=False):
    """Options beside indices."""


class RequestOptions(BatchOptions, total=False):
    """Which frames, and what is done to them."""

    indices: IndexList | None


class SourceOptions(TypedDict, total=False):
    """How a video is opened, beside the device."""

    stream_index: int
    num_workers: int
    ignore_edit_list: bool
    context: Any
    stream: Any


class DecodeOptions(RequestOptions, SourceOptions, total=False):
    """Options of `decode_video` beside those that decide the type of its arrays."""


class SamplingOptions(TypedDict, total=False):
    """Options of `tricodec.data.ClipSampler`."""

    rank: int
    num_ranks: int
    shuffle: bool
    seed: int
    drop_last: bool


class ReaderOptions(SourceOptions, total=False):
    """Options of `FrameReader` beside the device."""

    index: str | os.PathLike[str] | Buffer | None
    block_statistics: bool
