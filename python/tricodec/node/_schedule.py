# SPDX-License-Identifier: Apache-2.0
"""The scheduler: requests, the processes that decode, and the memory of the results."""

from __future__ import annotations

import contextlib
import itertools
import math
import sys
import threading
import time
from typing import Any

from tricodec.errors import DeviceError, InternalError, RefusedError
from tricodec.node import _channel
from tricodec.node._arena import Arena, Slab
from tricodec.node._memory import KEPT, Memory, described_slab, parts_of_gpu, take_file
from tricodec.node._queue import Queue, Request
from tricodec.node._staff import GPU_CAPACITY, Staff, crash_of, pin_name
from tricodec.node._start import Settings
from tricodec.node._task_run import MOST_UNREAD
from tricodec.node._workers import WorkerProcess

_RECENT_SECONDS = 1.0
_LOOK_SECONDS = 0.1
_LIKELY_BYTES = 4 << 20
"""After a result of no more, the next task of the client gets as much at once, and need not ask for it."""
_OUT_OF_MEMORY = ("OutOfMemoryError", "MemoryError")


class Scheduler:
    """All that a node does for its clients. Thread safety: safe."""

    def __init__(self, settings: Settings, gpus: list[int]) -> None:
        """Starts the processes of the GPUs, and one of the CPU; the others start when they are needed.

        Raises:
            RuntimeError: a process does not start.
        """
        self._settings = settings
        self.lock = threading.RLock()
        self._numbers = itertools.count(1)
        self._memory = Memory(settings)
        self._arenas, self.leases = self._memory.arenas, self._memory.leases
        self._queues: dict[str, Queue] = {}
        self._staff = Staff(settings, self._on_answer, self._on_start)
        self._last_seen: dict[Any, float] = {}
        self._likely: dict[Any, int | None] = {}  # by client: bytes of its last result of a task, if they were few
        self.counts = {"requests": 0, "failures": 0, "frames": 0, "shared_frames": 0, "restarts": 0}
        self.restarts = dict.fromkeys(("crash", "timeout", "cancel", "memory"), 0)
        host, cores = settings.host_memory, settings.num_workers
        kept = int(host * KEPT) // cores
        decoders = [self._staff.cpu_worker(kept) for _ in range(cores)]
        keepers = [self._staff.cpu_worker(0, keeps=True) for _ in range(cores)]
        self._add("cpu", host - kept * cores, [*decoders, *keepers])
        decoders[0].start()
        for gpu in gpus:
            results, kept, for_decoders = parts_of_gpu(settings)
            worker = self._staff.gpu_worker(gpu, kept, for_decoders)
            try:
                worker.start()
            except RuntimeError as error:
                if settings.gpus is not None:
                    raise RuntimeError(f"{error}; leave the GPU {gpu} out of gpus") from error
                print(f"{error}; this node does without the GPU {gpu}", file=sys.stderr, flush=True)
                continue
            self._add(worker.device, results, [worker])
        threading.Thread(target=self._watch, name="tricodec-deadlines", daemon=True).start()

    def _add(self, device: str, memory: int, workers: list[WorkerProcess]) -> None:
        def drop(slab: Slab) -> None:
            for worker in workers:
                if worker.is_ready:
                    worker.send({"drop": slab.number}, [])

        self._arenas[device] = Arena(device, memory, drop)
        self._queues[device] = Queue()
        self._staff.add(device, workers)

    @property
    def gpus(self) -> list[str]:
        """Names of the GPUs."""
        return [device for device in self._arenas if device != "cpu"]

    def submit(self, client: Any, number: int, message: dict[str, Any], files: list[int]) -> None:
        """Takes a request; its answer goes to ``client.answer``. The node then owns the files.

        Raises:
            DeviceError: the node has no such device.
        """
        with self.lock:
            asked = str(message["device"])
            pinned = self._staff.device_of_pin(client, str(message.get("pin") or ""))
            device = pinned or self._device_of(asked, files[0])
            request = Request(client, number, message, files, device, asked)
            self.counts["requests"] += 1
            self._last_seen[client] = time.monotonic()
            self._queues[request.device].add(request)
            self._dispatch(request.device)

    def _device_of(self, asked: str, file: int) -> str:
        kind, _, index = asked.partition(":")
        gpus = [f"cuda:{index}"] if index else self.gpus
        if kind == "cpu" or (kind == "auto" and not self.gpus):
            return "cpu"
        if kind not in ("auto", "cuda") or not gpus or gpus[0] not in self._arenas:
            raise DeviceError(
                f"device is '{asked}', and this node decodes on {', '.join(self._arenas)}; name one of these, or 'auto'"
            )
        load = {gpu: self._staff.num_running(gpu) + len(self._queues[gpu]) for gpu in gpus}
        return min(gpus, key=lambda gpu: (load[gpu] >= GPU_CAPACITY, not self._staff.has_open(gpu, file), load[gpu]))

    def cancel(self, client: Any, number: int) -> None:
        """Takes back a request. A task at work is ended, if need be with its process; a decoding is done in vain."""
        with self.lock:
            for queue in self._queues.values():
                for request in queue:
                    if request.client is client and request.number == number:
                        queue.remove(request, served=False)
                        self._fail(request, InternalError("the request was cancelled"))
                        return
            found = self._at_work(client, number)
            if found is not None and found.is_task:
                self._stop(found)

    def tell(self, client: Any, number: int, *, stop: bool) -> None:
        """A client has read a part of a task, and wants the next one, or no more."""
        with self.lock:
            request = self._at_work(client, number)
            if request is None:
                return
            request.num_unread -= 1
            if request not in self._memory.waiting:
                self._set_deadline(request)
            request.worker.send({"room": request.task, "stop": stop}, [])

    def forget(self, client: Any, pin: str) -> None:
        """Ends what the tasks of a pin have left."""
        with self.lock:
            self._staff.forget_pin(client, pin)

    def _at_work(self, client: Any, number: int) -> Request | None:
        return next((each for each in self._staff.requests_of(client) if each.number == number), None)

    def _stop(self, request: Request) -> None:
        """Ends a task at work. One that others share a process with, or that keeps something, ends between parts."""
        request.is_cancelled = True
        if request.worker.device == "cpu" and not request.pin:
            request.worker.kill("cancel")
        else:
            request.worker.send({"room": request.task, "stop": True}, [])

    def drop(self, client: Any) -> None:
        """Forgets a client that is gone: its requests and its leases."""
        with self.lock:
            self._last_seen.pop(client, None)
            self._likely.pop(client, None)
            for queue in self._queues.values():
                for request in queue.forget(client):
                    self._end(request, None)
            for request in self._staff.requests_of(client):
                request.client = None
                if request.is_task:
                    self._stop(request)
            for request in [each for each in self._memory.waiting if each.client is None]:
                self._memory.waiting.remove(request)
                if not request.is_task:
                    self._abandon(request, InternalError("its client is gone"))
            self._staff.forget_client(client)
            self._memory.forget(client)
            self._dispatch_all()

    def release(self, client: Any, number: int) -> None:
        """Takes back a lease of a client."""
        with self.lock:
            arena = self.leases.release(client, number)
            if arena is not None:
                self._dispatch(arena.device)

    def status(self) -> dict[str, Any]:
        """What there is and what happens, as JSON has it."""
        with self.lock:
            devices = {
                device: {
                    "memory_bytes": arena.total, "used_bytes": arena.used, "peak_bytes": arena.peak,
                    "leased_bytes": arena.leased,
                    "kept_bytes": sum(each.cache_bytes for each in self._staff.of(device)),
                    "waiting": len(self._queues[device]), "running": self._staff.num_running(device),
                    "processes": [each.process_id for each in self._staff.of(device) if each.is_ready],
                    "keepers": [each.process_id for each in self._staff.of(device) if each.is_ready and each.keeps],
                }
                for device, arena in self._arenas.items()
            }  # fmt: skip
            return {"devices": devices, "leases": len(self.leases), **self.counts, "why": dict(self.restarts)}

    def close(self) -> None:
        """Ends all processes, and takes the lock for good: a request that they had has no answer any more."""
        self.lock.acquire()
        for worker in self._staff:
            worker.end()

    def _dispatch_all(self) -> None:
        for device in self._queues:
            self._dispatch(device)

    def _dispatch(self, device: str) -> None:
        """Gives waiting requests to workers, as long as there are free ones and memory for what is known to need it."""
        queue, arena = self._queues[device], self._arenas[device]
        is_full, is_busy = self._serve_tasks(arena), False
        for request in queue.in_order() if len(queue) else ():
            if request.need is not None and (is_full or not self._memory.fits(request, arena)):
                # A smaller request does not overtake one that waits for memory of the device; those that only wait
                # for their own client's share are passed by.
                is_full = is_full or not arena.fits(request.need)
                continue
            if is_busy and not request.pin:
                continue
            worker = self._staff.worker_for(device, request)
            if worker is None:
                is_busy = is_busy or not request.pin
                continue
            queue.remove(request)
            if request.need is not None:
                try:
                    self._memory.take(request, arena)
                except MemoryError as error:
                    self._fail(request, error)
                    continue
            self._give(request, worker)

    def _serve_tasks(self, arena: Arena) -> bool:
        """Gives memory to tasks that wait for it with their workers; returns whether one still needs what is free."""
        for request in [each for each in self._memory.waiting if each.arena is arena]:
            if not arena.fits(request.need or 0):
                return True
            if self._memory.fits(request, arena):
                self._memory.waiting.remove(request)
                self._give_room(request, arena)
        return False

    def _give(self, request: Request, worker: WorkerProcess) -> None:
        request.task = next(self._numbers)
        request.worker = worker
        worker.running[request.task] = request
        self._set_deadline(request)
        self._staff.note(request, worker)
        recent = time.monotonic() - _RECENT_SECONDS
        num_clients = sum(seen > recent for seen in self._last_seen.values())
        num_users = max(1, num_clients, self._staff.num_running("cpu") + len(self._queues["cpu"]))
        num_threads = max(1, self._settings.num_workers // num_users) if worker.device == "cpu" else 0
        message = {
            **request.message, "task": request.task, "pin": pin_name(request.client, request.pin),
            "threads": request.message.get("threads") or num_threads,
        }  # fmt: skip
        files = list(request.files)
        if request.is_task and worker.device == "cpu":
            self._take_likely(request)
        if request.slab is not None:
            message["slab"], more = described_slab(request.slab)
            files += more
        worker.send(message, files)

    def _take_likely(self, request: Request) -> None:
        """Gives a task memory that most likely is enough for its result."""
        arena, request.need = self._arenas["cpu"], self._likely.get(request.client)
        if request.need is not None and self._may_take(request, arena):
            with contextlib.suppress(MemoryError):
                self._memory.take(request, arena)

    def _may_take(self, request: Request, arena: Arena) -> bool:
        """Whether a request that a worker does may have its memory now."""
        queue = self._queues[arena.device]
        return self._memory.fits(request, arena) and not self._memory.is_overtaking(request, arena, queue)

    def _set_deadline(self, request: Request) -> None:
        """A worker that waits for its client, or for memory, is not late."""
        seconds = request.message.get("timeout_s") or self._settings.timeout_s
        request.deadline = math.inf if request.num_unread >= MOST_UNREAD else time.monotonic() + seconds

    def _on_answer(self, worker: WorkerProcess, message: dict[str, Any] | None, files: list[int]) -> None:
        with self.lock:
            if message is None:
                self._on_end(worker)
                return
            task = message["task"]
            if "need" in message:
                self._on_need(worker.running[task], message, files)
                return
            if "part" in message:
                self._on_part(worker, worker.running[task], message["part"], files)
                return
            request = worker.running.pop(task)
            worker.cache_bytes = message["cache"]
            if request is not None:
                self._on_result(request, message, files)
            else:
                _channel.close(files)
            self._dispatch(worker.device)

    def _on_need(self, request: Request | None, message: dict[str, Any], files: list[int]) -> None:
        """Gives a request memory for its result, or lets it wait for that: a task with its worker, others without."""
        if request is None or (request.client is None and request.is_task):
            _channel.close(files)
            return  # a message that ends it is on its way
        take_file(request, files)
        if request.client is None:
            self._abandon(request, InternalError("its client is gone"))
            return
        if request.is_task:
            self._memory.give_back(request)  # what was likely to be enough
        elif request.slab is not None and request.arena is not None:
            request.on_gpu, request.slab = (request.arena, request.slab), None
        arena = self._arenas["cpu" if message.get("on_host") else request.worker.device]
        request.need, request.arena = int(message["need"]), arena
        request.arrived = time.monotonic() if request.is_task else request.arrived
        is_for_cpu = arena.device != "cpu" and request.asked.startswith("auto") and not request.is_task
        try:
            self._memory.expect_ever(request, arena)
        except RefusedError as error:
            if not is_for_cpu:
                self._abandon(request, error)
                return
        if self._may_take(request, arena):
            self._give_room(request, arena)
        elif request.is_task or request.on_gpu is not None:
            request.deadline = math.inf
            self._memory.waiting.append(request)
        else:
            request.worker.running[request.task] = None
            request.worker.send({"room": request.task, "slab": None}, [])
            request.worker = request.arena = None
            if is_for_cpu:
                request.device, request.need = "cpu", None
            self._queues[request.device].add(request)
            self._dispatch(request.device)

    def _give_room(self, request: Request, arena: Arena) -> None:
        """Gives memory to a request that a worker does."""
        try:
            self._memory.take(request, arena)
        except MemoryError as error:
            self._abandon(request, error)
            return
        assert request.slab is not None
        self._set_deadline(request)
        described, files = described_slab(request.slab)
        request.worker.send({"room": request.task, "slab": described}, files)

    def _abandon(self, request: Request, error: Exception) -> None:
        """Ends a request that a worker does, and that cannot have memory."""
        request.worker.running[request.task] = None
        request.worker.send({"room": request.task, "slab": None}, [])
        self._fail(request, error)

    def _on_part(
        self, worker: WorkerProcess, request: Request | None, answer: dict[str, Any], files: list[int]
    ) -> None:
        """Gives a client a part of the outcome of a task."""
        if request is None or request.client is None or request.slab is None:
            _channel.close(files)
            return
        sent, file = self._memory.hand_over(request, answer, files)
        request.has_parts = True
        request.num_unread += 1
        self._set_deadline(request)
        request.client.answer(request.number, {**sent, "more": True}, file)

    def _on_result(self, request: Request, message: dict[str, Any], files: list[int]) -> None:
        take_file(request, files)
        failure = message.get("failure")
        is_for_cpu = request.asked.startswith("auto") and request.device != "cpu"
        is_for_cpu = is_for_cpu and not request.has_parts and not request.pin
        if failure is not None:
            if is_for_cpu and failure["kind"] in ("UnsupportedError", "DeviceError", "RefusedError", *_OUT_OF_MEMORY):
                self._move_to_cpu(request)
                return
            if failure["kind"] in _OUT_OF_MEMORY and request.is_task and request.device == "cpu" and not request.pin:
                # What the process keeps for later may leave too little for the next request.
                request.worker.kill("memory")
                failure = {**failure, "why": "memory"}
            self._fail(request, failure)
            return
        if message.get("elsewhere"):
            if request.asked.startswith("auto"):
                self._move_to_cpu(request)
            else:
                self._fail(request, InternalError(f"{request.device} did not decode a request for it"))
            return
        answer: dict[str, Any] = {name: message[name] for name in message if name not in ("task", "cache")}
        if request.slab is None or request.client is None or "shape" not in message:
            self._end(request, answer)
            return
        self.counts["frames"] += message.get("num_frames", 0)
        self.counts["shared_frames"] += message.get("hits", 0)
        if request.is_task and request.arena is self._arenas["cpu"]:
            size = math.prod(message["shape"])
            self._likely[request.client] = size if size <= _LIKELY_BYTES else None
        self._end(request, *self._memory.hand_over(request, answer, files))

    def _move_to_cpu(self, request: Request) -> None:
        self._memory.give_back(request)
        if request.pin:
            self._staff.forget_pin(request.client, request.pin)
        request.need, request.worker, request.device = None, None, "cpu"
        self._queues["cpu"].add(request)
        self._dispatch("cpu")

    def _on_end(self, worker: WorkerProcess) -> None:
        """A worker has ended: its requests fail or run again, and it is started again."""
        worker.is_ready = False
        how = worker.how_it_ended()
        running, worker.running, worker.keys = worker.running, {}, []
        if worker.device != "cpu":
            self._arenas[worker.device].restart()
        self._staff.forget_worker(worker)
        now = time.monotonic()
        is_late = any(each is not None and each.deadline < now for each in running.values())
        why = worker.why or ("timeout" if is_late else "crash")
        self.counts["restarts"] += 1
        self.restarts[why] += 1
        for request in running.values():
            if request is None:
                continue
            is_whole = worker.device != "cpu" and not request.has_parts and not request.pin
            if request.client is None:
                self._end(request, None)
            elif request.is_cancelled:
                self._fail(request, InternalError("the request was cancelled"), why=why)
            elif request.deadline < now:
                seconds = request.message.get("timeout_s") or self._settings.timeout_s
                text = f"the request took longer than {seconds:g} s (timeout_s of the node) and was stopped"
                self._fail(request, TimeoutError(f"{text}; ask for fewer frames"), why=why)
            elif is_whole and request.asked.startswith("auto") and not is_late:
                self._move_to_cpu(request)
            elif is_whole and not request.is_again:
                self._memory.give_back(request)
                request.worker, request.is_again = None, True
                self._queues[request.device].add(request)
            else:
                self._fail(request, crash_of(worker, how, self._settings), why=why)
        self._staff.start(worker)

    def _on_start(self, worker: WorkerProcess) -> None:
        with self.lock:
            if not worker.is_ready:
                self._staff.forget_worker(worker)
            if not any(each.is_ready for each in self._staff.of(worker.device)):
                for request in self._queues[worker.device]:
                    self._queues[worker.device].remove(request)
                    self._fail(request, DeviceError(f"no process that decodes on {worker.device} starts any more"))
            self._dispatch(worker.device)

    def _watch(self) -> None:
        """Ends what is late."""
        while True:
            time.sleep(_LOOK_SECONDS)
            now = time.monotonic()
            with self.lock:
                for worker in self._staff:
                    if any(each is not None and each.deadline < now for each in worker.running.values()):
                        worker.kill()
                for device, queue in self._queues.items():
                    for request in queue:
                        if request.need is not None and request.arrived + self._settings.wait_s < now:
                            queue.remove(request)
                            self._fail(request, TimeoutError(self._memory.why_it_waits(request, self._arenas[device])))
                for request in list(self._memory.waiting):
                    if request.arena is not None and request.arrived + self._settings.wait_s < now:
                        self._abandon(request, TimeoutError(self._memory.why_it_waits(request, request.arena)))
                is_needed = any(each.need is not None for queue in self._queues.values() for each in queue)
                if self.leases.drop_lost_tokens(is_needed=is_needed or bool(self._memory.waiting)):
                    self._dispatch_all()

    def _fail(self, request: Request, error: Exception | dict[str, Any], **why: str) -> None:
        """Ends a request with an error, which a worker may have described; `why` if its process ends too."""
        self.counts["failures"] += 1
        described = error if isinstance(error, dict) else _channel.failure_of(error)
        self._end(request, {"failure": {**described, **why}})

    def _end(self, request: Request, answer: dict[str, Any] | None, files: list[int] | None = None) -> None:
        self._memory.give_back(request)
        _channel.close(request.files)
        request.files = []
        if answer is not None and request.client is not None:
            request.client.answer(request.number, answer, files or [])
