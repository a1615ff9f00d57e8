# SPDX-License-Identifier: Apache-2.0
"""What the model counts; Triton shows it at /metrics beside its own numbers."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

_COUNTERS = {
    "requests_total": "Requests answered, by outcome: ok, or the code of the error",
    "worker_restarts_total": "Worker processes replaced, by reason: crash, timeout, cancel, memory",
    "frames_total": "Frames given out, or encoded",
    "input_bytes_total": "Bytes of media and frames received",
    "output_bytes_total": "Bytes of frames and files given out",
    "request_seconds": "Time from a request's arrival in the model to its answer",
}
_SECONDS = "request_seconds"
_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0]
_PUBLISH_SECONDS = 0.2
_PAUSE_SECONDS = 0.002


class Metrics:
    """Counters of one model, given to Triton a fifth of a second late by one thread.

    The stub of Triton 24.10 frees the shared memory of an update while a thread of the server still waits for a lock
    inside it. If the memory is used again before that thread wakes, the lock holds other bytes and the server ends
    (boost's lock_exception, std::bad_alloc). So few updates are sent, one at a time, each with a pause after it.

    Thread safety: safe.
    """

    def __init__(self, pb_utils: Any, model: str, version: str, others: Mapping[str, str]) -> None:
        """Registers the counters of a model, and `others` that only it has: descriptions by name."""
        family = pb_utils.MetricFamily
        # The process is a label. If all labels of two loads of a model are equal, Triton shares one counter between
        # them and frees it with the first: unloading a model while it was loaded again corrupted the server's memory.
        self._labels = {"model": model, "version": version, "process": str(os.getpid())}
        # Triton drops what no Python object holds.
        self._families: dict[str, Any] = {}
        for name, text in {**_COUNTERS, **others}.items():
            kind = family.HISTOGRAM if name == _SECONDS else family.COUNTER
            self._families[name] = family(name=f"tricodec_{name}", description=text, kind=kind)
            time.sleep(_PAUSE_SECONDS)
        self._metrics: dict[tuple[str, str, str], Any] = {}
        self._lock = threading.Lock()  # of what is not published yet
        self._changed = threading.Event()
        self._amounts: dict[tuple[str, str, str], int] = defaultdict(int)
        self._seconds: list[float] = []
        for reason in ("crash", "timeout", "cancel", "memory"):
            self.count("worker_restarts_total", 0, reason=reason)
        self._publish()
        self._closing = threading.Event()
        self._publisher = threading.Thread(target=self._run, name="tricodec-metrics", daemon=True)
        self._publisher.start()

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        """Adds to one counter, which has at most one label of its own."""
        label, value = next(iter(labels.items()), ("", ""))
        with self._lock:
            self._amounts[name, label, value] += amount
        self._changed.set()

    def answered(self, outcome: str, seconds: float, num_frames: int, bytes_in: int, bytes_out: int) -> None:
        """Counts a request that was answered."""
        with self._lock:
            self._amounts["requests_total", "outcome", outcome] += 1
            self._amounts["frames_total", "", ""] += num_frames
            self._amounts["input_bytes_total", "", ""] += bytes_in
            self._amounts["output_bytes_total", "", ""] += bytes_out
            self._seconds.append(seconds)
        self._changed.set()

    def close(self) -> None:
        """Publishes the rest and releases all: a stub that ends while it holds metrics ends with SIGSEGV."""
        self._closing.set()
        self._changed.set()
        self._publisher.join()
        for held in (self._metrics, self._families):
            while held:
                held.popitem()
                time.sleep(_PAUSE_SECONDS)

    def _run(self) -> None:
        while not self._closing.is_set():
            self._changed.wait()
            self._closing.wait(_PUBLISH_SECONDS)
            self._changed.clear()
            self._publish()

    def _publish(self) -> None:
        with self._lock:
            amounts, self._amounts = self._amounts, defaultdict(int)
            seconds, self._seconds = self._seconds, []
        for key, amount in amounts.items():
            self._metric(*key).increment(amount)
            time.sleep(_PAUSE_SECONDS)
        pause = min(_PAUSE_SECONDS, _PUBLISH_SECONDS / max(1, len(seconds)))
        for each in seconds:
            self._metric(_SECONDS, "", "").observe(each)
            time.sleep(pause)

    def _metric(self, name: str, label: str, value: str) -> Any:
        key = (name, label, value)
        if key not in self._metrics:
            labels = {**self._labels, label: value} if label else self._labels
            buckets = {"buckets": _BUCKETS} if name == _SECONDS else {}
            self._metrics[key] = self._families[name].Metric(labels=labels, **buckets)
            time.sleep(_PAUSE_SECONDS)
        return self._metrics[key]
