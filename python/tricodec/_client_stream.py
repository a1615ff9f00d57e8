# SPDX-License-Identifier: Apache-2.0
"""Answers of a decoupled model, one after another."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Generator
from typing import Any

from tricodec._client_errors import translate
from tricodec._client_triton import InferenceServerException, triton_grpc

_MOST_WAITING = 4
_CHECK_SECONDS = 0.2


class _Answers:
    """Between gRPC's thread, which brings answers, and the caller, who may be slower, or gone."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[tuple[Any, Any]] = queue.Queue(_MOST_WAITING)
        self._unwanted = threading.Event()

    def put(self, result: Any, error: Any) -> None:
        """Takes one, and holds gRPC's thread up while the caller has enough: the server is not asked for more then."""
        while not self._unwanted.is_set():
            with contextlib.suppress(queue.Full):
                self._waiting.put((result, error), timeout=_CHECK_SECONDS)
                return

    def get(self) -> Any:
        """The next one."""
        result, error = self._waiting.get()
        if error is not None:
            raise error
        return result

    def drop(self) -> None:
        """No more is wanted."""
        self._unwanted.set()


def answers(
    url: str,
    grpc_options: dict[str, Any],
    model: str,
    inputs: list[Any],
    outputs: list[Any],
    timeout_seconds: float | None,
) -> Generator[Any, None, None]:
    """Sends a request over a connection of its own and gives its answers as they come.

    An iterator that is closed, or dropped, before its end cancels the request.

    Raises:
        Exception: as _client_errors.translate has it.
    """
    waiting = _Answers()
    with triton_grpc.InferenceServerClient(url, **grpc_options) as client:
        client.start_stream(waiting.put, stream_timeout=timeout_seconds)
        try:
            client.async_stream_infer(model, inputs, outputs=outputs)
            is_last = False
            while not is_last:
                result = waiting.get()
                is_last = result.get_response().parameters["triton_final_response"].bool_param
                yield result
        except InferenceServerException as error:
            raise translate(error, url) from error
        finally:
            waiting.drop()
            client.stop_stream(cancel_requests=True)
