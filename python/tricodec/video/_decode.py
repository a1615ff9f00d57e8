# SPDX-License-Identifier: Apache-2.0
"""decode_video(), the request of all front ends: from a video to an array of frames; read_many() does several."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, overload

from tricodec._option_types import ArrayT
from tricodec._tricodec import FrameReader, Interruption
from tricodec.options import request_of
from tricodec.video.cores import num_cores

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Unpack

    from tricodec._option_types import DecodeOptions, Device, RequestOptions
    from tricodec._tricodec import DeviceArray, Source, Transform

elsewhere: Callable[..., DecodedVideo[Any]] | None = None
"""What `decode_video` calls in place of decoding in this process; `tricodec.node.use` sets it."""


@dataclass(frozen=True, slots=True, eq=False)
class DecodedVideo(Generic[ArrayT]):
    """The frames that `decode_video` has decoded, and their times.

    >>> tricodec.decode_video(tricodec.sample_video(), times=[1.0, 2.48], size=(90, 160))
    <tricodec.DecodedVideo uint8 [2, 90, 160, 3]>
    """

    frames: ArrayT
    """The frames, [F, H, W, C] or [F, C, H, W], in the requested dtype: a numpy array, a `DeviceArray` if a GPU
    decoded, or the given `out`."""
    pts_seconds: npt.NDArray[np.float64]
    """Presentation time of each frame in seconds, float64 [F]."""
    num_damaged_packets: int = 0
    """Number of video packets that could not be decoded completely: `FrameReader.num_damaged_packets`. All packets that
    are missing at the end of a file that was cut off count as one. The number of threads has no effect on it."""
    indices: npt.NDArray[np.int64] | None = None
    """Number of each frame in the video, int64 [F]. A server's client leaves it out."""
    asked_seconds: npt.NDArray[np.float64] | None = None
    """The time that was asked for, of each frame, float64 [F]: of ``times`` and of ``fps`` each instant, else
    ``pts_seconds``. A server's client leaves it out."""
    num_shared_frames: int = 0
    """Number of frames that a node had decoded for an earlier request: `tricodec.node`."""

    def __len__(self) -> int:
        """Number of frames."""
        frames: Any = self.frames
        return len(frames)

    def __repr__(self) -> str:
        frames: Any = self.frames
        shape = ", ".join(map(str, frames.shape))
        number = self.num_damaged_packets
        damage = f", {number} damaged packet{'s' * (number > 1)}" if number else ""
        return f"<tricodec.DecodedVideo {frames.dtype} [{shape}]{damage}>"

    def _repr_png_(self) -> bytes | None:
        """The frames, or 16 across them; None, which shows repr(), if they are no pictures of uint8 and HWC."""
        from tricodec.show.pictures import png_of_batch

        return png_of_batch(self.frames)


@overload
def decode_video(
    source: Source, *, device: Literal["cpu"], **options: Unpack[DecodeOptions]
) -> DecodedVideo[npt.NDArray[Any]]: ...
@overload
def decode_video(
    source: Source, *, device: Literal["cuda"], **options: Unpack[DecodeOptions]
) -> DecodedVideo[DeviceArray]: ...
@overload
def decode_video(source: FrameReader[ArrayT], **options: Unpack[RequestOptions]) -> DecodedVideo[ArrayT]: ...
@overload
def decode_video(
    source: Source | FrameReader[Any],
    *,
    device: Device = "auto",
    out: Any = None,
    pinned: bool = False,
    **options: Unpack[DecodeOptions],
) -> DecodedVideo[Any]: ...
def decode_video(
    source: Source | FrameReader[Any],
    *,
    device: Device = "auto",
    stream_index: int = -1,
    num_workers: int = 0,
    ignore_edit_list: bool = False,
    out: Any = None,
    context: Any = None,
    stream: Any = None,
    pinned: bool = False,
    **options: Any,
) -> DecodedVideo[Any]:
    """Decode frames of a video into one array. DALI's operator and Triton's model return the same bytes.

        >>> video = tricodec.decode_video(tricodec.sample_video(), fps=2, size=(224, 224), device="cpu")
        >>> video.frames.shape, video.frames.dtype, video.pts_seconds[:3].tolist()
        ((11, 224, 224, 3), dtype('uint8'), [0.0, 0.48, 1.0])

    Args:
        source: as in `probe`, or an open FrameReader, which stays open; arguments of a reader then are an error. All
            data of an object that cannot seek are kept, within ``max_spool_bytes`` of `set_limits`.
        device: "auto", "auto:N", "cpu", "cuda" or "cuda:N". "auto" is the GPU if it decodes the video exactly, else
            the CPU. TRICODEC_DEVICE replaces "auto".
        stream_index: number of the video stream; -1 is the best one.
        num_workers: as in `FrameReader`.
        ignore_edit_list: include the frames that the container's edit list removes.
        out: as in `FrameReader.batch`.
        context: as in `FrameReader`.
        stream, pinned: as in `Transform`.
        **options: options that select frames, as in `FrameReader.select` (start, stride, count, indices, times,
            fps, num_frames, ...), and options of `Transform` (crop, size, color, dtype, layout, mean, std, ...).

    Returns:
        The frames and their times, by default uint8 RGB, [F, H, W, 3]. A given `out` is ``frames``. For a damaged
        stream the result has all frames that could be decoded, and ``num_damaged_packets`` is not 0.

    Raises:
        ValueError: an option is not accepted or contradicts another one, or `out` does not fit.
        TypeError: `out` has another dtype or is no array.
        IndexError: the video does not have so many frames, or a time has no frame; the text names the nearest one.
        CorruptDataError: the video has no frames at all, and `count` is not 0.
        Error: the other errors of `FrameReader`.

    Thread safety: safe.
    """
    # First, to find wrong options before the source is opened.
    selection, transform = request_of(decode_video, options)
    if isinstance(source, FrameReader):
        if (device, stream_index, num_workers, ignore_edit_list, context, stream) != ("auto", -1, 0, False, None, None):
            raise TypeError("an open FrameReader is given with options of a reader; leave them out")
        return read_video(source, transform, selection, out, pinned=pinned)
    if elsewhere is not None and out is None and context is None and stream is None and not pinned:
        return elsewhere(source, device=device, stream_index=stream_index, ignore_edit_list=ignore_edit_list, **options)
    with FrameReader(
        source, device=device, stream_index=stream_index, num_workers=num_workers, ignore_edit_list=ignore_edit_list,
        context=context, stream=stream,
    ) as reader:  # fmt: skip
        return read_video(reader, transform, selection, out, pinned=pinned)


def read_video(
    reader: FrameReader[Any],
    transform: Transform,
    selection: Mapping[str, Any],
    out: Any = None,
    *,
    pinned: bool = False,
) -> DecodedVideo[Any]:
    """What `decode_video` does with an open reader."""
    frames, indices, asked = reader._read(transform, out=out, pinned=pinned, **selection)
    return DecodedVideo(frames, reader.pts_seconds[indices], reader.num_damaged_packets, indices, asked)


def read_many(
    sources: Iterable[Source | FrameReader | tuple[Source | FrameReader, Mapping[str, Any]]],
    *,
    workers: int = 0,
    **options: Any,
) -> list[DecodedVideo]:
    """Decode frames of several videos at once, each on a separate thread.

        >>> path = tricodec.sample_video()
        >>> tricodec.read_many([(path, {"start": 8}), (path, {"start": 24})], count=4, size=(90, 160), device="cpu")
        [<tricodec.DecodedVideo uint8 [4, 90, 160, 3]>, <tricodec.DecodedVideo uint8 [4, 90, 160, 3]>]

    Args:
        sources: sources as in `probe`, or open FrameReaders, which stay open; or pairs of one and a dict of
            options that count for this source only.
        workers: videos at a time; 0 is the number of cores. With several, each read has one decoder by default.
        **options: options of `decode_video` for all sources.

    Returns:
        What `decode_video` returns, for each source in order.

    Raises:
        ValueError: `workers` is below 0.
        Exception: the error of the first source, in order, that failed. A note in it names the source by its number.

    Thread safety: safe. An open FrameReader takes one call at a time.
    """
    if workers < 0:
        raise ValueError(f"workers of read_many is {workers}; expected 0 or more")
    if isinstance(sources, str | bytes | os.PathLike):
        raise TypeError("sources of read_many is one video; put it into a list, or call decode_video")
    requests = [_request(entry, options) for entry in sources]
    workers = min(workers or num_cores(), len(requests))
    if workers <= 1:
        return [_read(number, *request) for number, request in enumerate(requests)]
    for source, request in requests:
        if not isinstance(source, FrameReader):
            request.setdefault("num_workers", 1)
    interruption = Interruption()

    def read(number: int, source: Any, request: dict[str, Any]) -> DecodedVideo:
        with interruption:
            return _read(number, source, request)

    with ThreadPoolExecutor(workers, thread_name_prefix="tricodec-read_many") as threads:
        reads = [threads.submit(read, number, *request) for number, request in enumerate(requests)]
        videos: list[DecodedVideo] = []
        try:
            while reads:  # no name for the one that fails: with its error it would keep the videos
                videos.append(reads.pop(0).result())
            return videos
        except BaseException:  # Ctrl-C too, which Python's main thread alone notices
            interruption.set()
            for each in reads:
                each.cancel()
            raise


def _request(entry: Any, options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    source, own = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, {})
    if not isinstance(own, Mapping) or isinstance(source, tuple):
        raise TypeError(
            f"an entry of read_many is {entry!r}; expected a source, or (source, {{'indices': [0, 5]}}): a source and "
            "a dict of the options that count for it alone"
        )
    return source, {**options, **own}


def _read(number: int, source: Any, options: dict[str, Any]) -> DecodedVideo:
    try:
        return decode_video(source, **options)
    except Exception as error:
        name = source.info.name if isinstance(source, FrameReader) else source
        shown = repr(name) if isinstance(name, str | os.PathLike) else f"<{type(name).__name__}>"
        text = f"source {number} of read_many: {shown}"
        if hasattr(error, "add_note"):  # Python 3.11
            error.add_note(text)
        raise
