# SPDX-License-Identifier: Apache-2.0
"""The processes of a node, and which of them does a request."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from tricodec.errors import InternalError, OutOfMemoryError
from tricodec.node._queue import Request
from tricodec.node._start import Settings
from tricodec.node._workers import WorkerProcess

GPU_CAPACITY = 16
"""Requests at a time on a GPU. The core shares its engines among them."""
_NO_MEMORY_FOR_THREAD = "ended with status 127"
"""So the C library ends a process that has no memory for the variables of a new thread."""
_MOST_STARTS = 5
_MOST_KEYS = 32


class Staff:
    """All processes. The caller has the node's lock, except of `start_now`."""

    def __init__(
        self, settings: Settings, on_answer: Callable[..., None], on_start: Callable[[WorkerProcess], None]
    ) -> None:
        """Has no process. Args: on_answer is that of WorkerProcess; on_start is called when a process was started, or
        could not be."""
        self._settings, self._on_answer, self._on_start = settings, on_answer, on_start
        self._workers: dict[str, list[WorkerProcess]] = {}
        self._starting: set[WorkerProcess] = set()
        self._pins: dict[tuple[Any, str], WorkerProcess] = {}

    def cpu_worker(self, cache_bytes: int, *, keeps: bool = False) -> WorkerProcess:
        """A process for the CPU, which keeps so many bytes of frames; see WorkerProcess for `keeps`."""
        limit = self._settings.worker_memory + cache_bytes
        config = {"cache_bytes": cache_bytes, "decoder_bytes": 0, "worker_bytes": limit, "limits": {}}
        return WorkerProcess("cpu", 1, config, self._on_answer, keeps=keeps)

    def gpu_worker(self, gpu: int, cache_bytes: int, decoder_bytes: int) -> WorkerProcess:
        """The process for a GPU. Args: decoder_bytes are for decoders, and as much for what they decode ahead."""
        limits = {"max_device_buffered_bytes": decoder_bytes}
        config = {"cache_bytes": cache_bytes, "decoder_bytes": decoder_bytes, "worker_bytes": 0, "limits": limits}
        return WorkerProcess(f"cuda:{gpu}", GPU_CAPACITY, config, self._on_answer)

    def add(self, device: str, workers: list[WorkerProcess]) -> None:
        """Takes over the processes of a device."""
        self._workers[device] = workers

    def of(self, device: str) -> list[WorkerProcess]:
        """The processes of a device."""
        return self._workers[device]

    def __iter__(self) -> Iterator[WorkerProcess]:
        return itertools.chain(*self._workers.values())

    def num_running(self, device: str) -> int:
        """Requests that the processes of a device do now."""
        return sum(len(worker.running) for worker in self._workers[device])

    def requests_of(self, client: Any) -> list[Request]:
        """The requests of a client that processes do now."""
        running = itertools.chain(*(worker.running.values() for worker in self))
        return [each for each in running if each is not None and each.client is client]

    def worker_for(self, device: str, request: Request) -> WorkerProcess | None:
        """A process with room; None if there is none now. It then starts another one if that is for the request."""
        if request.pin:
            return self._pinned(device, request)
        workers = [each for each in self._workers[device] if not each.keeps]
        free = [worker for worker in workers if worker.has_room]
        if free:
            key = _key(request.files[0])
            return max(free, key=lambda each: (key in each.keys, bool(each.keys)))
        idle = [worker for worker in workers if not worker.is_ready and worker not in self._starting]
        if idle:
            self.start(idle[0])
        return None

    def has_open(self, device: str, file: int) -> bool:
        """Whether a process of a device may have a file open."""
        return any(_key(file) in worker.keys for worker in self._workers[device])

    def device_of_pin(self, client: Any, pin: str) -> str | None:
        """Where the requests of a pin go; None before the first one."""
        worker = self._pins.get((client, pin))
        return None if worker is None else worker.device

    def note(self, request: Request, worker: WorkerProcess) -> None:
        """A process reads the file of a request."""
        key = _key(request.files[0])
        worker.keys = [*(each for each in worker.keys[1 - _MOST_KEYS :] if each != key), key]

    def forget_pin(self, client: Any, pin: str) -> None:
        """Ends what the requests of a pin have left."""
        worker = self._pins.pop((client, pin), None)
        if worker is not None and worker.is_ready:
            worker.send({"forget": pin_name(client, pin)}, [])

    def forget_client(self, client: Any) -> None:
        """Ends what all requests of a client have left."""
        for owner, pin in list(self._pins):
            if owner is client:
                self.forget_pin(client, pin)

    def forget_worker(self, worker: WorkerProcess) -> None:
        """A process has ended, and what was pinned to it is lost."""
        self._pins = {key: each for key, each in self._pins.items() if each is not worker}

    def start(self, worker: WorkerProcess) -> None:
        """Starts a process in the background."""
        self._starting.add(worker)
        threading.Thread(target=self.start_now, args=(worker,), daemon=True).start()

    def start_now(self, worker: WorkerProcess) -> None:
        """Starts a process, at last after several attempts."""
        for attempt in range(_MOST_STARTS):
            try:
                worker.start()
                break
            except (RuntimeError, OSError) as error:
                print(error, file=sys.stderr, flush=True)
                time.sleep(2**attempt)
        self._starting.discard(worker)
        self._on_start(worker)

    def _pinned(self, device: str, request: Request) -> WorkerProcess | None:
        """The process that all requests of a pin go to: at first the one with the fewest."""
        key = (request.client, request.pin)
        if key not in self._pins:
            pinned = list(self._pins.values())
            candidates = [each for each in self._workers[device] if each.keeps or device != "cpu"]
            self._pins[key] = min(candidates, key=pinned.count)
        worker = self._pins[key]
        if not worker.is_ready and worker not in self._starting:
            self.start(worker)
        return worker if worker.has_room else None


def crash_of(worker: WorkerProcess, how: str, settings: Settings) -> Exception:
    """The error of a request that lost its process."""
    text = f"the process that did this request {how} and was replaced; no other request of the node is affected"
    if how == _NO_MEMORY_FOR_THREAD and worker.device == "cpu":
        most = settings.worker_memory
        return OutOfMemoryError(f"{text}. It had no memory left of the {most} bytes (worker_memory of the node)")
    return InternalError(f"{text}. The file may be damaged in a way that a codec does not survive")


def pin_name(client: Any, pin: str) -> str:
    """The name of a pin in the process that has it."""
    return f"{id(client)}:{pin}" if pin else ""


def _key(file: int) -> tuple[int, int]:
    """Names the file of a request, for the choice of a worker that has it open."""
    about = os.fstat(file)
    return about.st_dev, about.st_ino
