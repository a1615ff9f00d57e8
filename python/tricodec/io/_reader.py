# SPDX-License-Identifier: Apache-2.0
"""StreamReader: torchaudio's, on this package's core."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from tricodec._tricodec import NativeStreamReader
from tricodec.errors import MediaIOError
from tricodec.io._chunk import make_chunk
from tricodec.io._streams import (
    OUTPUTS,
    SOURCES,
    OutputStream,
    SourceStream,
    StreamArgumentError,
    argument_errors,
    basic_audio_filters,
    basic_video_filters,
    expect_integers,
)

if TYPE_CHECKING:
    from tricodec._tricodec import Source

_AGAIN = 2


class StreamReader:
    """Fetch and decode audio and video streams chunk by chunk.

    Packets of a source are decoded, filtered and put into chunks: video uint8 ``[frames, channels, height, width]``
    (16-bit formats as int16 or uint16), audio ``[frames, channels]`` in the dtype of its sample format. Chunks are
    torch tensors if the program has imported torch, else numpy arrays. With `hw_accel` they are in GPU memory (without
    torch objects with DLPack and the CUDA array interface), else in host memory. ``chunk.pts`` is the presentation time
    of the first frame in seconds.

    Thread safety: safe; calls run one after another.
    """

    def __init__(
        self,
        src: Source,
        format: str | None = None,
        option: Mapping[str, str] | None = None,
        buffer_size: int = 4096,
        *,
        protocols: Sequence[str] = (),
        arrays: Literal["auto", "numpy", "torch"] = "auto",
    ) -> None:
        """Open a source and read its headers.

        Args:
            src: a path (str or os.PathLike), bytes-like, or an object with ``read(size) -> bytes`` and, if it can seek,
                ``seek(offset, whence) -> int``. For a device its name, for the format ``"lavfi"`` a filter expression
                such as ``"testsrc2=size=640x360"``.
            format: name of a demuxer or a device, as in ``ffmpeg -f``; None detects the format of the bytes.
            option: options of the demuxer.
            buffer_size: number of bytes in one read of a file-like object.
            protocols: FFmpeg's network protocols that `src` may use, in addition to
                ``option["protocol_whitelist"]``; by default none. ``https`` needs ``("https", "tls", "tcp")``.
            arrays: type of the chunks: "numpy", "torch", or "auto" for torch if the program has imported it.

        Raises:
            StreamArgumentError: the format or an option is not known.
            MediaNotFoundError: there is no such file.
            RefusedError: the protocol of a URL is not allowed, or the container opens other files.
            CorruptDataError: the source is not a supported media file.
        """
        options = dict(option or {})
        allowed = options.pop("protocol_whitelist", "")
        names = [*protocols, *(name for name in allowed.split(",") if name)]
        self._arrays = arrays
        expect_integers(optional=False, buffer_size=buffer_size)
        with argument_errors():
            if arrays not in ("auto", "numpy", "torch"):
                raise StreamArgumentError(f"arrays must be auto, numpy or torch, not {arrays!r}")
            if buffer_size < 1:
                raise StreamArgumentError(f"buffer_size must be positive, not {buffer_size}")
            source = os.fspath(src) if isinstance(src, os.PathLike) else src
            self._native = NativeStreamReader(source, format or "", options, buffer_size, names)

    @property
    def num_src_streams(self) -> int:
        """Number of streams in the source."""
        return self._native.num_source_streams

    @property
    def num_out_streams(self) -> int:
        """Number of outputs."""
        return self._native.num_output_streams

    @property
    def default_audio_stream(self) -> int | None:
        """Index of the best audio stream, or None."""
        index = self._native.default_audio_stream
        return None if index < 0 else index

    @property
    def default_video_stream(self) -> int | None:
        """Index of the best video stream, or None."""
        index = self._native.default_video_stream
        return None if index < 0 else index

    def get_metadata(self) -> dict[str, str]:
        """Tags of the source."""
        return self._native.metadata()

    def get_src_stream_info(self, i: int) -> SourceStream:
        """Describe stream `i` of the source: a SourceStream, SourceAudioStream or SourceVideoStream."""
        expect_integers(optional=False, i=i)
        with argument_errors():
            facts = self._native.source_stream(i)
        return SOURCES.get(facts["media_type"], SourceStream)(**facts)

    def get_out_stream_info(self, i: int) -> OutputStream:
        """Describe output `i`, as its filters deliver it: an OutputAudioStream or OutputVideoStream."""
        expect_integers(optional=False, i=i)
        with argument_errors():
            facts = self._native.output_stream(i)
        return OUTPUTS[facts["media_type"]](**facts)

    def seek(self, timestamp: float, mode: str = "precise") -> None:
        """Go to a time. This flushes the decoders and drops waiting chunks.

        Args:
            timestamp: seconds, at least 0.
            mode: ``"key"`` is the key frame before; ``"any"`` any frame before, as the container finds it, which may be
                damaged; ``"precise"`` the first frame at `timestamp` or after it, whole and by its number in the index.

        Raises:
            StreamArgumentError: the time or the mode is not accepted.
            UnsupportedError: the source cannot seek.
        """
        with argument_errors():
            self._native.seek(timestamp, mode)

    def add_basic_audio_stream(
        self,
        frames_per_chunk: int,
        buffer_chunk_size: int = 3,
        *,
        stream_index: int | None = None,
        decoder: str | None = None,
        decoder_option: Mapping[str, str] | None = None,
        format: str | None = "fltp",
        sample_rate: int | None = None,
        num_channels: int | None = None,
    ) -> None:
        """Add an output of audio.

        Args:
            frames_per_chunk: number of frames (for audio samples) of a chunk; -1 gives all waiting frames.
            buffer_chunk_size: the greatest number of waiting chunks; the oldest ones are dropped. -1 keeps all.
            stream_index: number of the stream in the source; None is the best stream of this kind.
            decoder: FFmpeg's name of the decoder; None is the codec's default.
            decoder_option: options of the decoder; ``threads`` is "1" by default, and with "0" FFmpeg chooses.
            format: sample format: u8, s16, s32, s64, flt, dbl, or planar (fltp, ...); None is the decoder's.
            sample_rate: rate in Hz to resample to; None is the source's.
            num_channels: number of channels to mix to; None is the source's.
        """
        description = basic_audio_filters(format, sample_rate, num_channels)
        self.add_audio_stream(
            frames_per_chunk, buffer_chunk_size, stream_index=stream_index, decoder=decoder,
            decoder_option=decoder_option, filter_desc=description,
        )  # fmt: skip

    def add_basic_video_stream(
        self,
        frames_per_chunk: int,
        buffer_chunk_size: int = 3,
        *,
        stream_index: int | None = None,
        decoder: str | None = None,
        decoder_option: Mapping[str, str] | None = None,
        format: str | None = "rgb24",
        frame_rate: int | float | None = None,
        width: int | None = None,
        height: int | None = None,
        hw_accel: str | None = None,
    ) -> None:
        """Add an output of video.

        Args:
            frames_per_chunk, buffer_chunk_size, stream_index, decoder, decoder_option: as in `add_basic_audio_stream`.
            format: pixel format: rgb24, bgr24, gray, yuv420p, yuv444p, nv12, rgba, ...; None is the decoder's. The
                reader repeats subsampled chroma to full size.
            frame_rate: frames per second; frames are repeated or dropped to reach it. None is the source's.
            width: width in pixels to scale to; -1 follows the aspect ratio, None is the source's.
            height: height in pixels to scale to; -1 follows the aspect ratio, None is the source's.
            hw_accel: "cuda" or "cuda:N" decodes on a GPU (NVDEC, like ``decoder="h264_cuvid"``) to chunks in its
                memory. Filters (another format, size or rate) run in host memory; without them pixels never leave the
                GPU. "cpu" decodes by tricodec's own engine for the CPU.
        """
        description = basic_video_filters(frame_rate, width, height, format)
        self.add_video_stream(
            frames_per_chunk, buffer_chunk_size, stream_index=stream_index, decoder=decoder,
            decoder_option=decoder_option, filter_desc=description, hw_accel=hw_accel,
        )  # fmt: skip

    def add_audio_stream(
        self,
        frames_per_chunk: int,
        buffer_chunk_size: int = 3,
        *,
        stream_index: int | None = None,
        decoder: str | None = None,
        decoder_option: Mapping[str, str] | None = None,
        filter_desc: str | None = None,
    ) -> None:
        """Add an output of audio with any filters.

        Args:
            frames_per_chunk, buffer_chunk_size, stream_index, decoder, decoder_option: as in `add_basic_audio_stream`.
            filter_desc: filters with one input and one output, as in ``ffmpeg -af``; None is no filter. Filters
                can open files: do not use descriptions from untrusted sources.

        Raises:
            StreamArgumentError: an argument, an option or a filter is not accepted.
            UnsupportedError: there is no stream of this kind, or no decoder for it.
        """
        self._add(
            self._native.add_audio_stream, frames_per_chunk, buffer_chunk_size, stream_index, decoder, decoder_option,
            filter_desc or "anull", None,
        )  # fmt: skip

    def add_video_stream(
        self,
        frames_per_chunk: int,
        buffer_chunk_size: int = 3,
        *,
        stream_index: int | None = None,
        decoder: str | None = None,
        decoder_option: Mapping[str, str] | None = None,
        filter_desc: str | None = None,
        hw_accel: str | None = None,
    ) -> None:
        """Add an output of video with any filters.

        Args:
            frames_per_chunk, buffer_chunk_size, stream_index, decoder, decoder_option, filter_desc: as in
                `add_audio_stream`.
            hw_accel: as in `add_basic_video_stream`.

        Raises:
            StreamArgumentError, UnsupportedError: as `add_audio_stream`.
            DeviceError: the GPU of `hw_accel` is not available.
        """
        self._add(
            self._native.add_video_stream, frames_per_chunk, buffer_chunk_size, stream_index, decoder, decoder_option,
            filter_desc or "null", hw_accel,
        )  # fmt: skip

    def _add(
        self,
        add: Any,
        frames_per_chunk: int,
        buffer_chunk_size: int,
        stream_index: int | None,
        decoder: str | None,
        decoder_option: Mapping[str, str] | None,
        filter_desc: str,
        hw_accel: str | None,
    ) -> None:
        expect_integers(optional=False, frames_per_chunk=frames_per_chunk, buffer_chunk_size=buffer_chunk_size)
        expect_integers(stream_index=stream_index)
        if stream_index is not None and stream_index < 0:
            raise StreamArgumentError(f"stream_index must be at least 0 or None, not {stream_index}")
        options = dict(decoder_option) if decoder_option is not None else None
        with argument_errors():
            add(
                frames_per_chunk, buffer_chunk_size, -1 if stream_index is None else stream_index, decoder or "",
                options, filter_desc, hw_accel or "",
            )  # fmt: skip

    def remove_stream(self, i: int) -> None:
        """Remove output `i`; the numbers of later outputs decrease. A decoder ends with its last output."""
        expect_integers(optional=False, i=i)
        with argument_errors():
            self._native.remove_stream(i)

    def process_packet(self, timeout: float | None = None, backoff: float = 10.0) -> int:
        """Read, decode and filter one packet.

        Args:
            timeout: time in milliseconds to wait for a device without data; None raises at once, a negative number
                waits without a limit.
            backoff: time in milliseconds between two attempts.

        Returns:
            0 if there is more, 1 at the end of the source.

        Raises:
            MediaIOError: the time is over.
            CorruptDataError: a packet cannot be decoded. The next call continues with the next packet.
        """
        return self._process(timeout, backoff, until_ready=False)

    def process_all_packets(self) -> None:
        """Call `process_packet` until the end.

        Raises:
            CorruptDataError: a packet cannot be decoded. The frames before it wait in chunks.
        """
        while self._native.process(True, False) == _AGAIN:
            time.sleep(0.01)

    def is_buffer_ready(self) -> bool:
        """Whether each output has a full chunk, or for chunks of any size a frame."""
        return self._native.is_buffer_ready()

    def fill_buffer(self, timeout: float | None = None, backoff: float = 10.0) -> int:
        """Call `process_packet` until `is_buffer_ready`.

        Args:
            timeout, backoff: as in `process_packet`.

        Returns:
            0 if chunks are ready, 1 at the end of the source; the last chunk may be shorter.
        """
        return self._process(timeout, backoff, until_ready=True)

    def _process(self, timeout: float | None, backoff: float, *, until_ready: bool) -> int:
        start = time.monotonic()
        while (status := self._native.process(False, until_ready)) == _AGAIN:
            waited = (time.monotonic() - start) * 1000
            if timeout is None or 0 <= timeout < waited:
                message = f"the source has no data after {waited:.0f} ms; pass a greater timeout= to wait longer"
                raise MediaIOError(message)
            time.sleep(max(0.0, backoff) / 1000)
        return status

    def pop_chunks(self) -> list[Any | None]:
        """Remove and return the oldest chunk of each output in their order; None for an output without a chunk."""
        return [None if each is None else make_chunk(*each, self._arrays) for each in self._native.pop_chunks()]

    def stream(self, timeout: float | None = None, backoff: float = 10.0) -> Iterator[list[Any | None]]:
        """Iterate to the end over lists with a chunk of each output.

        Args:
            timeout, backoff: as in `process_packet`.

        Raises:
            StreamArgumentError: there is no output.
        """
        if self.num_out_streams == 0:
            message = "no output stream was added; call add_basic_video_stream() or add_basic_audio_stream() first"
            raise StreamArgumentError(message)
        while self.fill_buffer(timeout, backoff) == 0:
            yield self.pop_chunks()
        while True:
            chunks = self.pop_chunks()
            if all(chunk is None for chunk in chunks):
                return
            yield chunks
