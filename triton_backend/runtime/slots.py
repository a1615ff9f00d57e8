# SPDX-License-Identifier: Apache-2.0
"""Slots, which do one task at a time: a supervised worker process, or, without isolation, the thread that asks."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import tricodec
from tricodec.triton_backend.runtime import channel
from tricodec.triton_backend.runtime.block import Block
from tricodec.triton_backend.runtime.errors import Failure, cancelled, failure_of
from tricodec.triton_backend.runtime.flow import Suspended
from tricodec.triton_backend.runtime.frame_files import FrameMappings
from tricodec.triton_backend.runtime.settings import Settings
from tricodec.triton_backend.runtime.sources import Url, source_of
from tricodec.triton_backend.runtime.task import Work, describe, marked

_START_TIMEOUT_SECONDS = 60.0
_STOP_TIMEOUT_SECONDS = 2.0
_CRASH_SECONDS = 0.05
# So the C library ends a process that has no memory for the variables of a new thread.
_NO_MEMORY_FOR_THREAD = "ended with status 127"
# How often a waiting slot looks whether the client has gone away: each look costs stub and server 0.2 ms.
_POLL_SECONDS = 0.05

# The worker imports from exactly where the stub does, whatever PYTHONPATH and the working directory are.
_BOOTSTRAP = """
import json, socket, sys
sys.path[:] = json.loads(sys.argv[1])
from tricodec.triton_backend.runtime.settings import Settings
from tricodec.triton_backend.runtime.worker import run_worker
run_worker(socket.socket(fileno=int(sys.argv[2])), int(sys.argv[3]), Settings(**json.loads(sys.argv[4])))
"""


class InlineSlot:
    """Works in the calling thread: no copy of the bytes, no protection. Each slot belongs to one thread."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def open(self) -> None:
        """Sets the limits of this process."""
        tricodec.set_limits(**self._settings.limits)

    def work(self, work: Work, num_threads: int) -> Any:
        """The task's outcome, or its last part, or a Failure; never raises because of what a request contains.

        It notices a cancelled request only before a part begins.

        Args:
            work: the task.
            num_threads: its share.
        """
        try:
            if work.cancelled():
                return cancelled()
            with (
                source_of(work.data, self._settings) as source,
                work.task.open(source, self._settings, num_threads) as jobs,
            ):
                for job, is_last in marked(jobs):
                    outcome = job.outcome()
                    if is_last:
                        return outcome
                    assert work.give is not None
                    if (end := work.give(outcome)) is not None:
                        return end
                    if work.cancelled():
                        return cancelled()
        except Exception as error:  # every failure is the request's own
            return failure_of(error)

    def recover(self) -> None:
        """Nothing is held."""

    def close(self) -> None:
        """Nothing is held."""


class ProcessSlot:
    """Works in a child process with a deadline; a child that dies or is late is replaced."""

    def __init__(self, settings: Settings, on_restart: Callable[[str], None]) -> None:
        """Args: on_restart is called with the reason for replacing a child: "crash", "timeout", "cancel", "memory"."""
        self._settings = settings
        self._on_restart = on_restart
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._mappings = FrameMappings()
        self._ran_out = False  # of memory: what the child keeps for later may leave too little for the next request

    def open(self) -> None:
        """Starts the child and waits until it can work."""
        ours, theirs = channel.socket_pair()
        command = [
            sys.executable, "-I", "-c", _BOOTSTRAP, json.dumps([path for path in sys.path if path]),
            str(theirs.fileno()), str(os.getpid()), json.dumps(dataclasses.asdict(self._settings)),
        ]  # fmt: skip
        try:
            with theirs:
                self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(),))
        except BaseException:
            ours.close()
            raise
        self._connection = ours
        self._mappings = FrameMappings()  # of this child's files
        try:
            if not _readable(ours, _START_TIMEOUT_SECONDS):
                raise TimeoutError(f"it was not ready after {_START_TIMEOUT_SECONDS:g} s")
            channel.receive(ours)
        except (OSError, ValueError) as error:
            status = self._kill()
            raise RuntimeError(f"a worker process of {sys.executable} did not start: {error} ({status})") from error

    def work(self, work: Work, num_threads: int) -> Any:
        """The same, in the child. It is ended if the request is cancelled or late."""
        if work.cancelled():
            return cancelled()
        try:
            if self._process is not None and self._process.poll() is not None:
                self._restart("crash")  # it died between two requests
            if self._process is None:
                self.open()
            file = channel.memory_file_of(work.data)
            try:
                return self._exchange(work, file, num_threads)
            finally:
                os.close(file)
        except Exception as error:  # such as no memory for the bytes, or no process for the worker
            return failure_of(error)

    def recover(self) -> None:
        """Replaces a child that ran out of memory; called between two tasks."""
        if self._ran_out:
            self._ran_out = False
            self._restart("memory")

    def close(self) -> None:
        """Ends the child."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_TIMEOUT_SECONDS)
        self._kill()

    def _exchange(self, work: Work, data_file: int, num_threads: int) -> Any:
        assert self._connection is not None
        task, give = work.task, work.give
        try:
            released = self._mappings.released()
            request = {"task": describe(task), "num_threads": num_threads, "released": released}
            request["is_url"] = isinstance(work.data, Url)
            channel.send(self._connection, request, data_file)
            # Each part has at least one frame, so a worker that misbehaves comes to an end too.
            for _ in range(self._settings.max_frames if give else 1):
                if (failure := self._wait(work)) is not None:
                    return failure
                outcome, is_last = self._receive()
                if is_last or isinstance(outcome, Failure):
                    has_failed = isinstance(outcome, Failure) and outcome.kind == "OutOfMemoryError"
                    self._ran_out = has_failed and not work.keeps_state
                    return outcome
                if give is not None:
                    try:
                        end = give(outcome) or (cancelled() if work.cancelled() and not work.keeps_state else None)
                    except Exception as error:  # such as no shared memory left for the outputs
                        end = failure_of(error)
                    if isinstance(end, Suspended):
                        del outcome
                        return self._suspend(work) or end
                    if end is not None:
                        self._restart("cancel")  # the child already makes the next part
                        return end
                del outcome  # so that its file is free when the worker gets the list
                channel.send(self._connection, {"released": self._mappings.released()})
            raise ValueError("an outcome of more parts than the request has frames")
        except channel.ChannelClosedError:
            end = self._restart("crash")
            ran_out = end == _NO_MEMORY_FOR_THREAD and self._settings.worker_bytes is not None
            cause = (
                f"It had no memory left of the {self._settings.worker_bytes} bytes that a worker may have (parameter "
                "max_worker_bytes of the model)"
                if ran_out
                else "Probably the input is damaged in a way that the codec does not survive, or memory ran out"
            )
            extent = "what else it had open is lost" if work.keeps_state else "other requests are not affected"
            return Failure(
                "OutOfMemoryError" if ran_out else "InternalError",
                f"the process that was {task.DOING} for this request {end} and was replaced; {extent}. {cause}",
            )
        except (KeyError, TypeError, ValueError, OSError) as error:
            # The answer is not valid: the process must not get another request.
            return Failure("InternalError", f"a worker gave no valid answer ({error}); it {self._restart('crash')}")

    def _suspend(self, work: Work) -> Failure | None:
        """Ends the task of the child, which stays; what it has made meanwhile is dropped."""
        assert self._connection is not None
        channel.send(self._connection, {"released": self._mappings.released(), "stop": True})
        while True:
            if (failure := self._wait(work)) is not None:
                return failure
            answer, file = channel.receive(self._connection)
            try:
                if answer.get("stopped"):
                    return None
                _read_answer(answer, file, self._mappings)
            finally:
                if file is not None:
                    os.close(file)

    def _wait(self, work: Work) -> Failure | None:
        """Waits for the next part, or stops the child if it is not wanted any more, or late."""
        assert self._connection is not None
        deadline = time.monotonic() + self._settings.timeout_ms / 1000
        while not _readable(self._connection, _POLL_SECONDS):
            if not work.keeps_state and work.cancelled():
                self._restart("cancel")
                return cancelled()
            if time.monotonic() > deadline:
                self._restart("timeout")
                return Failure(
                    "TimeoutError",
                    f"{work.task.DOING} took longer than {self._settings.timeout_ms} ms (parameter timeout_ms of the "
                    f"model) and was stopped; {work.task.SHORTEN}",
                )
        return None

    def _receive(self) -> tuple[Any, bool]:
        """The next part, and whether it is the last one."""
        assert self._connection is not None
        answer, file = channel.receive(self._connection)
        try:
            return _read_answer(answer, file, self._mappings), bool(answer.get("last", True))
        finally:
            if file is not None:
                os.close(file)

    def _restart(self, reason: str) -> str:
        """Replaces the child; returns how the old one ended."""
        status = self._kill(_CRASH_SECONDS if reason == "crash" else 0)
        self._on_restart(reason)
        try:
            self.open()
        except (RuntimeError, OSError) as error:
            print(f"{error}; the next request tries again", file=sys.stderr, flush=True)
        return status

    def _kill(self, patience_seconds: float = _CRASH_SECONDS) -> str:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is None:
            return "was not started"
        # A child that closed its end of the connection is about to die by itself, of a signal that says more.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience_seconds)
        self._process.kill()
        code = self._process.wait()
        self._process = None
        if code >= 0:
            return f"ended with status {code}"
        try:
            return f"died of {signal.Signals(-code).name}"
        except ValueError:
            return f"died of signal {-code}"


Slot = InlineSlot | ProcessSlot


def _readable(connection: socket.socket, timeout_seconds: float) -> bool:
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(timeout_seconds * 1000))


def _read_answer(answer: dict[str, Any], file: int | None, mappings: FrameMappings) -> Any:
    if "failure" in answer:
        failure = Failure(str(answer["failure"]["kind"]), str(answer["failure"]["message"]))
        _ = failure.code  # KeyError for a kind that is none
        return failure
    block = Block.parse(answer["block"])
    memory, number = mappings.map(answer["file"], file, block.total_bytes)
    outcome, whole = block.read(memory)
    mappings.watch(whole, number)
    return outcome
