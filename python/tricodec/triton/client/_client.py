# SPDX-License-Identifier: Apache-2.0
"""Client: the requests of tricodec's models."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import stat
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np
import tritonclient.grpc as triton_grpc
from tritonclient.utils import np_to_triton_dtype

from tricodec.encode import TranscodeResult
from tricodec.options import SELECTION_OPTIONS
from tricodec.remote import is_remote_url
from tricodec.triton.client._connection import Connection, answers, input_tensor
from tricodec.triton.client._errors import FilesRefusedError
from tricodec.triton.client._files import Permit
from tricodec.triton.client._memory import CudaOutput, numpy_dtype, predict_size
from tricodec.triton.client._requests import (
    CODEC_OPTIONS,
    DECODE_OPTIONS,
    ENCODE_OPTIONS,
    PROBE_OPTIONS,
    SESSION_OPTIONS,
    STREAM_OPTIONS,
    TRANSCODE_OPTIONS,
    bytes_tensor,
    codec_values,
    decompressed_bytes,
    dtype_name,
    encoder_values,
    flat_bytes,
    frames_of,
    frames_output,
    frames_tensor,
    most_compressed,
    opened,
    option_tensors,
    read,
    video_tensor,
)
from tricodec.triton.client._session import Opening, Transport, VideoSession
from tricodec.video import DecodedVideo


class Client(Connection):
    """A connection to a Triton server with tricodec's models; a context manager.

    Thread safety: safe; the server works on requests of several threads at the same time.
    """

    def probe(self, source: Any, *, stream_index: int = -1, model: str = "probe") -> dict[str, Any]:
        """Describe a media file on the server, without decoding it.

        Args:
            source: as in `decode_video`.
            stream_index: the video stream that "video" describes; -1 is the best one.
            model: name of the model on the server.

        Returns:
            What `tricodec.probe(source).to_dict()` has, and "video": the stream_index, num_frames (counted in the
            packets), width and height in pixels of the upright picture, frame_rate, seconds and codec of a stream, or
            None for a file without video.

        Raises:
            ValueError, tricodec.Error: as `tricodec.probe`; RefusedError also for the limits of the model.
            TimeoutError, ConnectionError, InferenceServerException: as `decode_video`.
        """
        inputs = option_tensors({"stream_index": stream_index}, PROBE_OPTIONS, "probe")
        inputs.append(video_tensor(source))
        outputs = [triton_grpc.InferRequestedOutput("JSON")]
        result = self._repeated(model, lambda: self._call(model, inputs, outputs))
        facts: dict[str, Any] = json.loads(result.as_numpy("JSON")[0, 0])
        return facts

    def decode_video(
        self,
        source: Any,
        *,
        stream_index: int = -1,
        dtype: Any = "uint8",
        **options: Any,
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
            The frames, [F, H, W, C] or [F, C, H, W], their times in seconds, and the number of damaged packets. The
            frames are a numpy array, or a `tricodec.DeviceArray` if the client has a `cuda_device`.

        Raises:
            ValueError, IndexError, tricodec.Error: as `tricodec.decode_video`; RefusedError also for the limits of
                the model.
            ImportError: bfloat16 needs the package ml_dtypes, which is not installed.
            TimeoutError: the time limit of the model or of this client has passed.
            ConnectionError: no server answers, its queue is full, or the process of the model died; see `retries` of
                the client.
            tritonclient.utils.InferenceServerException: Triton itself refuses, for instance an unknown model.
        """
        output = frames_output(dtype, in_numpy=self._cuda_device is None)
        asked = {"stream_index": stream_index, **options}
        inputs = option_tensors(asked, DECODE_OPTIONS, "decode_video", ["dtype"])
        others = [triton_grpc.InferRequestedOutput(name) for name in ("PTS", "NUM_DAMAGED_PACKETS")]
        is_url = isinstance(source, str) and is_remote_url(source)
        if not isinstance(source, (str, os.PathLike)):
            source = read(source)  # once, whatever happens to the request
        if self._cuda_device is None and self._try_files:
            try:
                return self._decode_into_file(source, inputs, dtype_name(dtype), others)
            except FilesRefusedError:
                self._try_files = False
        if is_url and self._cuda_device is not None:
            raise ValueError("a client with a cuda_device reads the video itself; pass its bytes or its path, no URL")
        data = source if is_url else read(source)
        inputs.append(video_tensor(data))

        size = None
        if not is_url and (self._try_shared_memory or self._cuda_device is not None):
            size = predict_size(data, {"dtype": dtype_name(dtype), **options}, stream_index=stream_index)

        def send() -> tuple[Any, Any]:
            if self._cuda_device is None:
                return self._array_output(self._model, inputs, output, size, others)
            # A request without a size is invalid, and the server reports the reason.
            with CudaOutput(self._client, size or 1, self._cuda_device) as region:
                requested = region.request(output)
                result = self._call(self._model, inputs, [requested, *others])
                return region.output(result, output), result

        return _decoded(*self._repeated(self._model, send))

    def _decode_into_file(self, source: Any, inputs: list[Any], dtype: str, others: list[Any]) -> DecodedVideo:
        """The same, by memory files of this process.

        Raises:
            FilesRefusedError: the server cannot use them.
        """
        outputs = [triton_grpc.InferRequestedOutput("FRAMES_SHAPE"), *others]
        element = numpy_dtype(dtype)

        def send(given: list[Any], size: int | None = None) -> tuple[Any, Any]:
            file = self._frames.take(size)
            with self._frames.borrowed(file):
                result = self._call(self._model, [*given, bytes_tensor("FRAMES_FILE", file.reference())], outputs)
            shape = tuple(result.as_numpy("FRAMES_SHAPE")[0].tolist())
            needed = math.prod(shape) * element.itemsize
            if needed <= file.size:
                return self._frames.lend(file, shape, element), result
            self._frames.give_back(file)
            return send(given, needed)

        with self._handed_over(source) as video:
            given = [*inputs, video, bytes_tensor("FRAMES_DTYPE", dtype.encode())]
            return _decoded(*self._repeated(self._model, lambda: send(given)))

    @contextlib.contextmanager
    def _handed_over(self, source: Any) -> Iterator[Any]:
        """The input with a source, for a server on this machine: the file on disk, or a copy of it in memory."""
        if isinstance(source, str) and is_remote_url(source):
            yield video_tensor(source)
            return
        with contextlib.ExitStack() as stack:
            if isinstance(source, (str, os.PathLike)):
                source = stack.enter_context(opened(source))
                if stat.S_ISREG(os.fstat(source.fileno()).st_mode):
                    permit = Permit(source)  # valid as long as it lives
                    yield bytes_tensor("VIDEO_FILE", permit.video)
                    return
            data = read(source)
        memory = self._videos.take(len(data))
        with self._videos.borrowed(memory):
            yield bytes_tensor("VIDEO_FILE", memory.put(data))
        self._videos.give_back(memory)

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
            model: name of the model on the server.
            window: the most chunks that wait on the server, the network and this client for a caller that is slow; at
                least 1. The server decodes two chunks beyond them. A long stream is several requests, one after the
                other: tritonserver keeps the chunks of a request until it ends. None sends one request without a
                bound, for models that know neither credits nor the input CONTINUE.
            **options: as in `decode_video`, and its stream_index.

        Returns:
            An iterator of DecodedVideo: the frames of a chunk (numpy arrays), their times, and the number of packets
            found damaged so far. A request for no frames gives one empty chunk. The iterator has a separate
            connection. Closing or dropping it before its end cancels the request.

        Raises:
            ValueError, IndexError, tricodec.Error, TimeoutError, ConnectionError: as `decode_video`. Errors that the
                server finds later are raised while iterating, after the chunks before them.
        """
        if window is not None and window < 1:
            raise ValueError(f"window is {window}; expected at least 1 chunk, or None for no bound")
        output = frames_output(dtype)
        inputs = option_tensors({**options, "chunk": chunk}, STREAM_OPTIONS, "stream_video", ["dtype"], batched=False)
        inputs.append(video_tensor(source, batched=False))
        names = (output, "PTS", "NUM_DAMAGED_PACKETS", *(["NEXT"] if window is not None else []))
        outputs = [triton_grpc.InferRequestedOutput(name) for name in names]

        def begin(following: bytes | None) -> tuple[Any, Generator[Any, None, None]]:
            own = [] if following is None else [bytes_tensor("CONTINUE", following, batched=False)]
            results = answers(
                self._url, self._grpc_options, model, [*inputs, *own], outputs, self._timeout_seconds, window,
                watched=self._retries > 0,
            )  # fmt: skip
            return next(results), results

        def chunks() -> Iterator[DecodedVideo]:
            following = b"" if window is not None else None
            while True:  # the server keeps all chunks of a request until it ends, so that a long stream is several
                result, rest = self._repeated(model, functools.partial(begin, following))
                with contextlib.closing(rest):
                    while result is not None:
                        damaged = int(result.as_numpy("NUM_DAMAGED_PACKETS")[0])
                        frames = frames_of(result, output)
                        if len(frames) or not following:  # a damaged video may end between two requests
                            yield DecodedVideo(frames, result.as_numpy("PTS"), damaged)
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
            model: name of the model on the server.
            **options: as in `decode_video`: options that select the first frames (`VideoSession.seek` chooses
                others), stream_index, and options of `tricodec.Transform`.

        Returns:
            A `VideoSession`: an iterator of DecodedVideo, and a context manager.

        Raises:
            ValueError: both of source and codec are given, or neither; chunk is below 1.
            ValueError, IndexError, tricodec.Error, TimeoutError, ConnectionError: as `decode_video`; ConnectionError
                also if too many sessions are open.
        """
        if (source is None) == (codec is None):
            raise ValueError("give source, a video, or codec, for a live stream of packets, and not both")
        if chunk < 1:
            raise ValueError(f"chunk is {chunk}; expected at least 1 frame")
        choice = {name: options.pop(name) for name in SELECTION_OPTIONS if name in options}
        if codec is not None and choice:
            raise ValueError(f"a live stream has no frames to choose; leave out {', '.join(choice)}")
        output = frames_output(dtype, in_numpy=self._cuda_device is None)
        tensors = option_tensors(
            {"codec": codec, **options}, SESSION_OPTIONS, "open", [*SELECTION_OPTIONS, "dtype"], batched=False
        )
        if source is not None:
            tensors.append(video_tensor(source, batched=False))
        transport = Transport(self._client, self._call, self._repeated, self._shares, self._region, self._cuda_device)
        return VideoSession(transport, Opening(model, tensors, choice, chunk, output, codec is not None))

    def encode_video(
        self, frames: Any, pts_seconds: Any = None, *, model: str = "video_encode", **options: Any
    ) -> bytes:
        """Encode frames to a file on the server. The bytes are those of `tricodec.encode_video`.

        Args:
            frames: an array in host memory, uint8 or uint16, as in `tricodec.encode_video`; a large one goes to a
                server on this machine through shared memory.
            pts_seconds: as in `tricodec.encode_video`.
            model: name of the model on the server.
            **options: options of `tricodec.encode_video`: codec, container, color, layout, format, pixel_format,
                matrix, range, frame_rate, bit_rate, crf, gop_size, num_b_frames, preset, num_threads, rotation,
                options, fast_start, fragmented.

        Returns:
            The file.

        Raises:
            ValueError, TypeError, tricodec.Error: as `tricodec.encode_video`; ValueError and RefusedError also for
                options that the server does not let clients set, and for the limits of the model.
            TimeoutError, ConnectionError, InferenceServerException: as `decode_video`.
        """
        inputs = option_tensors(encoder_values(options), ENCODE_OPTIONS, "encode_video")
        if pts_seconds is not None:
            inputs.append(input_tensor("PTS", np.asarray(pts_seconds, np.float64).reshape(1, -1), "FP64"))
        name, array, datatype = frames_tensor(frames, options.get("format"))
        outputs = [triton_grpc.InferRequestedOutput("VIDEO")]

        def send() -> bytes:
            with self._array_input(name, array, datatype) as tensor:
                return self._file(self._call(model, [*inputs, tensor], outputs))

        return self._repeated(model, send)

    def transcode(self, source: Any, *, model: str = "video_transcode", **options: Any) -> TranscodeResult:
        """Transcode a video on the server, with the keywords of `tricodec.transcode`.

        Args:
            source: as in `decode_video`.
            model: name of the model on the server.
            **options: options of `tricodec.transcode`: codec, crop, size, start, end, audio, pixel_format, frame_rate,
                bit_rate, crf, gop_size, num_b_frames, preset, num_threads (1 by default), options, fast_start,
                fragmented; and container (its format).

        Returns:
            The result of `tricodec.transcode` with a target of None: the file is in ``data``.

        Raises:
            ValueError, TypeError, tricodec.Error: as `tricodec.transcode`; ValueError and RefusedError also for
                options that the server does not let clients set, and for the limits of the model.
            TimeoutError, ConnectionError, InferenceServerException: as `decode_video`.
        """
        inputs = option_tensors(encoder_values(options), TRANSCODE_OPTIONS, "transcode")
        inputs.append(video_tensor(source))
        names = ["VIDEO", "NUM_FRAMES", "NUM_AUDIO_PACKETS", "NUM_DAMAGED_PACKETS", "SIZE_BYTES", "SECONDS", "DECODER",
                 "ENCODER", "LEFT_OUT"]  # fmt: skip
        outputs = [triton_grpc.InferRequestedOutput(name) for name in names]
        result = self._repeated(model, lambda: self._call(model, inputs, outputs))
        facts = {name.lower(): result.as_numpy(name)[0, 0] for name in names[1:]}
        return TranscodeResult(
            num_frames=int(facts["num_frames"]),
            num_audio_packets=int(facts["num_audio_packets"]),
            num_damaged_packets=int(facts["num_damaged_packets"]),
            size_bytes=int(facts["size_bytes"]),
            seconds=float(facts["seconds"]),
            decoder=facts["decoder"].decode(),
            encoder=facts["encoder"].decode(),
            cancelled=False,
            left_out=facts["left_out"].decode(),
            data=self._file(result),
        )

    def compress(self, array: Any, *, header: bool = False, model: str = "compress", **options: Any) -> Any:
        """Compress an array on the server. The bytes are those of `tricodec.Codec` with the same options.

        Args:
            array: an array in host memory, or bytes-like; a large one goes to a server on this machine through shared
                memory.
            header: store dtype and shape with the data, as `tricodec.Codec.encode_npy` does.
            model: name of the model on the server.
            **options: options of `tricodec.Codec`: algorithm (required), bitstream_kind, checksum_policy, data_type,
                bitshuffle_mode, uncomp_chunk_size, algorithm_type, level, num_rles, num_deltas, use_bitpack.

        Returns:
            The compressed bytes, a numpy array uint8 [N].

        Raises:
            ValueError, TypeError, tricodec.Error: as `tricodec.Codec.encode`; ValueError also for the limits of the
                model.
            TimeoutError, ConnectionError, InferenceServerException: as `decode_video`.
        """
        # numpy would convert bytes to text.
        host = np.asarray(memoryview(array) if isinstance(array, (bytes, bytearray)) else array)
        sent = codec_values(options)
        inputs = option_tensors(sent, CODEC_OPTIONS, "compress")
        if header:
            inputs += option_tensors({"header": True, "dtype": host.dtype.str}, CODEC_OPTIONS, "compress")
            inputs.append(input_tensor("SHAPE", np.array(host.shape, np.int64).reshape(1, -1), "INT64"))

        def send() -> Any:
            with self._array_input("ARRAY", flat_bytes(host), "UINT8") as tensor:
                return self._array_output(model, [*inputs, tensor], "COMPRESSED", most_compressed(host.nbytes, sent))[0]

        return self._repeated(model, send)

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
            model: name of the model on the server.
            **options: options of `tricodec.Codec`: algorithm and bitstream_kind of raw streams, checksum_policy,
                data_type, bitshuffle_mode.

        Returns:
            The array: a numpy array, or a `tricodec.DeviceArray` if the client has a `cuda_device`.

        Raises:
            ValueError, TypeError, tricodec.Error: as `tricodec.Codec.decode`; RefusedError also for the limits of the
                model.
            TimeoutError, ConnectionError, InferenceServerException: as `decode_video`.
        """
        sent = codec_values(options | {"dtype": dtype, "shape": shape, "header": header})
        inputs = option_tensors(sent, CODEC_OPTIONS, "decompress")
        packed = flat_bytes(np.frombuffer(data, np.uint8))
        size = decompressed_bytes(packed[0], sent)
        facts = [triton_grpc.InferRequestedOutput(name) for name in ("DTYPE", "SHAPE")]

        def described(result: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
            names = result.as_numpy("DTYPE")
            return np.dtype(names[0, 0].decode()), tuple(int(extent) for extent in result.as_numpy("SHAPE")[0])

        def send() -> Any:
            with self._array_input("COMPRESSED", packed, "UINT8") as tensor:
                if self._cuda_device is not None and size is not None:
                    with CudaOutput(self._client, size, self._cuda_device) as region:
                        requested = region.request("ARRAY")
                        element, extents = described(self._call(model, [*inputs, tensor], [requested, *facts]))
                        return region.array(extents, np_to_triton_dtype(element))
                array, result = self._array_output(model, [*inputs, tensor], "ARRAY", size, facts)
                element, extents = described(result)
                return array.view(element).reshape(extents)

        return self._repeated(model, send)

    @staticmethod
    def _file(result: Any) -> bytes:
        return bytes(result.as_numpy("VIDEO")[0, 0])

    def _array_output(
        self, model: str, inputs: list[Any], output: str, most_bytes: int | None, others: Sequence[Any] = ()
    ) -> tuple[Any, Any]:
        """An output of at most `most_bytes` without its batch axis, and the whole result."""
        size = most_bytes or 0
        region = self._region(size) if size and self._shares(size) else None
        if region is None:
            result = self._call(model, inputs, [triton_grpc.InferRequestedOutput(output), *others])
            return frames_of(result, output)[0], result
        with region:
            requested = region.request(output)
            result = self._call(model, inputs, [requested, *others])
            array = frames_of(result, output)[0] if requested.left else region.output(result, output)
            return array, result


def _decoded(frames: Any, result: Any) -> DecodedVideo:
    """Frames with what an answer says of them."""
    damaged = int(result.as_numpy("NUM_DAMAGED_PACKETS")[0, 0])
    return DecodedVideo(frames, result.as_numpy("PTS")[0], damaged)
