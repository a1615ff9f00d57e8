# SPDX-License-Identifier: Apache-2.0
"""Client: the requests of tricodec's models."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np

from tricodec.encode import TranscodeResult
from tricodec.options import SELECTION_OPTIONS
from tricodec.triton.client._connection import Connection, input_tensor
from tricodec.triton.client._requests import (
    array_tensor,
    bytes_tensor,
    codec_values,
    encoder_values,
    frames_output,
    frames_tensor,
    option_tensors,
    video_of,
    video_tensor,
)
from tricodec.triton.client._session import Opening, VideoSession
from tricodec.video import DecodedVideo


class Client(contextlib.AbstractContextManager["Client"]):
    """A connection to a Triton server with tricodec's models; a context manager.

    `model` of each method is the name of its model on the server. The methods raise the errors of tricodec's functions
    of the same names, RefusedError also for the limits of the model, and all of them

    - TimeoutError: the time limit of the model or of this client has passed.
    - ConnectionError: no server answers, its queue is full, or the process of the model died; see `retries`.
    - tritonclient.utils.InferenceServerException: Triton itself refuses, for instance an unknown model.

    Thread safety: safe; the server works on requests of several threads at the same time.
    """

    def __init__(
        self,
        url: str = "127.0.0.1:8001",
        *,
        model: str = "video_decode",
        timeout_seconds: float | None = None,
        retries: int = 0,
        **grpc_options: Any,
    ) -> None:
        """Prepare a connection; the first request opens it.

        Args:
            url: host and port of the server's gRPC endpoint.
            model: name of the model for decode_video() on the server.
            timeout_seconds: the longest time in seconds that a request may take; None waits without a limit.
            retries: how often a request is sent again that failed with ConnectionError, for instance because the
                server crashed. The client first waits until the model is ready, at most 30 s. All requests of this
                client can be repeated: they change nothing on the server. A stream is repeated only before its first
                chunk, a session with a video continues at its next frame, and packets of a live stream are not sent
                again. Triton never answers the requests of a dead process of a model: `tricodec serve` then starts
                the server again, which ends these requests; for another server set `timeout_seconds`.
            **grpc_options: further arguments of ``tritonclient.grpc.InferenceServerClient``: ssl, ...

        Raises:
            ValueError: `retries` is negative.
        """
        self._model = model
        self._connection = Connection(url, timeout_seconds, retries, grpc_options)

    def is_ready(self) -> bool:
        """Whether the server answers and has the model of decode_video() ready."""
        return self._connection.is_ready(self._model)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self.close()

    def probe(self, source: Any, *, stream_index: int = -1, model: str = "probe") -> dict[str, Any]:
        """Describe a media file on the server, without decoding it.

        Args:
            source: as in `decode_video`.
            stream_index: the video stream that "video" describes; -1 is the best one.

        Returns:
            What `tricodec.probe(source).to_dict()` has, and "video": the stream_index, num_frames (counted in the
            packets), width and height in pixels of the upright picture, frame_rate, seconds and codec of a stream, or
            None for a file without video.
        """
        inputs = option_tensors("probe", {"stream_index": stream_index})
        inputs.append(video_tensor(source))
        result = self._ask(model, inputs, ["JSON"])
        facts: dict[str, Any] = json.loads(result.as_numpy("JSON")[0, 0])
        return facts

    def decode_video(
        self, source: Any, *, stream_index: int = -1, dtype: Any = "uint8", **options: Any
    ) -> DecodedVideo:
        """Decode frames of a video on the server. The bytes are those of `tricodec.decode_video`.

        Args:
            source: a path (str or os.PathLike), bytes-like, or an object with ``read()``; the request contains all of
                its bytes. Or a URL (str), which the server reads if its option ``--allow-remote`` allows that.
            stream_index: as in `tricodec.decode_video`.
            dtype: "uint8", "float16", "bfloat16" (an array of the package ml_dtypes) or "float32".
            **options: the options of `tricodec.decode_video` that select frames (start, count, times, fps, ...), and
                options of `tricodec.Transform` (size, crop, layout, mean, std, ...).

        Returns:
            The frames, a numpy array [F, H, W, C] or [F, C, H, W], their times in seconds, and the number of damaged
            packets.

        Raises:
            ImportError: bfloat16 needs the package ml_dtypes, which is not installed.
        """
        output = frames_output(dtype)
        asked = {"stream_index": stream_index, **options}
        inputs = option_tensors("decode_video", asked, ["dtype"])
        inputs.append(video_tensor(source))
        result = self._ask(self._model, inputs, [output, "PTS", "NUM_DAMAGED_PACKETS"])
        video = video_of(result, output)
        return DecodedVideo(video.frames[0], video.pts_seconds[0], video.num_damaged_packets)

    def stream_video(
        self,
        source: Any,
        chunk: int = 16,
        *,
        dtype: Any = "uint8",
        model: str = "video_stream",
        window: int | None = 4,
        **options: Any,
    ) -> Iterator[DecodedVideo]:
        """Decode frames of a video on the server and yield them as they arrive. The bytes are those of `decode_video`.

        Args:
            source: as in `decode_video`.
            chunk: number of frames of an answer, at least 1; the last answer may have fewer.
            dtype: as in `decode_video`.
            window: the most chunks that wait on the server, the network and this client for a caller that is slow; at
                least 1. The server decodes two chunks beyond them. A long stream is several requests, one after the
                other: tritonserver keeps the chunks of a request until it ends. None sends one request without a
                bound, for models that know neither credits nor the input CONTINUE.
            **options: as in `decode_video`, and its stream_index.

        Returns:
            An iterator of DecodedVideo: the frames of a chunk (numpy arrays), their times, and the number of packets
            found damaged so far. A request for no frames gives one empty chunk. The iterator has a separate
            connection. Closing or dropping it before its end cancels the request. Errors that the server finds later
            are raised while iterating, after the chunks before them.
        """
        if window is not None and window < 1:
            raise ValueError(f"window is {window}; expected at least 1 chunk, or None for no bound")
        output = frames_output(dtype)
        inputs = option_tensors("stream_video", {**options, "chunk": chunk}, ["dtype"])
        inputs.append(video_tensor(source, batched=False))
        outputs = [output, "PTS", "NUM_DAMAGED_PACKETS", *(["NEXT"] if window is not None else [])]

        def begin(following: bytes | None) -> tuple[Any, Generator[Any, None, None]]:
            own = [] if following is None else [bytes_tensor("CONTINUE", following, batched=False)]
            results = self._connection.stream(model, [*inputs, *own], outputs, window)
            return next(results), results

        def chunks() -> Iterator[DecodedVideo]:
            following = b"" if window is not None else None
            while True:  # the server keeps all chunks of a request until it ends, so that a long stream is several
                result, rest = self._connection.repeated(model, functools.partial(begin, following))
                with contextlib.closing(rest):
                    while result is not None:
                        video = video_of(result, output)
                        if len(video) or not following:  # a damaged video may end between two requests
                            yield video
                        del video  # its memory, while the next one is awaited
                        last, result = result, next(rest, None)
                following = last.as_numpy("NEXT")[0] if window is not None else None
                if not following:
                    return

        return chunks()

    def open(
        self,
        source: Any = None,
        chunk: int = 16,
        *,
        codec: str | None = None,
        dtype: Any = "uint8",
        model: str = "video_session",
        **options: Any,
    ) -> VideoSession:
        """Open a video, or a live stream of packets, that stays open on the server.

        Args:
            source: a video, as in `decode_video`; None for a live stream.
            chunk: number of frames of a chunk, at least 1, when the session is read or iterated.
            codec: codec of a live stream: "h264", "hevc", "av1", "vp8", "vp9", ...
            dtype: as in `decode_video`.
            **options: as in `decode_video`: options that select the first frames (`VideoSession.seek` chooses
                others), stream_index, and options of `tricodec.Transform`.

        Returns:
            A `VideoSession`: an iterator of DecodedVideo, and a context manager.

        Raises:
            ValueError: both of source and codec are given, or neither; chunk is below 1.
            ConnectionError: also if too many sessions are open.
        """
        if (source is None) == (codec is None):
            raise ValueError("give source, a video, or codec, for a live stream of packets, and not both")
        if chunk < 1:
            raise ValueError(f"chunk is {chunk}; expected at least 1 frame")
        choice = {name: options.pop(name) for name in SELECTION_OPTIONS if name in options}
        if codec is not None and choice:
            raise ValueError(f"a live stream has no frames to choose; leave out {', '.join(choice)}")
        output = frames_output(dtype)
        tensors = option_tensors("open", {"codec": codec, **options}, [*SELECTION_OPTIONS, "dtype"])
        if source is not None:
            tensors.append(video_tensor(source, batched=False))
        return VideoSession(self._connection, Opening(model, tensors, choice, chunk, output, codec is not None))

    def encode_video(
        self, frames: Any, pts_seconds: Any = None, *, model: str = "video_encode", **options: Any
    ) -> bytes:
        """Encode frames to a file on the server. The bytes are those of `tricodec.encode_video`.

        Args:
            frames: an array in host memory, uint8 or uint16, as in `tricodec.encode_video`.
            pts_seconds: as in `tricodec.encode_video`.
            **options: options of `tricodec.encode_video`: codec, container, color, layout, format, pixel_format,
                matrix, range, frame_rate, bit_rate, crf, gop_size, num_b_frames, preset, num_threads, rotation,
                options, fast_start, fragmented.

        Returns:
            The file.

        Raises:
            ValueError, RefusedError: also for options that the server does not let clients set.
        """
        inputs = option_tensors("encode_video", encoder_values(options))
        if pts_seconds is not None:
            inputs.append(input_tensor("PTS", np.asarray(pts_seconds, np.float64).reshape(1, -1), "FP64"))
        inputs.append(frames_tensor(frames, options.get("format")))
        return _file(self._ask(model, inputs, ["VIDEO"]))

    def transcode(self, source: Any, *, model: str = "video_transcode", **options: Any) -> TranscodeResult:
        """Transcode a video on the server, with the keywords of `tricodec.transcode`.

        Args:
            source: as in `decode_video`.
            **options: options of `tricodec.transcode`: codec, crop, size, start, end, audio, pixel_format, frame_rate,
                bit_rate, crf, gop_size, num_b_frames, preset, num_threads (1 by default), options, fast_start,
                fragmented; and container (its format).

        Returns:
            The result of `tricodec.transcode` with a target of None: the file is in ``data``.

        Raises:
            ValueError, RefusedError: also for options that the server does not let clients set.
        """
        inputs = option_tensors("transcode", encoder_values(options))
        inputs.append(video_tensor(source))
        facts = "NUM_FRAMES NUM_AUDIO_PACKETS NUM_DAMAGED_PACKETS SIZE_BYTES SECONDS DECODER ENCODER LEFT_OUT".split()
        result = self._ask(model, inputs, ["VIDEO", *facts])
        values = {name.lower(): result.as_numpy(name)[0, 0] for name in facts}
        said: Any = {name: each.decode() if isinstance(each, bytes) else each.item() for name, each in values.items()}
        return TranscodeResult(**said, cancelled=False, data=_file(result))

    def compress(self, array: Any, *, header: bool = False, model: str = "compress", **options: Any) -> Any:
        """Compress an array on the server. The bytes are those of `tricodec.Codec` with the same options.

        Args:
            array: an array in host memory, or bytes-like.
            header: store dtype and shape with the data, as `tricodec.Codec.encode_npy` does.
            **options: options of `tricodec.Codec`: algorithm (required), bitstream_kind, checksum_policy, data_type,
                bitshuffle_mode, uncomp_chunk_size, algorithm_type, level, num_rles, num_deltas, use_bitpack.

        Returns:
            The compressed bytes, a numpy array uint8 [N].

        Raises:
            ValueError: as `tricodec.Codec.encode`, and for the limits of the model.
        """
        # numpy would convert bytes to text.
        host = np.asarray(memoryview(array) if isinstance(array, (bytes, bytearray)) else array)
        inputs = option_tensors("compress", codec_values(options))
        if header:
            described = {"header": True, "dtype": host.dtype.str, "shape": np.array(host.shape, np.int64)}
            inputs += option_tensors("compress", described)
        inputs.append(array_tensor("ARRAY", host))
        return self._ask(model, inputs, ["COMPRESSED"]).as_numpy("COMPRESSED")[0]

    def decompress(
        self,
        data: Any,
        *,
        dtype: Any = None,
        shape: Sequence[int] | None = None,
        header: bool = False,
        model: str = "decompress",
        **options: Any,
    ) -> Any:
        """Decompress an array on the server. The server does not trust the data.

        Args:
            data: compressed bytes, bytes-like or a numpy array.
            dtype: type of the elements; uint8 by default.
            shape: shape of the array; one extent may be -1. By default one axis.
            header: take dtype and shape from the data, as `tricodec.Codec.encode_npy` writes them.
            **options: options of `tricodec.Codec`: algorithm and bitstream_kind of raw streams, checksum_policy,
                data_type, bitshuffle_mode.

        Returns:
            The array, a numpy array.
        """
        sent = codec_values(options | {"dtype": dtype, "shape": shape, "header": header})
        inputs = option_tensors("decompress", sent)
        inputs.append(array_tensor("COMPRESSED", np.frombuffer(data, np.uint8)))
        result = self._ask(model, inputs, ["ARRAY", "DTYPE", "SHAPE"])
        element = np.dtype(result.as_numpy("DTYPE")[0, 0].decode())
        return result.as_numpy("ARRAY")[0].view(element).reshape(result.as_numpy("SHAPE")[0])

    def _ask(self, model: str, inputs: list[Any], outputs: Sequence[str]) -> Any:
        """The answer to a request, which is repeated as `retries` says."""
        return self._connection.repeated(model, lambda: self._connection.call(model, inputs, outputs))


def _file(result: Any) -> bytes:
    return bytes(result.as_numpy("VIDEO")[0, 0])
