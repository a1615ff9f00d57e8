# SPDX-License-Identifier: Apache-2.0
"""A connection to a Triton server: one request and its answers, memory that both share."""

from __future__ import annotations

import contextlib
import errno
import math
import queue
import secrets
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import tritonclient.grpc as triton_grpc
from tritonclient.utils import InferenceServerException, triton_to_np_dtype

from tricodec.triton.client._errors import BusyError, has_status, translate
from tricodec.triton.client._files import SharedFile
from tricodec.triton.client._memory import SharedOutput, leave_shared_memory, may_still_run, unanswered
from tricodec.triton.client._ring import Ring

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")

#: The longest time that a repeated request waits for its model to be ready again.
RETURN_SECONDS = 10.0
#: A request without an answer is lost if its process is known to be gone for so long.
LOST_SECONDS = 3.0
_LOOK_SECONDS = 0.05
_PING_SECONDS = 0.5
_ANSWER_SECONDS = 5.0
"""A server that hangs, or loads a model, does not answer the question whether a model is ready."""
_PING = "tricodec_ping"
"""The parameter of a request that asks whether the process of a model is at least so many milliseconds old."""
_MOST_COPIED = 16

#: Below this size an answer by gRPC is as fast as one through shared memory.
SHARED_MEMORY_MIN_BYTES = 1 << 20


class Connection:
    """The part of a client that every request uses."""

    def __init__(
        self,
        url: str = "127.0.0.1:8001",
        *,
        model: str = "video_decode",
        timeout_seconds: float | None = None,
        shared_memory: bool | Literal["auto"] = "auto",
        cuda_device: int | None = None,
        retries: int = 0,
        **grpc_options: Any,
    ) -> None:
        """Prepare a connection; the first request opens it.

        Args:
            url: host and port of the server's gRPC endpoint.
            model: name of the model for decode_video() on the server.
            timeout_seconds: the longest time in seconds that a request may take; None waits without a limit.
            shared_memory: whether frames return through shared memory, which is many times faster than gRPC for large
                answers. True requires it. "auto" uses it if the server is on this machine and can map it.
                `decode_video` keeps up to 256 MiB of it for its next answers, and as much for videos that are no
                files.
            cuda_device: number of a GPU; frames then return in its memory, through CUDA shared memory. This needs a
                server on this machine and ``tritonclient[cuda]``. None returns them in host memory.
            retries: how often a request is sent again that failed with ConnectionError, for instance because the
                process of its model died. The client first waits until the model is ready, at most 10 s. All requests
                of this client can be repeated: they change nothing on the server. A stream is repeated only before its
                first chunk, a session with a video continues at its next frame, and packets of a live stream are not
                sent again. With 0, a request that a dead process was working on may wait without end: Triton does not
                answer it. `timeout_seconds` bounds that.
            **grpc_options: further arguments of ``tritonclient.grpc.InferenceServerClient``: ssl, ...

        Raises:
            ValueError: `shared_memory` is none of the three values, or `retries` is negative.
        """
        if shared_memory not in (True, False, "auto"):
            raise ValueError(f"shared_memory is {shared_memory!r}; accepted: True, False, 'auto'")
        if retries < 0:
            raise ValueError(f"retries is {retries}; expected 0 or more")
        self._retries = retries
        self._sending = threading.Lock()
        self._url = url
        self._model = model
        self._timeout_seconds = timeout_seconds
        self._grpc_options = grpc_options
        self._client = triton_grpc.InferenceServerClient(url, **grpc_options)
        self._shared_memory = shared_memory
        self._cuda_device = cuda_device
        self._try_shared_memory = shared_memory is True or (shared_memory == "auto" and _is_local(url))
        self._try_files = self._try_shared_memory
        self._frames, self._videos = Ring(SharedFile), Ring(SharedFile)

    def is_ready(self) -> bool:
        """Whether the server answers and has the model of decode_video() ready."""
        try:
            return bool(self._client.is_server_ready() and self._client.is_model_ready(self._model))
        except InferenceServerException:
            return False

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def __enter__(self) -> Self:
        """Returns the client itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the connection."""
        self.close()

    def _repeated(self, model: str, send: Callable[[], T]) -> T:
        """What `send` returns; it is called again as often as `retries` says if the server or the model is gone."""
        for _ in range(self._retries):
            try:
                return send()
            except ConnectionError:
                self._await_model(model)
        return send()

    def _await_model(self, model: str) -> None:
        """Waits until a model is ready, at most RETURN_SECONDS."""
        deadline = time.monotonic() + RETURN_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(InferenceServerException):
                if self._client.is_model_ready(model, client_timeout=_ANSWER_SECONDS):
                    return
            time.sleep(_LOOK_SECONDS)

    def _call(self, model: str, inputs: list[Any], outputs: list[Any], **sequence: Any) -> Any:
        in_session = bool(sequence) and not sequence.get("sequence_start")
        try:
            return self._infer(model, inputs, outputs, **sequence)
        except InferenceServerException as error:
            # Any client of the server can unregister the regions of all. Triton looks for them before a model runs.
            if not self._shared_memory or not has_status(error, "NOT_FOUND") or not self._has_model(model):
                raise translate(error, self._url, in_session=in_session) from error
            if self._shared_memory != "auto" or self._cuda_device is not None:
                raise ConnectionError(
                    f"{self._url} has lost the shared memory of this request, because a client unregistered it; pass "
                    "shared_memory=False, or let trusted clients alone reach the server"
                ) from error
        leave_shared_memory([*inputs, *outputs])
        try:
            return self._infer(model, inputs, outputs, **sequence)
        except InferenceServerException as error:
            raise translate(error, self._url, in_session=in_session) from error

    def _has_model(self, model: str) -> bool:
        with contextlib.suppress(InferenceServerException):
            return bool(self._client.is_model_ready(model))
        return False

    def _infer(self, model: str, inputs: list[Any], outputs: list[Any], **sequence: Any) -> Any:
        if self._retries:
            return self._watched_call(model, inputs, outputs, **sequence)
        return self._client.infer(model, inputs, outputs=outputs, client_timeout=self._timeout_seconds, **sequence)

    def _watched_call(self, model: str, inputs: list[Any], outputs: list[Any], **sequence: Any) -> Any:
        """A request that ends with ConnectionError if the model has lost it: Triton itself would never answer."""
        answers = _Answers()

        def ping(age_ms: int, take: Callback) -> None:
            own = {"sequence_id": secrets.randbits(63) or 1, "sequence_start": True, "sequence_end": True}
            self._send(
                model, _smallest(inputs), take, client_timeout=_ANSWER_SECONDS, parameters={_PING: age_ms},
                **(own if sequence else {}),
            )  # fmt: skip

        watch = ModelWatch(model, self._url, ping)
        call = self._send(model, inputs, answers.put, outputs=outputs, client_timeout=self._timeout_seconds, **sequence)
        try:
            return answers.get(watch)
        finally:
            call.cancel()  # does nothing after an answer

    def _send(self, model: str, inputs: list[Any], take: Callback, **options: Any) -> Any:
        with self._sending:  # async_infer keeps the call in an attribute for a moment
            return self._client.async_infer(model, inputs, take, **options)

    @contextlib.contextmanager
    def _array_input(self, name: str, array: Any, datatype: str) -> Iterator[Any]:
        """A tensor for an array. A large array goes through shared memory if the server can map it."""
        large = self._try_shared_memory and array.nbytes >= SHARED_MEMORY_MIN_BYTES
        region = self._region(array.nbytes) if large else None
        if region is None:
            yield input_tensor(name, array, datatype)
            return
        with region:
            yield region.input(name, array, datatype)

    def _shares(self, size: int) -> bool:
        """Whether an output of so many bytes is to come through shared memory."""
        return self._try_shared_memory and (size >= SHARED_MEMORY_MIN_BYTES or self._shared_memory is True)

    def _region(self, size: int, ring: Ring[SharedOutput] | None = None) -> SharedOutput | None:
        """Memory shared with the server, new or of a ring, or None if the server cannot map it."""
        try:
            return SharedOutput(self._client, size) if ring is None else ring.take(size)
        except (InferenceServerException, OSError) as error:
            if self._shared_memory is True:
                raise ConnectionError(f"{self._url} cannot use shared memory of this process: {error}") from error
            # Full memory may be free again later. In another container, or as another user, no attempt succeeds.
            self._try_shared_memory = isinstance(error, OSError) and error.errno == errno.ENOSPC
            return None


def input_tensor(name: str, array: Any, datatype: str) -> Any:
    """A tensor of a request that holds an array."""
    made = triton_grpc.InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array)
    return made


def _is_local(url: str) -> bool:
    host = url.rpartition(":")[0].strip("[]")
    return host in ("127.0.0.1", "localhost", "::1") or url.startswith("unix:")


Callback = Callable[[Any, Any], None]
"""What takes an answer of tritonclient's: the result and the error, one of which is None."""

_MOST_WAITING = 4
_CHECK_SECONDS = 0.1


class ModelWatch:
    """Finds out whether the process that has a request is gone: Triton then never answers it.

    It asks the model by pings: small requests, which fail if there is no process, or one that began after the request.
    """

    def __init__(self, model: str, url: str, ping: Callable[[int, Callback], object]) -> None:
        """Begins with the request.

        Args:
            model: its name.
            url: of the server, for messages.
            ping: sends a ping with an age in milliseconds; what it is given takes the answer, on another thread.
        """
        self._model, self._url, self._ping = model, url, ping
        self._began = self._asked = time.monotonic()
        self._is_answered = True
        self._lost_since: float | None = None

    def check(self) -> None:
        """Sends a ping if one is due.

        Raises:
            ConnectionError: the process was gone LOST_SECONDS ago or earlier. Until then one that was replaced on
                purpose may answer.
        """
        now = time.monotonic()
        if now >= self._asked + (_PING_SECONDS if self._is_answered else _ANSWER_SECONDS):
            self._asked, self._is_answered = now, False
            with contextlib.suppress(InferenceServerException):  # without a server the request itself fails
                self._ping(int(1000 * (now - self._began)), self.take)
        if self._lost_since is not None and now > self._lost_since + LOST_SECONDS:
            message = f"{self._url} has lost the process of the model {self._model} with this request"
            raise unanswered(ConnectionError(message))

    def take(self, result: Any, error: Any) -> None:
        """Takes the answer to a ping."""
        del result
        self._is_answered = True
        if error is not None and self._lost_since is None:
            meant = translate(error, self._url)
            if isinstance(meant, ConnectionError) and not isinstance(meant, BusyError) and not may_still_run(meant):
                self._lost_since = time.monotonic()


def _smallest(inputs: Sequence[Any]) -> list[Any]:
    """Inputs of the same names and types for a ping, which Triton checks and no model looks at."""
    made = []
    for tensor in inputs:
        extents, datatype = tensor.shape(), tensor.datatype()
        shape = extents if math.prod(extents) <= _MOST_COPIED else [1] * len(extents)
        empty = np.full(shape, b"", np.object_)
        if datatype != "BYTES":
            empty = np.zeros(shape, triton_to_np_dtype(datatype))
        made.append(input_tensor(tensor.name(), empty, datatype))
    return made


class _Answers:
    """A bounded queue from gRPC's thread, which receives answers, to the caller, which may be slower or gone."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[tuple[Any, Any]] = queue.Queue(_MOST_WAITING)
        self._unwanted = threading.Event()

    def put(self, result: Any, error: Any) -> None:
        """Adds an answer. A full queue blocks gRPC's thread, so that the server sends no more."""
        while not self._unwanted.is_set():
            with contextlib.suppress(queue.Full):
                self._waiting.put((result, error), timeout=_CHECK_SECONDS)
                return

    def get(self, watch: ModelWatch | None = None) -> Any:
        """The next answer.

        Raises:
            ConnectionError: the model of `watch` has lost the request.
        """
        while True:
            try:
                result, error = self._waiting.get(timeout=None if watch is None else _CHECK_SECONDS)
            except queue.Empty:
                assert watch is not None
                watch.check()
                continue
            if error is not None:
                raise error
            return result

    def drop(self) -> None:
        """Ends the queue: further answers are dropped."""
        self._unwanted.set()


def answers(
    url: str,
    grpc_options: dict[str, Any],
    model: str,
    inputs: list[Any],
    outputs: list[Any],
    timeout_seconds: float | None,
    window: int | None = None,
    *,
    watched: bool = False,
) -> Generator[Any, None, None]:
    """Sends a request over a separate connection and yields its answers as they arrive.

    With a `window` at most that many answers are on their way: the model waits until the caller takes one. With
    `watched`, a request that the model has lost ends with ConnectionError. Closing or dropping the iterator before its
    end cancels the request.

    Raises:
        Exception: the errors of `translate`.
    """
    waiting = _Answers()
    with contextlib.ExitStack() as ended:
        client = _open_stream(ended, url, grpc_options, waiting.put, timeout_seconds)
        ended.callback(waiting.drop)
        watch = ModelWatch(model, url, _stream_ping(ended, url, grpc_options, model)) if watched else None
        try:
            name = secrets.token_hex(16)
            opening = {"tricodec_stream": name, "tricodec_credits": window} if window is not None else None
            client.async_stream_infer(model, inputs, outputs=outputs, parameters=opening)
            is_last, num_taken = False, 0
            while not is_last:
                result = waiting.get(watch)
                is_last = result.get_response().parameters["triton_final_response"].bool_param
                yield result
                del result  # its memory, while the next one is awaited
                num_taken += 1
                if window is not None and not is_last and num_taken >= (window + 1) // 2:
                    granting = {"tricodec_grant": name, "tricodec_credits": num_taken}
                    client.async_stream_infer(model, [_no_video()], parameters=granting)
                    num_taken = 0
        except InferenceServerException as error:
            raise translate(error, url) from error


def _open_stream(
    ended: contextlib.ExitStack, url: str, grpc_options: dict[str, Any], take: Callback, seconds: float | None = None
) -> Any:
    """A separate connection with a stream, both of which end with a stack."""
    client = ended.enter_context(triton_grpc.InferenceServerClient(url, **grpc_options))
    client.start_stream(take, stream_timeout=seconds)
    ended.callback(_end_stream, client)
    return client


def _stream_ping(
    ended: contextlib.ExitStack, url: str, grpc_options: dict[str, Any], model: str
) -> Callable[[int, Callback], None]:
    """Pings of a model with answers in parts, by a stream of their own: an error on a stream names no request."""
    streams: list[Any] = []

    def send(age_ms: int, take: Callback) -> None:
        if not streams:
            streams.append(_open_stream(ended, url, grpc_options, take))
        streams[0].async_stream_infer(model, [_no_video()], parameters={_PING: age_ms})

    return send


def _end_stream(client: Any) -> None:
    """Cancels the request of a stream if it has not ended."""
    requests = getattr(client._stream, "_request_queue", None)
    client.stop_stream(cancel_requests=True)
    if requests is not None:
        requests.put(None)  # else tritonclient leaves a thread behind that waits for further requests


def _no_video() -> Any:
    """The input of a request that only grants credits; Triton refuses a request without its required input."""
    return input_tensor("VIDEO", np.array([b""], dtype=np.object_), "BYTES")
