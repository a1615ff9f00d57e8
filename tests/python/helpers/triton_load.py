# SPDX-License-Identifier: Apache-2.0
"""A server under load: good and hostile requests at four times what it can do, while processes die and memory fills.

python triton_load.py MINUTES SECONDS   prints a report in JSON; SECONDS is the time between two faults. It wants a
mount namespace of its own, because it replaces /dev/shm and takes a small disk for temporary files:
    unshare --map-root-user --mount python triton_load.py 10 2
"""

from __future__ import annotations

import collections
import itertools
import json
import logging
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from load_faults import FAULTS, Site, many_pictures
from load_requests import Request, good_requests, hostile_requests
from tricodec.serve import Server
from triton_testing import descendants

SATURATION = 4
"""Requests at a time for each worker."""
SHARED_MEMORY = "1g"
DISK = "64m"
MODELS = ("video_decode", "video_stream", "compress", "decompress")
TIMEOUT_MS = 6000
_SAMPLE_SECONDS = 1.0
_HANG_SECONDS = 15.0
_END_SECONDS = 10.0
_REQUEST_SECONDS = 120.0
"""A good request without an answer for so long counts as lost."""


class Load:
    """Threads that send requests without a pause, and what became of them."""

    def __init__(self, clients: list[Any], num_threads: int) -> None:
        self.answered: collections.Counter[str] = collections.Counter()
        self.refused: collections.Counter[str] = collections.Counter()
        self.lost: list[dict[str, str]] = []
        self.seconds: list[float] = []
        self._requests = [*good_requests(), *hostile_requests()]
        self._clients = clients
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._send, args=(number,)) for number in range(num_threads)]

    def warm_up(self) -> None:
        """Each request once by each client, so that memory has its size."""
        many_pictures()  # not while threads compete for the interpreter
        for request, client in itertools.product(self._requests, self._clients):
            request.run(client)

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _send(self, seed: int) -> None:
        rng = random.Random(seed)
        weights = [request.weight for request in self._requests]
        while not self._ended.is_set():
            self._send_one(rng.choices(self._requests, weights)[0], rng.choice(self._clients))

    def _send_one(self, request: Request, client: Any) -> None:
        began = time.monotonic()
        try:
            request.run(client)
        except Exception as error:  # judged by the test
            with self._lock:
                self.lost.append({"request": request.name, "error": f"{type(error).__name__}: {error}"[:400]})
            return
        with self._lock:
            (self.answered if request.refusal is None else self.refused)[request.name] += 1
            self.seconds.append(time.monotonic() - began)


class Memory:
    """Memory, open files and shared memory of a server over time; a thread of its own."""

    def __init__(self, server: Any) -> None:
        self.samples: list[dict[str, float]] = []
        self._server = server
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(_SAMPLE_SECONDS):
            pid = self._server.pid
            if pid is not None and (open_files := _num_open_files(pid)):
                private_kb = sum(map(_private_kb, [pid, *descendants(pid)]))
                self.samples.append(
                    {"private_mb": private_kb / 1024, "shared_memory_mb": _shared_memory_mb(), "open_files": open_files}
                )

    def quarter(self, name: str, number: int) -> float:
        """The median of the first (0) to the last (3) quarter of the time."""
        values = [sample[name] for sample in self.samples]
        length = max(1, len(values) // 4)
        return statistics.median(values[number * length : (number + 1) * length] or values[-length:])


def _started(pid: int) -> str:
    """When a process started: the system gives the numbers of processes again. Empty for one that has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def _processes(server: Any) -> set[tuple[int, str]]:
    pid = server.pid
    return set() if pid is None else {(each, _started(each)) for each in (pid, *descendants(pid))}


def _wait_until_ended(family: set[tuple[int, str]]) -> None:
    """Waits as long as processes may take to end that were told to."""
    deadline = time.monotonic() + _END_SECONDS
    while time.monotonic() < deadline and any(start and _started(pid) == start for pid, start in family):
        time.sleep(0.1)


def _private_kb(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_"))


def _num_open_files(pid: int) -> int:
    try:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:
        return 0


def _shared_memory_mb() -> float:
    system = os.statvfs("/dev/shm")
    return (system.f_blocks - system.f_bfree) * system.f_frsize / 2**20


class Keeper(logging.Handler):
    """Starts a server again that crashes, as `tricodec serve` does, and keeps what it logs."""

    def __init__(self, server: Any) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.num_crashes = 0
        self._server = server
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        print(f"          {record.getMessage()}", file=sys.stderr, flush=True)

    def __enter__(self) -> Keeper:
        logging.getLogger("tricodec.serve").addHandler(self)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()  # its thread ends with the server

    def _keep(self) -> None:
        while True:
            self._server.wait(_HANG_SECONDS)
            if self._ended.is_set():
                return
            self.num_crashes += 1
            print("          tritonserver crashed or hung", file=sys.stderr, flush=True)
            self._server.restart()


def run(minutes: float, fault_seconds: float) -> dict[str, Any]:
    """Loads a server for so long, with a fault after every `fault_seconds`; each fault at least once."""
    from tricodec.client import Client

    limits = {"timeout_ms": str(TIMEOUT_MS)}
    lean = {**limits, "max_worker_bytes": str(240 + 16 * (os.cpu_count() or 1) << 20)}
    server = Server(models=MODELS, parameters={"video_decode": lean, "video_stream": limits}, stop_timeout_seconds=5)
    faults: collections.Counter[str] = collections.Counter()
    family: set[tuple[int, str]] = set()

    def client(shared_memory: Any = "auto") -> Any:
        return Client(server.grpc_url, retries=20, timeout_seconds=_REQUEST_SECONDS, shared_memory=shared_memory)

    with server, client() as automatic, client(shared_memory=False) as plain:
        load = Load([automatic, plain], SATURATION * len(os.sched_getaffinity(0)))
        load.warm_up()
        began = time.monotonic()
        with Keeper(server) as keeper, Memory(server) as memory, load:
            for name in itertools.cycle(FAULTS):
                if len(faults) == len(FAULTS) and time.monotonic() > began + 60 * minutes:
                    break
                time.sleep(fault_seconds)
                print(f"{time.monotonic() - began:7.1f} s: {name}", file=sys.stderr, flush=True)
                FAULTS[name][0](Site(server, client))
                faults[name] += 1
                family |= _processes(server)
            time.sleep(fault_seconds)
        seconds = time.monotonic() - began
        family |= _processes(server)
    _wait_until_ended(family)
    latencies = sorted(load.seconds)
    return {
        "seconds": seconds,
        "requests_at_a_time": SATURATION * len(os.sched_getaffinity(0)),
        "answered": load.answered,
        "refused": load.refused,
        "faults": faults,
        "lost": load.lost,
        "reloads": keeper.lines,
        "crashes_of_triton": keeper.num_crashes,
        "p50_ms": 1000 * latencies[len(latencies) // 2],
        "p99_ms": 1000 * latencies[len(latencies) * 99 // 100],
        "memory": {name: [memory.quarter(name, number) for number in range(4)] for name in memory.samples[0]},
        "left": {
            "processes": [pid for pid, start in family if start and _started(pid) == start],
            "/dev/shm": sorted(path.name for path in Path("/dev/shm").iterdir()),
            "folders": sorted(path.name for path in Path(tempfile.gettempdir()).glob("tricodec-serve-*")),
        },
    }


def main() -> None:
    """Takes its arguments from the command line."""
    minutes, fault_seconds = float(sys.argv[1]), float(sys.argv[2])
    with tempfile.TemporaryDirectory() as disk:
        for place, size in (("/dev/shm", SHARED_MEMORY), (disk, DISK)):
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], check=True)
        os.environ["TMPDIR"] = tempfile.tempdir = disk
        print(json.dumps(run(minutes, fault_seconds)))
        subprocess.run(["umount", "--lazy", disk], check=True)


if __name__ == "__main__":
    main()
