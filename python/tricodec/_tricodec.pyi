# SPDX-License-Identifier: Apache-2.0
# The native module.
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import (
    Any,
    Final,
    Generic,
    Literal,
    Protocol,
    SupportsIndex,
    SupportsInt,
    TypeAlias,
    overload,
    type_check_only,
)

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer, CapsuleType, Self, Unpack

from tricodec._option_types import (
    ArrayT,
    BatchOptions,
    CodecName,
    Device,
    IndexList,
    ReaderOptions,
    RequestOptions,
    SeekMode,
    SelectionOptions,
    SoundDType,
    TransformOptions,
)
from tricodec.compress._enums import ArrayBufferKind

@type_check_only
class Closes:
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: object) -> None: ...

@type_check_only
class Reads(Closes):
    info: Final[MediaInfo]
    stream: Final[StreamInfo]
    closed: Final[bool]
    def close(self) -> None: ...

@type_check_only
class ByteStream(Protocol):
    def read(self, size: int, /) -> Buffer: ...  # and seek(offset, whence), if it can

@type_check_only
class OpensReaders(Protocol):
    def _open_reader(self) -> ByteStream: ...

@type_check_only
class ByteSink(Protocol):
    def write(self, data: bytes, /) -> Any: ...

Target: TypeAlias = str | os.PathLike[str] | os.PathLike[bytes] | ByteSink | None
Source: TypeAlias = str | os.PathLike[str] | os.PathLike[bytes] | Buffer | ByteStream | SpooledSource | OpensReaders
Indices: TypeAlias = slice | IndexList
TimeBase: TypeAlias = Fraction | int | tuple[int, int] | None
FrameRate: TypeAlias = float | Fraction | tuple[int, int]
Array: TypeAlias = npt.NDArray[Any]
Stream: TypeAlias = Any  # a handle, or a stream of torch, CuPy, pycuda or Numba
Event: TypeAlias = Any  # a handle, or an event of torch, CuPy or Numba
Context: TypeAlias = Any  # a handle, or an object with .handle
# A numpy array, or a DeviceArray where a GPU did the work: too much the caller's choice for a union to help.
Result: TypeAlias = Any

OptionTable: TypeAlias = dict[str, tuple[str, Any, tuple[str, ...], str]]

SELECTION_OPTIONS: OptionTable
TRANSFORM_OPTIONS: OptionTable
__version__: str

def build_info() -> str: ...
def pinned_bytes(num_bytes: int, device_index: int) -> npt.NDArray[np.uint8]: ...

class Profiler:
    def __init__(self, max_events: int) -> None: ...
    def stop(self) -> None: ...
    def elapsed_ns(self) -> int: ...
    def num_dropped_events(self) -> int: ...
    def num_missed_events(self) -> int: ...
    def stages(self) -> list[tuple[str, int, int, int, int]]: ...
    def events(self) -> list[tuple[int, int, str, int, str, int]]: ...
    def take_events(self) -> list[tuple[int, int, str, int, str, int]]: ...

class MemoryTracker:
    def __init__(self, max_events: int) -> None: ...
    def stop(self) -> None: ...
    def allocators(self) -> list[tuple[str, int, int, int, int, int]]: ...
    def events(self) -> list[tuple[int, str, str, int, int]]: ...
    def num_dropped_events(self) -> int: ...

def memory_use() -> list[tuple[str, int, int]]: ...
def get_limits() -> dict[str, int]: ...
def set_limits(**fields: int) -> None: ...
def pixel_formats() -> tuple[str, ...]: ...
def sei_messages(packet: Packet | Buffer, stream_or_codec: StreamInfo | str) -> list[tuple[int, bytes]]: ...
def gpu_facts(index: int) -> dict[str, str]: ...
def resolve_device(request: Device) -> str: ...
def log(level: str, message: str) -> None: ...

class SpooledSource:
    def __init__(self, source: Source) -> None: ...

def probe(source: Source) -> MediaInfo: ...
def ffmpeg_versions() -> dict[str, tuple[int, int, int]]: ...
def ffmpeg_build_config() -> str: ...
def ffmpeg_log_level() -> int: ...
def set_ffmpeg_log_level(level: int) -> None: ...
def ffmpeg_codecs(encoders: bool, media: str) -> dict[str, str]: ...
def ffmpeg_formats(muxers: bool) -> dict[str, str]: ...
def ffmpeg_devices(output: bool) -> dict[str, str]: ...
def ffmpeg_protocols(output: bool) -> list[str]: ...
def probe_encoder(name: str, device: str) -> tuple[bool, str]: ...
def clear_cuda_context_cache() -> None: ...
def describe_stream(
    codec: str, width: int, height: int, time_base: TimeBase, headers: Buffer | None = None
) -> StreamInfo: ...
def encoder_names() -> tuple[str, ...]: ...
def unknown_encoder_options(encoder: str, options: Mapping[str, str]) -> dict[str, str]: ...
def picture_bytes(format: str, width: int, height: int) -> int: ...
def encoder_for(codec: str, device: Device = "auto") -> str: ...
def picture_type(packet: Packet) -> str: ...
def transcode(source: Source, target: Target, *arguments: Any) -> dict[str, Any]: ...
def encode_video(frames: Any, *arguments: Any) -> bytes: ...
def bfloat16_to_dlpack(bits: npt.NDArray[np.uint16]) -> CapsuleType: ...

class BufferExporter:
    """Base of classes that export what their `__buffer__` returns; Python has this itself since 3.12."""

class ColorDescription:
    matrix: Final[str]
    primaries: Final[str]
    transfer: Final[str]
    range: Final[str]
    chroma_location: Final[str]
    def to_dict(self) -> dict[str, str]: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

@type_check_only
class Exchanged:
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class ArrayView(Exchanged):
    shape: Final[tuple[int, ...]]
    strides: Final[tuple[int, ...]]
    ndim: Final[int]
    size: Final[int]
    nbytes: Final[int]
    @property
    def dtype(self) -> np.dtype[Any]: ...
    data_ptr: Final[int]
    device: Final[str]
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __len__(self) -> int: ...

class Plane(ArrayView): ...

class DeviceArray(ArrayView):
    @property
    def dtype(self) -> np.dtype[Any] | str: ...  # type: ignore[override]
    @staticmethod
    def copy_of(array: Any) -> DeviceArray: ...
    @staticmethod
    def over(array: Any, dtype: str = "") -> DeviceArray: ...
    def numpy(self) -> Array: ...
    def reshape(self, shape: Sequence[int]) -> DeviceArray: ...
    def wait(self) -> None: ...
    def wait_on(self, stream: Stream) -> None: ...
    def __getitem__(self, index: SupportsIndex | slice) -> DeviceArray: ...

class Frame(Exchanged):
    format: Final[str]
    width: Final[int]
    height: Final[int]
    pts: Final[int | None]
    pts_seconds: Final[float | None]
    duration: Final[int]
    time_base: Final[Fraction | None]
    index: Final[int]
    color: Final[ColorDescription]
    key: Final[bool]
    corrupt: Final[bool]
    interlaced: Final[bool]
    picture_type: Final[str]
    rotation: Final[int]
    mirrored: Final[bool]
    sample_aspect_ratio: Final[Fraction | None]
    block_statistics: Final[bytes | None]
    size_bytes: Final[int]
    device: Final[str]
    planes: Final[tuple[Plane, ...]]
    @overload
    def to_ndarray(self, format: str | None = None, out: None = None) -> Array: ...
    @overload
    def to_ndarray(self, format: str | None = None, out: Any = None) -> Any: ...
    @overload
    def pack(self, out: None = None) -> bytes: ...
    @overload
    def pack(self, out: Any = None) -> Any: ...
    def md5(self) -> str: ...
    def convert(self, format: str) -> Frame: ...
    def cpu(self) -> Frame: ...
    def device_array(self, shape: Sequence[int] | None = None) -> DeviceArray: ...
    def to(self, device: Device, *, stream: Stream | None = None) -> Frame: ...
    def wait(self) -> None: ...
    def wait_on(self, stream: Stream) -> None: ...
    @staticmethod
    def from_planes(
        planes: Sequence[Array],
        format: str,
        *,
        color: ColorDescription | dict[str, str] | None = None,
        rotation: int = 0,
        mirrored: bool = False,
        pts: int | None = None,
        time_base: TimeBase = None,
    ) -> Frame: ...
    def _repr_png_(self) -> bytes: ...

class Packet:
    def __init__(
        self,
        data: Buffer | Packet,
        *,
        pts: int | None = None,
        dts: int | None = None,
        duration: int = 0,
        pos: int = -1,
        key: bool = False,
        time_base: TimeBase = None,
    ) -> None: ...
    data: Final[memoryview]
    pts: Final[int | None]
    dts: Final[int | None]
    duration: Final[int]
    pos: Final[int]
    key: Final[bool]
    discard: Final[bool]
    corrupt: Final[bool]
    time_base: Final[Fraction | None]
    stream_index: Final[int]
    address: Final[int]
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> Literal[True]: ...

class StreamInfo:
    index: Final[int]
    kind: Final[str]
    codec: Final[str]
    codec_name: Final[str]
    profile: Final[str]
    level: Final[int]
    time_base: Final[Fraction | None]
    start_pts: Final[int | None]
    duration: Final[int | None]
    duration_seconds: Final[float]
    num_frames: Final[int]
    bit_rate: Final[int]
    width: Final[int]
    height: Final[int]
    pixel_format: Final[str | None]
    pixel_format_name: Final[str]
    average_frame_rate: Final[Fraction | None]
    real_frame_rate: Final[Fraction | None]
    sample_aspect_ratio: Final[Fraction | None]
    color: Final[ColorDescription]
    rotation: Final[int]
    mirrored: Final[bool]
    interlaced: Final[bool]
    mastering_display: Final[dict[str, Any] | None]
    content_light: Final[dict[str, int] | None]
    attached_picture: Final[bool]
    sample_rate: Final[int]
    num_channels: Final[int]
    channel_layout: Final[str]
    sample_format: Final[str]
    language: Final[str]
    def to_dict(self) -> dict[str, Any]: ...

class MediaInfo:
    name: Final[str]
    format_name: Final[str]
    duration_seconds: Final[float]
    start_seconds: Final[float]
    bit_rate: Final[int]
    size_bytes: Final[int]
    elementary: Final[bool]
    streams: Final[tuple[StreamInfo, ...]]
    video: Final[StreamInfo | None]
    audio: Final[StreamInfo | None]
    def to_dict(self) -> dict[str, Any]: ...
    def _repr_html_(self) -> str: ...

class Demuxer(Reads):
    def __init__(
        self,
        source: Source,
        *,
        stream_index: int = -1,
        all_streams: bool = False,
        annexb: bool = False,
        ignore_edit_list: bool = False,
        kind: Literal["video", "audio"] = "video",
    ) -> None: ...
    seekable: Final[bool]
    ends_early: Final[str]
    def read(self) -> Packet | None: ...
    def seek(self, pts: int) -> None: ...
    def seek_seconds(self, seconds: float) -> None: ...
    def seek_bytes(self, position: int) -> None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Packet: ...

class DecodeIssue:
    packet_number: Final[int]
    pts: Final[int | None]
    pos: Final[int]
    message: Final[str]

def gpu_refusal(stream: StreamInfo, gpu: int | None = None) -> str: ...
def hardware_caps(codec: str, pixel_format: str, gpu: int) -> dict[str, int]: ...

class Decoder:
    def __init__(
        self,
        stream_or_codec: StreamInfo | CodecName,
        *,
        device: Device = "auto",
        num_threads: int = 0,
        context: Context | None = None,
        stream: Stream | None = None,
        block_statistics: bool = False,
    ) -> None: ...
    def decode(self, packet: Packet | Buffer, *, tag: int = -1) -> list[Frame]: ...
    def flush(self) -> list[Frame]: ...
    def reset(self) -> None: ...
    issues: Final[list[DecodeIssue]]
    num_issues: Final[int]
    engine: Final[str]
    device: Final[str]

def check_interrupt() -> None: ...

class Interruption:
    def __init__(self) -> None: ...
    def set(self) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: object) -> None: ...

class OutputFile(Closes):
    def __init__(self, path: str | os.PathLike[str], permissions: int = 0o666) -> None: ...
    def write(self, data: Buffer) -> int: ...

class Muxer(Closes):
    def __init__(
        self,
        target: Target,
        *,
        format: str = "",
        fast_start: bool = False,
        fragmented: bool = False,
        options: Mapping[str, str] | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None: ...
    def add_stream(self, stream: StreamInfo) -> int: ...
    def write(self, packet: Packet | Buffer, stream: int = 0) -> None: ...
    def finish(self) -> None: ...
    def close(self) -> None: ...
    def discard(self) -> None: ...
    def getvalue(self) -> bytes: ...
    format: Final[str]
    wants_global_headers: Final[bool]
    finished: Final[bool]

class AudioEncoder:
    def __init__(
        self,
        sample_rate: int,
        num_channels: int,
        *,
        dtype: SoundDType = "float32",
        codec: str | None = None,
        container: str = "mp4",
        encoded_rate: int | None = None,
        encoded_channels: int | None = None,
        bit_rate: int = 0,
        options: Mapping[str, str] | None = None,
        start_s: float = 0.0,
    ) -> None: ...
    def encode(self, samples: Any) -> list[Packet]: ...
    def flush(self) -> list[Packet]: ...
    stream: Final[StreamInfo]
    engine: Final[str]

class Encoder:
    def __init__(
        self,
        width: int,
        height: int,
        *,
        codec: str = "h264",
        device: Device = "auto",
        format: str = "yuv420p",
        frame_rate: FrameRate = 30,
        time_base: TimeBase = None,
        bit_rate: int = 0,
        gop_size: int = -1,
        num_b_frames: int = -1,
        color: ColorDescription | dict[str, str] | None = None,
        rotation: int = 0,
        num_threads: int = 0,
        global_header: bool = False,
        repeat_headers: bool = True,
        bitstream_filter: str = "",
        options: Mapping[str, Any] | None = None,
    ) -> None: ...
    def encode(
        self,
        picture: Frame | Any,
        *,
        pts: int | None = None,
        format: str = "",
        force_key: bool = False,
        input_consumed: Event | None = None,
    ) -> list[Packet]: ...
    def _do_not_warn(self) -> None: ...
    def flush(self) -> list[Packet]: ...
    def reconfigure(
        self, *, bit_rate: int | None = None, max_bit_rate: int | None = None, buffer_size: int | None = None
    ) -> None: ...
    stream: Final[StreamInfo]
    headers: Final[bytes]
    reorder_depth: Final[int]
    engine: Final[str]
    device: Final[str]

class FusionReport:
    name: Final[str]
    engine: Final[str]
    path: Final[str]
    fused: Final[tuple[str, ...]]
    erased: Final[tuple[str, ...]]
    not_fused: Final[tuple[str, ...]]

class Transform:
    def __init__(self, **options: Unpack[TransformOptions]) -> None: ...
    def __call__(
        self,
        frame: Frame | Sequence[Frame],
        out: Any = None,
        *,
        stream: Stream | None = None,
        pinned: bool = False,
        input_consumed: Event | None = None,
    ) -> Result: ...
    def describe(self) -> str: ...
    def explain(self, frame: Frame) -> FusionReport: ...
    def output_shape(self, width: int, height: int, rotation: int = 0) -> tuple[int, ...]: ...
    options: Final[dict[str, Any]]

def check_selection(**options: Unpack[SelectionOptions]) -> None: ...
def select_frames(
    pts_seconds: Sequence[float],
    end_seconds: float,
    *,
    tick_seconds: float = 0.0,
    key_frames: Sequence[int] = ...,
    **options: Unpack[SelectionOptions],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]: ...

class BatchIterator(Generic[ArrayT]):
    def __iter__(self) -> Self: ...
    def __next__(self) -> ArrayT: ...

class SwscaleRgb:
    def __init__(
        self,
        *,
        dtype: str = "uint8",
        size: Sequence[int] | None = None,
        steps: Sequence[Sequence[int]] = (),
        bilinear: bool = False,
    ) -> None: ...
    def __call__(self, frame: Frame) -> Array: ...

class ReadStats:
    bytes_read: Final[int]
    num_packets_decoded: Final[int]
    num_packets_left_out: Final[int]

class FrameReader(Reads, Generic[ArrayT]):
    @overload
    def __init__(
        self: FrameReader[Array], source: Source, *, device: Literal["cpu"], **options: Unpack[ReaderOptions]
    ) -> None: ...
    @overload
    def __init__(
        self: FrameReader[DeviceArray], source: Source, *, device: Literal["cuda"], **options: Unpack[ReaderOptions]
    ) -> None: ...
    @overload
    def __init__(
        self: FrameReader[Any], source: Source, *, device: Device = "auto", **options: Unpack[ReaderOptions]
    ) -> None: ...
    def save_index(self, path: str | os.PathLike[str]) -> None: ...
    def index_bytes(self) -> bytes: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> Frame: ...
    @overload
    def __getitem__(self, index: Indices) -> list[Frame]: ...
    def __iter__(self) -> Iterator[Frame]: ...
    def iterate(self, *, indices: IndexList | None = None, **options: Unpack[SelectionOptions]) -> Iterator[Frame]: ...
    def frames(self, indices: Indices) -> list[Frame]: ...
    def select(self, *, indices: IndexList | None = None, **options: Unpack[SelectionOptions]) -> list[int]: ...
    def _selected(
        self, **options: Unpack[SelectionOptions]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]: ...
    def time_span(self, indices: Indices) -> tuple[float, float]: ...
    def index_at(self, seconds: float) -> int: ...
    def at(self, seconds: float) -> Frame: ...
    @overload
    def batch(
        self,
        indices: Indices | None = None,
        transform: Transform | None = None,
        *,
        stream: Stream | None = None,
        **options: Unpack[BatchOptions],
    ) -> ArrayT: ...
    @overload
    def batch(
        self,
        indices: Indices | None = None,
        transform: Transform | SwscaleRgb | None = None,
        out: Any = None,
        *,
        stream: Stream | None = None,
        pinned: bool = False,
        **options: Unpack[BatchOptions],
    ) -> Any: ...
    @overload
    def batches(
        self,
        batch_size: int,
        transform: Transform | None = None,
        *,
        drop_last: bool = False,
        stream: Stream | None = None,
        **options: Unpack[RequestOptions],
    ) -> BatchIterator[ArrayT]: ...
    @overload
    def batches(
        self,
        batch_size: int,
        transform: Transform | None = None,
        *,
        drop_last: bool = False,
        out: Any = None,
        stream: Stream | None = None,
        pinned: bool = False,
        **options: Unpack[RequestOptions],
    ) -> BatchIterator[Any]: ...
    def _memory_required(self, *arguments: Any, **options: Any) -> tuple[int, int, int, int]: ...
    def show(
        self, indices: Indices | None = None, *, size: tuple[int, int] | None = None, columns: int | None = None
    ) -> Any: ...  # a picture of Pillow
    def _repr_html_(self) -> str: ...
    def _read(
        self, transform: Transform, *, out: Any = None, fewer: bool = False, pinned: bool = False, **options: Any
    ) -> tuple[Any, npt.NDArray[np.int64], npt.NDArray[np.float64]]: ...
    def _read_parts(
        self, selections: list[dict[str, Any]], transform: Transform, outs: list[Any]
    ) -> tuple[list[Any], list[npt.NDArray[np.int64]]]: ...
    def _close_idle_decoders(self, num_kept: int) -> None: ...
    def _gops(self) -> npt.NDArray[np.int64]: ...
    def _source_checksum(self) -> bytes: ...
    def frame_times(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
    def output_shape(
        self, transform: Transform | None = None, **options: Unpack[TransformOptions]
    ) -> tuple[int, ...]: ...
    @property
    def _opened_with(self) -> tuple[Any, dict[str, Any]]: ...
    num_frames: Final[int]
    fps: Final[float]
    duration: Final[float]
    width: Final[int]
    height: Final[int]
    shape: Final[tuple[int, int, int, int]]
    pts_seconds: Final[npt.NDArray[np.float64]]
    key_frames: Final[list[int]]
    engine: Final[str]
    device: Final[str]
    issues: Final[list[DecodeIssue]]
    stats: Final[ReadStats]
    num_damaged_packets: Final[int]

class AudioSamples:
    data: Final[npt.NDArray[Any]]
    start: Final[int]
    sample_rate: Final[int]
    pts_seconds: Final[float]
    duration_seconds: Final[float]
    def __len__(self) -> int: ...

class AudioReader(Reads):
    def __init__(
        self,
        source: Source,
        *,
        stream_index: int = -1,
        sample_rate: int | None = None,
        num_channels: int | None = None,
        dtype: SoundDType = "float32",
        seek_mode: SeekMode = "exact",
        ignore_edit_list: bool = False,
    ) -> None: ...
    def read(
        self,
        start: int = 0,
        count: int = -1,
        *,
        start_s: float | None = None,
        end_s: float | None = None,
        pad: bool = False,
    ) -> AudioSamples: ...
    def chunks(self, num_samples: int, start: int = 0, count: int = -1) -> Iterator[AudioSamples]: ...
    def __getitem__(self, index: int | np.integer[Any] | slice) -> npt.NDArray[Any]: ...
    def __iter__(self) -> Iterator[AudioSamples]: ...
    def __len__(self) -> int: ...
    num_samples: Final[int]
    def sample_at(self, seconds: float) -> int: ...
    sample_rate: Final[int]
    num_channels: Final[int]
    channel_layout: Final[str]
    @property
    def dtype(self) -> np.dtype[Any]: ...
    start_seconds: Final[float]
    duration_seconds: Final[float]
    issues: Final[list[DecodeIssue]]
    num_damaged_packets: Final[int]

class NativeStreamReader:
    def __init__(self, source: Source, *arguments: Any) -> None: ...
    num_source_streams: Final[int]
    num_output_streams: Final[int]
    default_audio_stream: Final[int]
    default_video_stream: Final[int]
    def metadata(self) -> dict[str, str]: ...
    def source_stream(self, index: int) -> dict[str, Any]: ...
    def output_stream(self, index: int) -> dict[str, Any]: ...
    def add_audio_stream(self, *arguments: Any) -> None: ...
    def add_video_stream(self, *arguments: Any) -> None: ...
    def remove_stream(self, index: int) -> None: ...
    def seek(self, seconds: float, mode: str) -> None: ...
    def process(self, all: bool, until_ready: bool) -> int: ...
    def is_buffer_ready(self) -> bool: ...
    def pop_chunks(self) -> list[tuple[Array, float] | None]: ...
    def close(self) -> None: ...

class CudaStream:
    @staticmethod
    def borrow(cuda_stream: SupportsInt, device_idx: SupportsInt = -1) -> CudaStream: ...
    @staticmethod
    def make_new(device_idx: SupportsInt = -1) -> CudaStream: ...
    device: Final[int]
    is_special: Final[bool]
    ptr: Final[int]

class ExternalMemory:
    def __init__(self, mem_handle: Any, stream_handle: Any = None) -> None: ...
    ptr: Final[int]

class CompressArray(ArrayView):
    def __init__(self, src_object: Any, cuda_stream: SupportsInt = 0) -> None: ...
    item_size: Final[int]
    buffer_size: Final[int]
    capacity: Final[int]
    precision: Final[int]
    buffer_kind: Final[ArrayBufferKind]
    def __dlpack__(
        self,
        stream: int | None = None,
        *,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType: ...
    def to_dlpack(self, cuda_stream: int | None = None) -> CapsuleType: ...
    def cpu(self) -> CompressArray | None: ...
    def cuda(self, synchronize: bool = True, cuda_stream: SupportsInt = 0) -> CompressArray | None: ...

class Codec:
    def __init__(
        self, *, options: dict[str, Any], device_index: SupportsInt | None = None, stream: SupportsInt | None = None
    ) -> None: ...
    def encode(self, sources: Sequence[Any], *arguments: Any) -> list[CompressArray]: ...
    def decode(self, sources: Sequence[Any], *arguments: Any) -> list[CompressArray]: ...
    def decode_range(self, source: Any, start: SupportsInt, stop: SupportsInt) -> CompressArray: ...
    def max_compressed_bytes(self, size_bytes: SupportsInt) -> int: ...
    def decompressed_bytes(self, source: Any) -> int: ...
    def inspect(self, source: Any) -> dict[str, Any]: ...

def gpu_compression_unavailable_reason(device_index: SupportsInt, algorithm: str = "") -> str: ...
def as_array(source: Any, cuda_stream: SupportsInt = 0) -> CompressArray: ...
def dlpack_as_array(source: Any, cuda_stream: SupportsInt = 0) -> CompressArray: ...
def set_device_allocator(allocator: Callable[[int, CudaStream], Any] | None = None) -> None: ...
def set_pinned_allocator(allocator: Callable[[int, CudaStream], Any] | None = None) -> None: ...
def set_host_allocator(allocator: Callable[[int, CudaStream], Any] | None = None) -> None: ...
def make_npy_header(typestr: str, shape: Sequence[SupportsInt]) -> bytes: ...
def read_npy_header(source: Any) -> tuple[str, tuple[int, ...], int]: ...
def set_nvcomp_library(path: str) -> None: ...
def compression_unavailable_reason(algorithm: str) -> str: ...

class NativeCodecConfig:
    def __init__(self, *arguments: Any) -> None: ...

class NativeStreamWriter:
    def __init__(self, target: Any, format: str) -> None: ...
    def add_audio_stream(self, *arguments: Any) -> None: ...
    def add_video_stream(self, *arguments: Any) -> None: ...
    def set_metadata(self, metadata: object) -> None: ...
    def open(self, option: object) -> None: ...
    def write_audio_chunk(self, stream: int, chunk: Any, pts: float | None) -> None: ...
    def write_video_chunk(self, stream: int, chunk: Any, pts: float | None) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...
    def discard(self) -> None: ...
