# SPDX-License-Identifier: Apache-2.0
"""A connection to a Triton server: one request and its answer, or an answer in parts; errors as without a server."""

from __future__ import annotations

import builtins
import contextlib
import queue
import re
import secrets
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import tritonclient.grpc as triton_grpc
from tritonclient.utils import InferenceServerException

from tricodec import errors

T = TypeVar("T")

RETURN_SECONDS = 30.0
"""The longest time that a repeated request waits for its model to be ready again."""
_LOOK_SECONDS = 0.05
_ANSWER_SECONDS = 5.0
"""A server that hangs, or loads a model, does not answer the question whether a model is ready."""
_MOST_WAITING = 4
_CHECK_SECONDS = 0.1
#: Texts of Triton itself, where it has one code for several causes.
_LOST_PROCESS = ("is not healthy", "has no available versions")
_FULL_POOL = "Failed to increase the shared memory pool"
_NO_ANSWER = "expected a single response, got 0"
_BUILTIN_ERRORS = ("ValueError", "TypeError", "IndexError", "TimeoutError")


class BusyError(ConnectionError):
    """The server answers, and has no room for this request now."""


class Connection:
    """The requests of a client. Thread safety: safe."""

    def __init__(self, url: str, timeout_seconds: float | None, retries: int, grpc_options: dict[str, Any]) -> None:
        """See `Client` for the arguments; the first request opens the connection."""
        if retries < 0:
            raise ValueError(f"retries is {retries}; expected 0 or more")
        self._url = url
        self._timeout_seconds = timeout_seconds
        self._retries = retries
        self._grpc_options = grpc_options
        self._client = triton_grpc.InferenceServerClient(url, **grpc_options)

    def is_ready(self, model: str) -> bool:
        """Whether the server answers and has the model ready."""
        with contextlib.suppress(InferenceServerException):
            return bool(self._client.is_model_ready(model, client_timeout=_ANSWER_SECONDS))
        return False

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def repeated(self, model: str, send: Callable[[], T]) -> T:
        """What `send` returns; it is called again as often as `retries` says if the server or the model is gone."""
        for _ in range(self._retries):
            try:
                return send()
            except ConnectionError:
                deadline = time.monotonic() + RETURN_SECONDS
                while not self.is_ready(model) and time.monotonic() < deadline:
                    time.sleep(_LOOK_SECONDS)
        return send()

    def call(
        self,
        model: str,
        inputs: list[Any],
        outputs: Iterable[str],
        timeout_seconds: float | None = None,
        **sequence: Any,
    ) -> Any:
        """The answer to one request, or an error of `translate`. `sequence` are tritonclient's keywords of one."""
        try:
            return self._client.infer(
                model, inputs, outputs=_requested(outputs), client_timeout=timeout_seconds or self._timeout_seconds,
                **sequence,
            )  # fmt: skip
        except InferenceServerException as error:
            in_session = bool(sequence) and not sequence.get("sequence_start")
            raise translate(error, self._url, in_session=in_session) from error

    def stream(
        self, model: str, inputs: list[Any], outputs: Iterable[str], window: int | None
    ) -> Generator[Any, None, None]:
        """Sends a request over a separate connection and yields its answers, at most a `window` of them ahead.

        Closing or dropping the iterator before its end cancels the request. Raises the errors of `translate`.
        """
        waiting: queue.Queue[tuple[Any, Any]] = queue.Queue(_MOST_WAITING)
        is_unwanted = threading.Event()

        def put(result: Any, error: Any) -> None:  # a full queue blocks gRPC's thread, so that the server sends no more
            while not is_unwanted.is_set():
                with contextlib.suppress(queue.Full):
                    waiting.put((result, error), timeout=_CHECK_SECONDS)
                    return

        with contextlib.ExitStack() as ended:
            client = ended.enter_context(triton_grpc.InferenceServerClient(self._url, **self._grpc_options))
            client.start_stream(put, stream_timeout=self._timeout_seconds)
            ended.callback(_end_stream, client)
            ended.callback(is_unwanted.set)
            try:
                name = secrets.token_hex(16)
                opening = {"tricodec_stream": name, "tricodec_credits": window} if window is not None else None
                client.async_stream_infer(model, inputs, outputs=_requested(outputs), parameters=opening)
                is_last, num_taken = False, 0
                while not is_last:
                    result, error = waiting.get()
                    if error is not None:
                        raise error
                    is_last = result.get_response().parameters["triton_final_response"].bool_param
                    yield result
                    del result  # its memory, while the next one is awaited
                    num_taken += 1
                    if window is not None and not is_last and num_taken >= (window + 1) // 2:
                        granting = {"tricodec_grant": name, "tricodec_credits": num_taken}
                        with contextlib.suppress(InferenceServerException):  # the next answer is the reason
                            client.async_stream_infer(model, [_NO_VIDEO], parameters=granting)
                        num_taken = 0
            except InferenceServerException as error:
                raise translate(error, self._url) from error


def input_tensor(name: str, array: Any, datatype: str) -> Any:
    """A tensor of a request that holds an array."""
    made = triton_grpc.InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array)
    return made


_NO_VIDEO = input_tensor("VIDEO", np.array([b""], dtype=np.object_), "BYTES")
"""The input of a request that only grants credits; Triton refuses a request without its required input."""


def _requested(outputs: Iterable[str]) -> Sequence[Any]:
    return [triton_grpc.InferRequestedOutput(name) for name in outputs]


def _end_stream(client: Any) -> None:
    """Cancels the request of a stream if it has not ended."""
    requests = getattr(client._stream, "_request_queue", None)
    client.stop_stream(cancel_requests=True)
    if requests is not None:
        requests.put(None)  # else tritonclient leaves a thread behind that waits for further requests


def translate(error: InferenceServerException, url: str, *, in_session: bool = False) -> Exception:
    """The exception that the same call raises without a server: models write its name before its text.

    A request `in_session` continues a session, which Triton refuses if the session is gone.
    """
    message = error.message() or str(error)
    named = re.match(r"([A-Za-z]+): (.*)", message, re.DOTALL)
    if named:
        name, text = named.groups()
        if name == BusyError.__name__:
            return BusyError(f"{url} cannot answer: {message}")
        if name == "UnavailableError":
            return ConnectionError(f"{url} has lost the process of the model: {text}")
        kind = getattr(builtins, name) if name in _BUILTIN_ERRORS else getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            return kind(text)
    if any(text in message for text in _LOST_PROCESS):
        return ConnectionError(f"{url} has lost the process of the model: {message}")
    if _NO_ANSWER in message or _FULL_POOL in message:  # the model could neither send its answer nor the reason
        return errors.OutOfMemoryError(
            f"{url} has no shared memory left for this request or its answer; request less, or give the server more "
            "(--shm-size)"
        )
    return _of_status(error, message, url, in_session=in_session)


def _of_status(error: InferenceServerException, message: str, url: str, *, in_session: bool) -> Exception:
    """The exception for an error of gRPC or of Triton's own checks."""
    status = str(error.status() or "").rpartition(".")[2]
    if status == "INVALID_ARGUMENT":  # for instance of a request without VIDEO
        if in_session:
            return ConnectionError(f"{url} does not have this session any more; open it again")
        return ValueError(message)
    if status == "DEADLINE_EXCEEDED":
        return TimeoutError(f"{url} did not answer in time: {message}")
    if status == "UNAVAILABLE":
        remedy = "leave out http:// from the URL" if "://" in url else "start a server, or check host and gRPC port"
        return ConnectionError(f"{url} cannot answer: {message}; {remedy}")
    found: Exception = error
    if status == "NOT_FOUND":
        text = f"{url} does not serve this model: {message}; start the server with it (tricodec serve --model NAME)"
        found = InferenceServerException(text, status=error.status())
    return found
