# SPDX-License-Identifier: Apache-2.0
"""The node's side of the processes that decode."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from tricodec.node import _channel

_START_SECONDS = 60.0

# A worker imports from exactly where the node does, whatever PYTHONPATH and the working directory are.
_BOOTSTRAP = """
import json, sys
sys.path[:] = json.loads(sys.argv.pop(3))
from tricodec.node._worker import main
main()
"""


class WorkerProcess:
    """A process that decodes on one device, and is started again when it ends."""

    def __init__(
        self, device: str, capacity: int, config: dict[str, Any], on_answer: Callable[..., None], *, keeps: bool = False
    ) -> None:
        """Starts nothing. Args: capacity is requests at a time; config is that of `_worker.Worker` without device and
        capacity; on_answer is called on a thread of this object with itself, a message and its files, and with None for
        the message when the process has ended; what keeps has requests that leave something for later ones, and is for
        these alone."""
        self.device, self.capacity = device, capacity
        self._config = {**config, "device": device, "capacity": capacity}
        self._on_answer = on_answer
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.running: dict[int, Any] = {}  # requests, by their number here; the caller has the node's lock
        self.keys: list[Any] = []  # what it read last, the latest at the end: it may have the file open
        self.keeps = keeps
        self.is_ready = False  # it takes requests
        self.is_ending = False  # it was killed, and does not take any more
        self.why = ""  # it was killed: "memory" or "cancel"; "" for other reasons
        self.cache_bytes = 0  # of the frames that it keeps

    @property
    def has_room(self) -> bool:
        """Whether it takes one more request."""
        return self.is_ready and not self.is_ending and len(self.running) < self.capacity

    def start(self) -> None:
        """Starts the process, and a thread that receives its answers.

        Raises:
            RuntimeError: it does not start.
        """
        ours, theirs = _channel.pair()
        command = [
            sys.executable, "-I", "-c", _BOOTSTRAP, str(theirs.fileno()), json.dumps(self._config),
            json.dumps([path for path in sys.path if path]),
        ]  # fmt: skip
        with theirs:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(),),
                # Of damage the client is told. A line for each request would fill the disk.
                env={"TRICODEC_LOG": "error", **os.environ, "TRICODEC_NODE": "off"},
            )  # fmt: skip
        started = select.poll()  # select.select() takes no more than 1024 open files
        started.register(ours, select.POLLIN)
        try:
            if not started.poll(_START_SECONDS * 1000):
                raise TimeoutError(f"it was not ready after {_START_SECONDS:g} s")
            _channel.receive(ours)
        except (OSError, ValueError) as error:
            process.kill()
            process.wait()
            ours.close()
            raise RuntimeError(f"a process that decodes on {self.device} did not start: {error}") from error
        self._channel, self._process, self.is_ready = ours, process, True
        self.is_ending, self.why = False, ""
        self.cache_bytes = 0
        threading.Thread(target=self._receive, args=(ours,), name=f"tricodec-{self.device}", daemon=True).start()

    def send(self, message: dict[str, Any], files: list[int]) -> None:
        """Sends a message. What is sent to a process that has ended is lost; `on_answer` is called for it."""
        assert self._channel is not None
        try:
            _channel.send(self._channel, message, files)
        except OSError:
            self.kill()

    def kill(self, why: str = "") -> None:
        """Ends the process at once; a reason is told apart from others."""
        self.is_ending, self.why = True, self.why or why
        if self._process is not None:
            self._process.kill()

    def end(self) -> None:
        """Ends the process, for good."""
        self.is_ready = False
        self.kill()
        if self._process is not None:
            self._process.wait()

    def how_it_ended(self) -> str:
        """For messages; waits for the end."""
        assert self._process is not None
        code = self._process.wait()
        return f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"

    @property
    def process_id(self) -> int:
        """Of the process that was started last; 0 before the first one."""
        return 0 if self._process is None else self._process.pid

    def _receive(self, channel: socket.socket) -> None:
        while True:
            try:
                message, files = _channel.receive(channel)
                self._on_answer(self, message, files)
            except Exception as error:
                if not isinstance(error, _channel.ClosedError):
                    traceback.print_exc()
                break
        self.kill()  # an answer that cannot be read is of a process that must not get another request
        channel.close()
        self._on_answer(self, None, [])
