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
from tricodec.io._errors import StreamArgumentError, argument_errors
from tricodec.io._filters import basic_audio_filters, basic_video_filters
from tricodec.io._streams import OutputStream, SourceStream, output_stream, source_stream

if TYPE_CHECKING:
    from tricodec._tricodec import Source

_AGAIN = 2
_SEEK_MODES = ("key", "any", "precise")


class StreamReader:
    """Fetch and decode audio and video streams chunk by chunk.

    A source's packets are decoded, filtered and put into chunks: video uint8 ``[frames, channels, height, width]``
    (16-bit formats as int16 or uint16), audio ``[frames, channels]`` in the dtype of its sample format. Chunks are
    torch tensors where the program has imported torch, else numpy arrays, in host memory, or with `hw_accel` on a GPU
    (without torch: objects with DLPack and the CUDA array interface); ``chunk.pts`` is the presentation time of the
    first frame in seconds.

    Thread safety: calls from several threads take turns.
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
            src: a path (str or os.PathLike), bytes-like, or an object with ``read(size) -> bytes`` and, if it can,
                ``seek(offset, whence) -> int``. With `format` naming a device, the device; with ``"lavfi"``, a filter
                expression such as ``"testsrc2=size=640x360"``.
            format: of the demuxer or a device, as ``ffmpeg -f`` takes it; None lets the bytes tell.
            option: of the demuxer.
            buffer_size: bytes that are asked of a file-like object at a time.
            protocols: FFmpeg's network protocols that `src` may use; none unless they are named here or in
                ``option["protocol_whitelist"]``. ``https`` needs ``("https", "tls", "tcp")``.
            arrays: what chunks are; "auto" is torch where the program has imported it, else numpy.

        Raises:
            StreamArgumentError: for an unknown format or option, both a ValueError and a RuntimeError.
            MediaNotFoundError: if there is no such file.
            RefusedError: for URLs whose protocol is not allowed and containers that open other files.
            CorruptDataError: if nothing that is known is found in the source.
        """
        options = dict(option or {})
        allowed = options.pop("protocol_whitelist", "")
        names = [*protocols, *(name for name in allowed.split(",") if name)]
        self._arrays = arrays
        with argument_errors():
            if arrays not in ("auto", "numpy", "torch"):
                message = f"arrays must be auto, numpy or torch, not {arrays!r}"
                raise StreamArgumentError(message)
            if buffer_size < 1:
                message = f"buffer_size must be positive, not {buffer_size}"
                raise StreamArgumentError(message)
            source = os.fspath(src) if isinstance(src, os.PathLike) else src
            self._native = NativeStreamReader(source, format or "", options, buffer_size, names)

    @property
    def num_src_streams(self) -> int:
        """Number of streams in the source."""
        return self._native.num_source_streams

    @property
    def num_out_streams(self) -> int:
        """Number of outputs that were added."""
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
        """What the container says of its stream `i`: a SourceStream, SourceAudioStream or SourceVideoStream."""
        with argument_errors():
            return source_stream(self._native.source_stream(i))

    def get_out_stream_info(self, i: int) -> OutputStream:
        """What output `i` gives: an OutputAudioStream or OutputVideoStream, read from the end of its filters."""
        with argument_errors():
            return output_stream(self._native.output_stream(i))

    def seek(self, timestamp: float, mode: str = "precise") -> None:
        """Go to a time. Decoders are flushed and chunks that wait are dropped.

        Args:
            timestamp: seconds, at least 0.
            mode: ``"key"``: the key frame before; ``"any"``: any frame before, whose picture may be broken;
                ``"precise"``: frames before `timestamp` are decoded and discarded.

        Raises:
            StreamArgumentError: if either is not accepted.
            UnsupportedError: if the source cannot seek.
        """
        if mode not in _SEEK_MODES:
            message = f"mode must be one of {', '.join(_SEEK_MODES)}, not {mode!r}"
            raise StreamArgumentError(message)
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
            frames_per_chunk: samples a chunk; -1 gives all that are there when chunks are popped.
            buffer_chunk_size: how many chunks may wait; the oldest are dropped. -1 keeps all.
            stream_index: of the source; None is the best audio stream.
            decoder: FFmpeg's name; None is the codec's default.
            decoder_option: of the decoder; ``threads`` is "1" unless given ("0" lets FFmpeg choose).
            format: sample format: u8, s16, s32, s64, flt, dbl, or planar (fltp, ...); None keeps the decoder's.
            sample_rate: resample to this rate in Hz.
            num_channels: remix to as many channels.
        """
        description = basic_audio_filters(format, sample_rate, num_channels)
        self.add_audio_stream(
            frames_per_chunk,
            buffer_chunk_size,
            stream_index=stream_index,
            decoder=decoder,
            decoder_option=decoder_option,
            filter_desc=description,
        )

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
            frames_per_chunk: frames a chunk; -1 gives all that are there when chunks are popped.
            buffer_chunk_size: how many chunks may wait; the oldest are dropped. -1 keeps all.
            stream_index: of the source; None is the best video stream.
            decoder: FFmpeg's name; None is the codec's default.
            decoder_option: of the decoder; ``threads`` is "1" unless given ("0" lets FFmpeg choose).
            format: pixel format: rgb24, bgr24, gray, yuv420p, yuv444p, nv12, rgba, ...; None keeps the decoder's.
                Subsampled chroma is repeated to full size.
            frame_rate: frames are repeated or dropped to this rate.
            width: scale to as many pixels; -1 follows the aspect ratio.
            height: scale to as many pixels; -1 follows the aspect ratio.
            hw_accel: "cuda" or "cuda:N" decodes on a GPU (NVDEC; ``decoder="h264_cuvid"`` says the same) to chunks in
                its memory. Without filters pixels never leave it; filters (another format, size or rate) run in host
                memory. "cpu" decodes by tricodec's own engine for the CPU.
        """
        self.add_video_stream(
            frames_per_chunk,
            buffer_chunk_size,
            stream_index=stream_index,
            decoder=decoder,
            decoder_option=decoder_option,
            filter_desc=basic_video_filters(frame_rate, width, height, format),
            hw_accel=hw_accel,
        )

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
        """Add an output of audio with filters of one's own.

        Args:
            frames_per_chunk: as `add_basic_audio_stream` takes it.
            buffer_chunk_size: as `add_basic_audio_stream` takes it.
            stream_index: as `add_basic_audio_stream` takes it.
            decoder: as `add_basic_audio_stream` takes it.
            decoder_option: as `add_basic_audio_stream` takes it.
            filter_desc: as ``ffmpeg -af`` takes them: one input, one output. Filters may open files: do not take them
                from strangers.

        Raises:
            StreamArgumentError: for arguments, options and filters that are not accepted.
            UnsupportedError: if there is no audio, or nothing here decodes it.
        """
        self._add(
            self._native.add_audio_stream,
            frames_per_chunk,
            buffer_chunk_size,
            stream_index,
            decoder,
            decoder_option,
            filter_desc or "anull",
            None,
        )

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
        """Add an output of video with filters of one's own.

        Args:
            frames_per_chunk: as `add_basic_video_stream` takes it.
            buffer_chunk_size: as `add_basic_video_stream` takes it.
            stream_index: as `add_basic_video_stream` takes it.
            decoder: as `add_basic_video_stream` takes it.
            decoder_option: as `add_basic_video_stream` takes it.
            filter_desc: as ``ffmpeg -vf`` takes them: one input, one output. Filters may open files: do not take them
                from strangers.
            hw_accel: as `add_basic_video_stream` takes it.

        Raises:
            StreamArgumentError: for arguments, options and filters that are not accepted.
            UnsupportedError: if there is no video, or nothing here decodes it.
            DeviceError: if the GPU of `hw_accel` cannot be had; UnsupportedError if it does not decode the stream.
        """
        self._add(
            self._native.add_video_stream,
            frames_per_chunk,
            buffer_chunk_size,
            stream_index,
            decoder,
            decoder_option,
            filter_desc or "null",
            hw_accel,
        )

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
        if stream_index is not None and stream_index < 0:
            message = f"stream_index must be at least 0 or None, not {stream_index}"
            raise StreamArgumentError(message)
        options = dict(decoder_option) if decoder_option is not None else None
        with argument_errors():
            add(
                frames_per_chunk,
                buffer_chunk_size,
                -1 if stream_index is None else stream_index,
                decoder or "",
                options,
                filter_desc,
                hw_accel or "",
            )

    def remove_stream(self, i: int) -> None:
        """Remove output `i`; later ones move down. A decoder goes with its last output."""
        with argument_errors():
            self._native.remove_stream(i)

    def process_packet(self, timeout: float | None = None, backoff: float = 10.0) -> int:
        """Read, decode and filter one packet.

        Args:
            timeout: how long to try again where a device has nothing yet, in milliseconds; None raises at once,
                negative tries for ever.
            backoff: milliseconds between two tries.

        Returns:
            0: there is more; 1: the source has ended and is drained.

        Raises:
            MediaIOError: if the time ran out.
            CorruptDataError: for a packet that cannot be decoded; the next call goes on with the next one.
        """
        return self._process(timeout, backoff, until_ready=False)

    def process_all_packets(self) -> None:
        """`process_packet` until the end.

        Raises:
            CorruptDataError: for a packet that cannot be decoded; what came before waits to be popped.
        """
        while self._native.process(True, False) == _AGAIN:
            time.sleep(0.01)

    def is_buffer_ready(self) -> bool:
        """Whether each output has at least one full chunk, or a frame where chunks have no size."""
        return self._native.is_buffer_ready()

    def fill_buffer(self, timeout: float | None = None, backoff: float = 10.0) -> int:
        """`process_packet` until `is_buffer_ready`.

        Args:
            timeout: as `process_packet` takes it.
            backoff: as `process_packet` takes it.

        Returns:
            0: chunks are ready; 1: the source has ended, and what is left may be less than a chunk.
        """
        return self._process(timeout, backoff, until_ready=True)

    def _process(self, timeout: float | None, backoff: float, *, until_ready: bool) -> int:
        start = time.monotonic()
        while (status := self._native.process(False, until_ready)) == _AGAIN:
            waited = (time.monotonic() - start) * 1000
            if timeout is None or 0 <= timeout < waited:
                message = f"the source has nothing yet after {waited:.0f} ms; pass timeout= to wait for it"
                raise MediaIOError(message)
            time.sleep(max(0.0, backoff) / 1000)
        return status

    def pop_chunks(self) -> list[Any | None]:
        """The oldest chunk of each output, in the order they were added; None where one has nothing."""
        return [None if each is None else make_chunk(*each, self._arrays) for each in self._native.pop_chunks()]

    def stream(self, timeout: float | None = None, backoff: float = 10.0) -> Iterator[list[Any | None]]:
        """Iterate over lists of chunks, one of each output, to the end.

        Args:
            timeout: as `process_packet` takes it.
            backoff: as `process_packet` takes it.

        Raises:
            StreamArgumentError: if no output was added.
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
