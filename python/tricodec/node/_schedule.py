# SPDX-License-Identifier: Apache-2.0
"""The scheduler: requests, the processes that decode, and the memory of the results."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from typing import Any

from tricodec.errors import DeviceError, InternalError, RefusedError
from tricodec.node import _channel
from tricodec.node._arena import Arena, Leases, Slab
from tricodec.node._queue import Queue, Request
from tricodec.node._start import Settings
from tricodec.node._workers import WorkerProcess

_MIB = 1 << 20
_GPU_CAPACITY = 16
"""Requests at a time on a GPU. The core shares its engines among them."""
_GPU_OVERHEAD = 1280 * _MIB
"""Of a GPU's memory: the context, and the surfaces of the decoders at work."""
_KEPT = 0.5
"""The part of the memory for results and kept frames that the kept frames may have."""
_MOST_KEYS = 32
_RECENT_SECONDS = 1.0
_LOOK_SECONDS = 0.1
_MOST_STARTS = 5


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
        self._arenas: dict[str, Arena] = {}
        self._queues: dict[str, Queue] = {}
        self._workers: dict[str, list[WorkerProcess]] = {}
        self._starting: set[WorkerProcess] = set()
        self._last_seen: dict[Any, float] = {}
        self.leases = Leases()
        self.counts = {"requests": 0, "failures": 0, "frames": 0, "shared_frames": 0, "restarts": 0}
        host, cores = settings.host_memory, settings.num_workers
        kept = int(host * _KEPT) // cores
        self._add("cpu", host - kept * cores, [self._worker("cpu", 1, kept) for _ in range(cores)])
        self._workers["cpu"][0].start()
        for gpu in gpus:
            memory = settings.gpu_memory - _GPU_OVERHEAD
            worker = self._worker(f"cuda:{gpu}", _GPU_CAPACITY, int(memory * _KEPT))
            try:
                worker.start()
            except RuntimeError as error:
                print(f"{error}; this node does without the GPU {gpu}", file=sys.stderr, flush=True)
                continue
            self._add(worker.device, memory - int(memory * _KEPT), [worker])
        threading.Thread(target=self._watch, name="tricodec-deadlines", daemon=True).start()

    def _worker(self, device: str, capacity: int, cache_bytes: int) -> WorkerProcess:
        limit = self._settings.worker_memory + cache_bytes if device == "cpu" else 0
        limits = {} if device == "cpu" else {"max_device_buffered_bytes": max(64 * _MIB, _GPU_OVERHEAD // 4)}
        config = {"cache_bytes": cache_bytes, "worker_bytes": limit, "limits": limits}
        return WorkerProcess(device, capacity, config, self._on_answer)

    def _add(self, device: str, memory: int, workers: list[WorkerProcess]) -> None:
        def drop(slab: Slab) -> None:
            if device != "cpu" and workers[0].is_ready:
                workers[0].send({"drop": slab.number}, [])

        self._arenas[device] = Arena(device, memory, drop)
        self._queues[device] = Queue()
        self._workers[device] = workers

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
            request = Request(client, number, message, files, self._device_of(asked, files[0]), asked)
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
        key = _key(file)
        load = {gpu: len(self._workers[gpu][0].running) + len(self._queues[gpu]) for gpu in gpus}
        return min(gpus, key=lambda gpu: (load[gpu] >= _GPU_CAPACITY, key not in self._workers[gpu][0].keys, load[gpu]))

    def cancel(self, client: Any, number: int) -> None:
        """Takes back a request that waits. One at work is done, and its result dropped."""
        with self.lock:
            for queue in self._queues.values():
                for request in queue:
                    if request.client is client and request.number == number:
                        queue.remove(request, served=False)
                        self._end(request, None)

    def drop(self, client: Any) -> None:
        """Forgets a client that is gone: its requests and its leases."""
        with self.lock:
            self._last_seen.pop(client, None)
            for device, queue in self._queues.items():
                for request in queue.forget(client):
                    self._end(request, None)
                for worker in self._workers[device]:
                    for request in worker.running.values():
                        if request is not None and request.client is client:
                            request.client = None
            self.leases.drop(client)
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
                    "leased_bytes": arena.leased, "kept_bytes": sum(each.cache_bytes for each in self._workers[device]),
                    "waiting": len(self._queues[device]),
                    "running": sum(len(each.running) for each in self._workers[device]),
                    "processes": [each.process_id for each in self._workers[device] if each.is_ready],
                }
                for device, arena in self._arenas.items()
            }  # fmt: skip
            return {"devices": devices, "leases": len(self.leases), **self.counts}

    def close(self) -> None:
        """Ends all processes, and takes the lock for good: a request that they had has no answer any more."""
        self.lock.acquire()
        for worker in itertools.chain(*self._workers.values()):
            worker.end()

    def _dispatch_all(self) -> None:
        for device in self._queues:
            self._dispatch(device)

    def _dispatch(self, device: str) -> None:
        """Gives waiting requests to workers, as long as there are free ones and memory for what is known to need it."""
        queue, arena = self._queues[device], self._arenas[device]
        if not len(queue):
            return
        is_full = False
        for request in queue.in_order():
            if request.need is not None and (is_full or not self._fits(request, arena)):
                # A smaller request does not overtake one that waits for memory of the device; those that only wait
                # for their own client's share are passed by.
                is_full = is_full or not arena.fits(request.need)
                continue
            worker = self._free_worker(device, request)
            if worker is None:
                return
            queue.remove(request)
            if request.need is not None:
                try:
                    request.slab = arena.take(request.need)
                except MemoryError as error:
                    self._fail(request, error)
                    continue
            self._give(request, worker)

    def _fits(self, request: Request, arena: Arena) -> bool:
        assert request.need is not None
        share = self._settings.client_share * arena.total
        return (
            arena.fits(request.need) and self.leases.held(request.client, arena) + arena.rounded(request.need) <= share
        )

    def _free_worker(self, device: str, request: Request) -> WorkerProcess | None:
        """A worker with room, at best one that has the file open; starts another one if all are busy."""
        free = [worker for worker in self._workers[device] if worker.has_room]
        if free:
            key = _key(request.files[0])
            return max(free, key=lambda each: (key in each.keys, bool(each.keys)))
        idle = [worker for worker in self._workers[device] if not worker.is_ready and worker not in self._starting]
        if idle:
            self._start(idle[0])
        return None

    def _give(self, request: Request, worker: WorkerProcess) -> None:
        task = next(self._numbers)
        request.worker, request.deadline = worker, time.monotonic() + self._settings.timeout_s
        worker.running[task] = request
        key = _key(request.files[0])
        worker.keys = [*(each for each in worker.keys[1 - _MOST_KEYS :] if each != key), key]
        recent = time.monotonic() - _RECENT_SECONDS
        num_clients = sum(seen > recent for seen in self._last_seen.values())
        message = {
            **request.message,
            "task": task,
            "threads": max(1, self._settings.num_workers // max(1, num_clients)),
        }
        files = list(request.files)
        if request.slab is not None:
            message["slab"], more = _described(request.slab)
            files += more
        worker.send(message, files)

    def _on_answer(self, worker: WorkerProcess, message: dict[str, Any] | None, files: list[int]) -> None:
        with self.lock:
            if message is None:
                self._on_end(worker)
                return
            task = message["task"]
            if "need" in message:
                self._on_need(worker, task, int(message["need"]))
                return
            request = worker.running.pop(task)
            worker.cache_bytes = message["cache"]
            if request is not None:
                self._on_result(request, message, files)
            self._dispatch(worker.device)

    def _on_need(self, worker: WorkerProcess, task: int, need: int) -> None:
        """Gives a request memory for its result, or lets it wait for that without a worker."""
        request, arena = worker.running[task], self._arenas[worker.device]
        request.need = need
        most = int(self._settings.client_share * arena.total)
        failure: Exception | None = None
        if arena.rounded(need) > most:
            failure = RefusedError(
                f"the frames take {need} bytes, and this node gives a client at most {most} bytes of {worker.device}; "
                "ask for fewer frames or a smaller size, or start the node with more memory"
            )
        elif request.client is not None and self._fits(request, arena) and not self._is_overtaking(request, arena):
            try:
                request.slab = arena.take(need)
                described, files = _described(request.slab)
                worker.send({"room": task, "slab": described}, files)
                return
            except MemoryError as error:
                failure = error
        worker.send({"room": task, "slab": None}, [])
        worker.running[task] = None
        if failure is not None or request.client is None:
            self._fail(request, failure) if failure is not None else self._end(request, None)
            return
        request.worker = None
        if request.asked.startswith("auto") and worker.device != "cpu":  # the CPU has time and memory of its own
            request.device, request.need = "cpu", None
        self._queues[request.device].add(request)
        self._dispatch(request.device)

    def _is_overtaking(self, request: Request, arena: Arena) -> bool:
        """Whether another request waits for memory of the device that this one would take first."""
        waiting = [each for each in self._queues[arena.device] if each.need is not None]
        return any(not arena.fits(each.need) and each.priority <= request.priority for each in waiting)

    def _on_result(self, request: Request, message: dict[str, Any], files: list[int]) -> None:
        arena = self._arenas[request.device]
        if request.slab is not None and files:
            request.slab.file, request.slab.is_new = files[0], False
        if "failure" in message:
            kind = message["failure"]["kind"]
            is_for_cpu = request.asked.startswith("auto") and request.device != "cpu"
            if is_for_cpu and kind in ("UnsupportedError", "DeviceError", "OutOfMemoryError"):
                self._move_to_cpu(request)
            else:
                self._fail(request, _channel.error_of(message["failure"]))
            return
        if message.get("elsewhere"):
            if request.asked.startswith("auto"):
                self._move_to_cpu(request)
            else:
                self._fail(request, InternalError(f"{request.device} did not decode a request for it"))
            return
        answer: dict[str, Any] = {name: message[name] for name in message if name not in ("task", "cache")}
        if request.slab is not None:
            slab, request.slab = request.slab, None
            if request.client is None:
                arena.give_back(slab)
            else:
                slab.event = message["event"]
                answer.update(self.leases.add(request.client, arena, slab, answer))
            self.counts["frames"] += message["num_frames"]
            self.counts["shared_frames"] += message["hits"]
            self._end(request, answer, [slab.file])
        else:
            self._end(request, answer)

    def _move_to_cpu(self, request: Request) -> None:
        if request.slab is not None:
            self._arenas[request.device].give_back(request.slab)
        request.slab, request.need, request.worker, request.device = None, None, None, "cpu"
        self._queues["cpu"].add(request)
        self._dispatch("cpu")

    def _on_end(self, worker: WorkerProcess) -> None:
        """A worker has ended: its requests fail or run again, and it is started again."""
        worker.is_ready = False
        how = worker.how_it_ended()
        running, worker.running, worker.keys = worker.running, {}, []
        self._arenas[worker.device].restart() if worker.device != "cpu" else None
        self.counts["restarts"] += 1
        worker.restarts += 1
        now = time.monotonic()
        is_late = any(each is not None and each.deadline < now for each in running.values())
        for request in running.values():
            if request is None or request.client is None:
                if request is not None:
                    self._end(request, None)
            elif request.deadline < now:
                text = (
                    f"decoding took longer than {self._settings.timeout_s:g} s (timeout_s of the node) and was stopped"
                )
                self._fail(request, TimeoutError(f"{text}; ask for fewer frames"))
            elif worker.device != "cpu" and request.asked.startswith("auto") and not is_late:
                self._move_to_cpu(request)
            elif worker.device != "cpu" and not request.is_again:
                self._arenas[worker.device].give_back(request.slab) if request.slab is not None else None
                request.slab, request.worker, request.is_again = None, None, True
                self._queues[request.device].add(request)
            else:
                text = f"the process that decoded this request {how}; no other request of the node is affected"
                self._fail(
                    request, InternalError(f"{text}. The file may be damaged in a way that a codec does not survive")
                )
        self._start(worker)

    def _start(self, worker: WorkerProcess) -> None:
        self._starting.add(worker)
        threading.Thread(target=self._start_now, args=(worker,), daemon=True).start()

    def _start_now(self, worker: WorkerProcess) -> None:
        for attempt in range(_MOST_STARTS):
            try:
                worker.start()
                break
            except (RuntimeError, OSError) as error:
                print(error, file=sys.stderr, flush=True)
                time.sleep(2**attempt)
        with self.lock:
            self._starting.discard(worker)
            if not worker.is_ready and not any(each.is_ready for each in self._workers[worker.device]):
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
                for worker in itertools.chain(*self._workers.values()):
                    if any(each is not None and each.deadline < now for each in worker.running.values()):
                        worker.kill()
                for device, queue in self._queues.items():
                    for request in queue:
                        if request.need is not None and request.arrived + self._settings.wait_s < now:
                            queue.remove(request)
                            self._fail(request, TimeoutError(self._why_it_waits(request, self._arenas[device])))
                if self.leases.drop_lost_tokens():
                    self._dispatch_all()

    def _why_it_waits(self, request: Request, arena: Arena) -> str:
        held = self.leases.held(request.client, arena)
        return (
            f"the frames take {request.need} bytes, and for {self._settings.wait_s:g} s there was no room on "
            f"{arena.device}: arrays hold {arena.leased} of {arena.total} bytes, those of this client {held} of "
            f"{int(self._settings.client_share * arena.total)}; drop arrays that are not needed any more, or give the "
            "node more memory"
        )

    def _fail(self, request: Request, error: Exception) -> None:
        self.counts["failures"] += 1
        if request.slab is not None:
            self._arenas[request.device].give_back(request.slab)
            request.slab = None
        self._end(request, {"failure": _channel.failure_of(error)})

    @staticmethod
    def _end(request: Request, answer: dict[str, Any] | None, files: list[int] | None = None) -> None:
        _channel.close(request.files)
        request.files = []
        if answer is not None and request.client is not None:
            request.client.answer(request.number, answer, files or [])


def _described(slab: Slab) -> tuple[dict[str, Any], list[int]]:
    """What a worker needs of a slab, and the file that goes with it."""
    described = {"number": slab.number, "size": slab.size, "new": slab.is_new}
    return described, [slab.file] if slab.file >= 0 else []


def _key(file: int) -> tuple[int, int]:
    """Names the file of a request, for the choice of a worker that has it open."""
    about = os.fstat(file)
    return about.st_dev, about.st_ino
