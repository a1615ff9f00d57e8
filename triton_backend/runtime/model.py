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

import triton_python_backend_utils as pb_utils
from tricodec.remote import RemoteSource
from tricodec.triton_backend.runtime.errors import BusyError, Failure, cancelled, failure_of
from tricodec.triton_backend.runtime.flow import Flow, Suspended
from tricodec.triton_backend.runtime.metrics import Metrics
from tricodec.triton_backend.runtime.rows import Tensors
from tricodec.triton_backend.runtime.settings import VIDEO_PARAMETERS, Settings, has_queue_policy, parse_settings
from tricodec.triton_backend.runtime.stub import check_stub, failed, no_room, take_room, tensor
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
        outputs: arrays by name; the request gets those that it asks for.
        num_bytes: of frames and files, for the counters and for the memory that they take.
        num_frames: that went in or out, for the counters.
    """

    outputs: Mapping[str, Any]
    num_bytes: int
    num_frames: int = 0


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
    def read(self, tensors: Tensors, requested: Collection[str], request: Any) -> Sequence[Item]:
        """Checks one request.

        Args:
            tensors: the inputs that it has.
            requested: names of the outputs that it asks for. Triton names all of them when the client names none.
            request: Triton's, for what else it says.

        Returns:
            The items of the request, one for each row of the batch.

        Raises:
            ValueError: naming the input that is not accepted.
        """

    @abc.abstractmethod
    def answer(self, outcomes: list[Any]) -> Answer:
        """Makes the answer of what the tasks gave, in the order of the items, or of one part of what one gave."""

    def submit(self, work: Work, finish: Callable[[Any], None]) -> None:
        """Gives the task of an item to a worker; see Workers.submit()."""
        self.workers.submit(work, finish)

    def initialize(self, args: dict[str, str]) -> None:
        """Reads the configuration and connects to the node. Args: args is Triton's, with the configuration as JSON."""
        check_stub()
        self.name = args["model_name"]
        config = json.loads(args["model_config"])
        self._waits_for_room = has_queue_policy(config)
        settings = parse_settings(config, self.PARAMETERS).for_instance(
            args["model_instance_kind"], int(args["model_instance_device_id"])
        )
        self.settings = self.prepare(args["model_repository"], settings)
        self.flow = Flow(self.settings.max_stall_ms)
        self.metrics = Metrics(pb_utils, args["model_name"], args["model_version"], self.COUNTERS)
        try:
            self.workers = Workers(self.settings, self.metrics)
        except Exception:
            self.metrics.close()
            raise
        pb_utils.Logger.log_info(
            f"{args['model_name']}: {self.settings.num_workers} workers, device {self.settings.device}"
        )

    def prepare(self, folder: str, settings: Settings) -> Settings:
        """The settings to use, after a look at what lies beside the configuration in the model's folder."""
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
        self._stream = model.flow.stream()  # it does not know the request: a circle would keep the memory of both
        self._given: dict[str, Any] = {}  # the facts of the last part that the client has

    def begin(self) -> None:
        """Queues the request's tasks, or answers at once that it is not acceptable."""
        try:
            if not self._model.flow.open(self._stream, self._request):
                self._sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
                return
            self._expect_room()
            given = {each.name(): each for each in self._request.inputs()}
            tensors = {name: given[name].as_numpy() for name in self._model.INPUTS if name in given}
            self._requested = frozenset(self._request.requested_output_names())
            items = self._model.read(tensors, self._requested, self._request)
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
        """Sends a part, as soon as the client has granted one. See Work."""
        failure = self._stream.wait(self._is_cancelled, lambda: self._model.workers.num_waiting > 0)
        if failure is not None:
            return failure
        if not self._stream.take():
            return Suspended()
        self._send([outcome])
        self._given = outcome.facts
        return None

    def _resume(self, data: Any, task: Any) -> None:
        rest = task.rest(self._num_frames, self._given)
        finish = functools.partial(self._finish, 0, data, task)  # what is left is always reckoned from the whole
        self._model.workers.submit(Work(rest, data, self._is_cancelled, self._give), finish)

    def _finish(self, index: int, data: Any, task: Any, outcome: Any) -> None:
        if isinstance(outcome, Suspended):
            resume = functools.partial(self._resume, data, task)
            self._model.flow.park(self._stream, self._is_cancelled, resume, self._answer_failure)
            return
        with self._lock:
            self._outcomes[index] = outcome
            if any(other is None for other in self._outcomes):
                return
        self._answer()

    def _answer(self) -> None:
        failure = self._failure()
        if failure is None and not self._stream.take():
            self._model.flow.park(self._stream, self._is_cancelled, self._answer, self._answer_failure)
            return
        if failure is None and self._is_cancelled(_LAST_LOOK_SECONDS):
            failure = cancelled()
        try:
            if failure is None:
                self._send(self._outcomes, pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
                self._count("ok")
            else:
                self._answer_failure(failure)
        except Exception as error:  # such as no shared memory left for the outputs
            with contextlib.suppress(Exception):
                self._answer_failure(failure_of(error))

    def _failure(self) -> Failure | None:
        """Why the first item failed that did."""
        for index, outcome in enumerate(self._outcomes):
            if isinstance(outcome, Failure):
                where = f"{self._model.ITEM} {index} of the request: " if len(self._outcomes) > 1 else ""
                return Failure(outcome.kind, where + outcome.message)
        return None

    def _answer_failure(self, failure: Failure) -> None:
        self._model.flow.close(self._stream)
        if (trace := _trace_id(self._request)) is not None:
            print(f"{self._model.name}: trace {trace}: {failure.text}", file=sys.stderr, flush=True)
        final = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
        try:
            self._sender.send(failed(failure), flags=final)
        except Exception:  # Triton takes no error after an answer that failed; it then reports that there is none
            self._sender.send(flags=final)
        self._count(failure.code.lower())

    def _send(self, outcomes: list[Any], flags: int = 0) -> None:
        """Sends an answer, the last one with the end of the request as `flags`.

        A separate end brings the whole server down (Triton 24.10) if the client cancels before it, or is a model. An
        answer with the end that cannot be sent never ends its request.
        """
        answer = self._model.answer(outcomes)
        self._num_frames += answer.num_frames
        self._bytes_out += answer.num_bytes
        # Triton would leave out the others itself, but without Python's lock.
        wanted = [tensor(name, array) for name, array in answer.outputs.items() if name in self._requested]
        if flags:
            self._model.flow.close(self._stream)
        take_room([each for each in wanted if each.is_cpu()], answer.num_bytes)
        try:
            self._sender.send(pb_utils.InferenceResponse(output_tensors=wanted), flags)
        except Exception as error:
            traceback.print_exception(error, file=sys.stderr)
            raise no_room(answer.num_bytes) from None

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
