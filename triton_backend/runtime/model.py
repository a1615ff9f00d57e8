# SPDX-License-Identifier: Apache-2.0
"""What the models have in common: workers, the life of a request from its arrival to its answer, counters."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import functools
import json
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy.typing as npt
import triton_python_backend_utils as pb_utils
from tricodec.remote import RemoteSource
from tricodec.triton_backend.runtime.errors import BusyError, Failure, cancelled, failure_of
from tricodec.triton_backend.runtime.flow import Flow, Stream, Suspended, Waiter
from tricodec.triton_backend.runtime.guard import check_stub
from tricodec.triton_backend.runtime.metrics import Metrics
from tricodec.triton_backend.runtime.room import expect_room, has_ample_room, no_room, take_room
from tricodec.triton_backend.runtime.settings import VIDEO_PARAMETERS, Settings, has_queue_policy, parse_settings
from tricodec.triton_backend.runtime.workers import Work, Workers

Item = tuple[Any, Any]
"""The bytes of a row of the batch or a RemoteSource, and its task."""

_LOOK_SECONDS = 0.015
"""Triton's answer that the client is there is used for so long: to ask again takes ten switches between threads."""
_LAST_LOOK_SECONDS = 0.05
"""The same before the answer, which a client that is gone may get, too."""


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request.

    Attributes:
        tensors: the outputs, of pb_utils.Tensor.
        num_frames: that went in or out, for the counters.
        num_bytes: of the outputs, for the counters.
    """

    tensors: list[Any]
    num_frames: int
    num_bytes: int


class Model(abc.ABC):
    """The class that Triton calls. It answers requests through response senders, each when its own outcomes are ready.

    A model says what its inputs are, and how requests become tasks and outcomes an answer.

    Attributes:
        INPUTS: names of the inputs; of a class, or of an instance if its configuration decides.
        PARAMETERS: names of the parameters that its configuration may set.
        ITEM: what a row of the batch is, for messages: "video".
        COUNTERS: counters that only this model has: descriptions by name.
        IN_PARTS: a request has one item, and an answer for each part of its outcome; the model is decoupled.
    """

    INPUTS: Collection[str]
    PARAMETERS: ClassVar[Collection[str]] = VIDEO_PARAMETERS
    ITEM: ClassVar[str] = "video"
    IN_PARTS: ClassVar[bool] = False
    COUNTERS: ClassVar[Mapping[str, str]] = {}

    @abc.abstractmethod
    def read(
        self, tensors: Mapping[str, npt.NDArray[Any]], requested: Collection[str], settings: Settings
    ) -> Sequence[Item]:
        """Checks one request.

        Args:
            tensors: the inputs that it has, each with the batch dimension first.
            requested: names of the outputs that it asks for. Triton names all of them when the client names none.
            settings: of the model.

        Returns:
            The items of the request, one for each row of the batch.

        Raises:
            ValueError: naming the input that is not accepted.
        """

    @abc.abstractmethod
    def answer(self, requested: Collection[str], outcomes: list[Any]) -> Answer:
        """Makes the answer of what the tasks gave, in the order of the items, or of one part of what one gave.

        Args:
            requested: as for read().
            outcomes: each an Outcome.

        Raises:
            ValueError: if outcomes do not go together.
        """

    def items(
        self, request: Any, tensors: Mapping[str, npt.NDArray[Any]], requested: Collection[str]
    ) -> Sequence[Item]:
        """What read() returns, for models that need more of a request than its tensors."""
        del request
        return self.read(tensors, requested, self.settings)

    def submit(self, work: Work, finish: Callable[[Any], None]) -> None:
        """Gives the task of an item to a worker; see Workers.submit()."""
        self.workers.submit(work, finish)

    def initialize(self, args: dict[str, str]) -> None:
        """Connects to the node.

        Args:
            args: Triton's, with the configuration as JSON.

        Raises:
            RuntimeError: if the stub corrupts tensors under this NumPy, or there is no node.
            ValueError: for parameters that are not accepted.
        """
        check_stub(pb_utils)
        self.name = args["model_name"]
        config = json.loads(args["model_config"])
        self._waits_for_room = has_queue_policy(config)
        settings = parse_settings(config, self.PARAMETERS).for_instance(
            args["model_instance_kind"], int(args["model_instance_device_id"])
        )
        self.settings = self.prepare(args["model_repository"], settings)
        self.flow = Flow()
        self.metrics = Metrics(pb_utils, args["model_name"], args["model_version"], self.COUNTERS)
        try:
            self.workers = Workers(self.settings, self.metrics.restarted)
        except Exception:
            self.metrics.close()
            raise
        pb_utils.Logger.log_info(
            f"{args['model_name']}: {self.settings.num_workers} workers, device {self.settings.device}"
        )

    def prepare(self, folder: str, settings: Settings) -> Settings:
        """Reads what lies beside the configuration, before the model is ready.

        Args:
            folder: of the model.
            settings: of the configuration.

        Returns:
            The settings to use.
        """
        return settings

    def execute(self, requests: list[Any]) -> None:
        """Takes a batch of requests and returns at once, so that a short request does not wait for a long one.

        Requests wait for a worker here, at most max_queue of them. If the configuration has a queue policy of Triton's,
        they wait in Triton's queue instead, where its limits and priorities hold. Triton does not wake its batcher
        then for a request that comes while this function runs; the batcher may sleep for 500 ms. A model with answers
        in parts takes all requests at once: the credits that a stream waits for are a request too.
        """
        for request in requests:
            _Exchange(request, self).begin()
        if self._waits_for_room and not self.IN_PARTS:
            self.workers.wait_for_room()

    def finalize(self) -> None:
        """Finishes what is queued."""
        self.workers.close()
        self.metrics.close()


class _Exchange:
    """One request from its arrival to its answer."""

    def __init__(self, request: Any, model: Model) -> None:
        self._request = request
        self._sender = request.get_response_sender()
        self._model = model
        self._began = time.monotonic()
        self._looked = self._began  # Triton hands over no request that was cancelled
        self._is_gone = False
        self._bytes_in = 0
        self._num_frames = 0
        self._bytes_out = 0
        self._lock = threading.Lock()
        self._requested: Collection[str] = ()
        self._outcomes: list[Any] = []
        self._stream: Stream | None = None
        self._given: dict[str, Any] = {}  # the facts of the last part that the client has

    def begin(self) -> None:
        """Queues the request's tasks, or answers at once that it is not acceptable."""
        try:
            self._stream = self._model.flow.open(self._request)
            if self._stream is None:
                self._sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
                return
            self._expect_room()
            given = {tensor.name(): tensor for tensor in self._request.inputs()}
            tensors = {name: given[name].as_numpy() for name in self._model.INPUTS if name in given}
            self._requested = frozenset(self._request.requested_output_names())
            items = self._model.items(self._request, tensors, self._requested)
        except Exception as error:  # the request's own, whatever it is: an exception here would fail the whole batch
            self._answer_failure(failure_of(error))
            return
        self._bytes_in = sum(
            len(data.name) if isinstance(data, RemoteSource) else memoryview(data).nbytes for data, _ in items
        )
        self._outcomes = [None] * len(items)
        give = self._give if self._model.IN_PARTS else None
        for index, (data, task) in enumerate(items):
            finish = functools.partial(self._finish, index, data, task)
            self._model.submit(Work(task, data, self._is_cancelled, give), finish)

    def _is_cancelled(self, seconds: float = _LOOK_SECONDS) -> bool:
        """Whether the client was gone at most so many seconds ago."""
        now = time.monotonic()
        if not self._is_gone and now >= self._looked + seconds:
            self._looked = now
            self._is_gone = self._request.is_cancelled()
        return self._is_gone

    def _expect_room(self) -> None:
        limit = self._model.settings.max_queue
        waiting = self._model.workers.num_waiting + self._model.flow.num_parked
        if waiting >= limit:
            raise BusyError(
                f"{waiting} requests wait for a worker of this model, which lets {limit} wait (its parameter max_queue)"
            )

    def _give(self, outcome: Any) -> Failure | Suspended | None:
        assert self._stream is not None
        granted = self._stream.await_credit(self._waiter(), lambda: self._model.workers.num_waiting > 0)
        if granted is True:
            self._deliver(*self._response([outcome]))
            self._given = outcome.facts
            return None
        return granted or Suspended(outcome.facts)

    def _waiter(self) -> Waiter:
        return Waiter(self._is_cancelled, self._model.settings.max_stall_ms)

    def _park(self, proceed: Callable[[], None]) -> None:
        assert self._stream is not None
        self._model.flow.park(self._stream, self._waiter(), proceed, self._answer_failure)

    def _resume(self, data: Any, task: Any, suspended: Suspended) -> None:
        rest = task.rest(suspended.facts, self._num_frames, self._given)
        finish = functools.partial(self._finish, 0, data, task)  # what is left is always reckoned from the whole
        self._model.workers.submit(Work(rest, data, self._is_cancelled, self._give), finish)

    def _finish(self, index: int, data: Any, task: Any, outcome: Any) -> None:
        if isinstance(outcome, Suspended):
            self._park(lambda: self._resume(data, task, outcome))
            return
        with self._lock:
            self._outcomes[index] = outcome
            if any(other is None for other in self._outcomes):
                return
        self._answer()

    def _answer(self) -> None:
        assert self._stream is not None
        has_failed = any(isinstance(outcome, Failure) for outcome in self._outcomes)
        if not has_failed and not self._stream.take():
            self._park(self._answer)
            return
        try:
            self._answer_outcomes()
        except Exception as error:  # such as no shared memory left for the outputs
            with contextlib.suppress(Exception):
                self._answer_failure(failure_of(error))

    def _answer_outcomes(self) -> None:
        for index, outcome in enumerate(self._outcomes):
            if isinstance(outcome, Failure):
                self._answer_failure(self._locate(index, outcome))
                return
        if self._is_cancelled(_LAST_LOOK_SECONDS):
            self._answer_failure(cancelled())
            return
        try:
            response, num_bytes = self._response(self._outcomes)
        except ValueError as error:
            self._answer_failure(failure_of(error))
            return
        self._send(response, num_bytes)
        self._count("ok")

    def _response(self, outcomes: list[Any]) -> tuple[Any, int]:
        """The response, and how many bytes it takes of the memory that Triton shares with this process."""
        answer = self._model.answer(self._requested, outcomes)
        self._num_frames += answer.num_frames
        expect_room(answer.num_bytes)
        self._bytes_out += answer.num_bytes
        return pb_utils.InferenceResponse(output_tensors=answer.tensors), answer.num_bytes

    def _locate(self, index: int, failure: Failure) -> Failure:
        if len(self._outcomes) == 1:
            return failure
        return Failure(failure.kind, f"{self._model.ITEM} {index} of the request: {failure.message}")

    def _answer_failure(self, failure: Failure) -> None:
        error = pb_utils.TritonError(failure.text, getattr(pb_utils.TritonError, failure.code))
        self._close_stream()
        if (trace := _trace_id(self._request)) is not None:
            print(f"{self._model.name}: trace {trace}: {failure.text}", file=sys.stderr, flush=True)
        final = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
        try:
            self._sender.send(pb_utils.InferenceResponse(error=error), flags=final)
        except Exception:  # Triton takes no error after an answer that failed; it then reports that there is none
            self._sender.send(flags=final)
        self._count(failure.code.lower())

    def _send(self, response: Any, num_bytes: int) -> None:
        """The last answer, with the end of the request.

        A separate end brings the whole server down (Triton 24.10) if the client cancels before it, or is a model.
        """
        self._close_stream()
        self._deliver(response, num_bytes, pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def _close_stream(self) -> None:
        if self._stream is not None:
            self._model.flow.close(self._stream)

    def _deliver(self, response: Any, num_bytes: int, flags: int = 0) -> None:
        # An answer with the end that cannot be sent never ends its request.
        tensors = [tensor for tensor in response.output_tensors() if tensor.is_cpu()]
        if tensors and not has_ample_room(num_bytes) and not take_room(tensors):
            raise no_room(f"an answer of {num_bytes} bytes")
        try:
            self._sender.send(response, flags)
        except Exception as error:
            traceback.print_exception(error, file=sys.stderr)
            raise no_room(f"an answer of {num_bytes} bytes") from None

    def _count(self, outcome: str) -> None:
        seconds = time.monotonic() - self._began
        self._model.metrics.answered(outcome, seconds, self._num_frames, self._bytes_in, self._bytes_out)


def _trace_id(request: Any) -> str | None:
    """The id of the OpenTelemetry trace of a request, 32 hexadecimal digits; None without one.

    A client chooses it with the header `traceparent` of W3C; else Triton does.
    """
    context = request.trace().get_context() if hasattr(request, "trace") else None  # Triton before 24.05 has none
    if not context:
        return None
    parts = str(json.loads(context).get("traceparent", "")).split("-")
    return parts[1] if len(parts) > 1 else None
