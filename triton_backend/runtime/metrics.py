# SPDX-License-Identifier: Apache-2.0
"""What the model counts; Triton shows it at /metrics beside its own numbers."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any

_COUNTERS = {
    "requests_total": "Requests answered, by outcome: ok, or the code of the error",
    "worker_restarts_total": "Worker processes replaced, by reason: crash, timeout, cancel, memory",
    "frames_total": "Frames given out, or encoded",
    "input_bytes_total": "Bytes of media and frames received",
    "output_bytes_total": "Bytes of frames and files given out",
}
_SECONDS = "request_seconds"
_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0]


class Metrics:
    """Counters of one model.

    Thread safety: safe, by a lock: two updates at a time by one stub of Triton 24.10 bring the whole server down
    (std::bad_alloc or boost's lock_exception in the Python backend, within a hundred requests).
    """

    def __init__(self, pb_utils: Any, model: str, version: str, others: Mapping[str, str]) -> None:
        """Registers the counters.

        Args:
            pb_utils: the module triton_python_backend_utils.
            model: its name, a label of all counters.
            version: of the model, the other label.
            others: counters that only this model has: descriptions by name.
        """
        family = pb_utils.MetricFamily
        self._lock = threading.Lock()
        # The process is a label. If all labels of two loads of a model are equal, Triton shares one counter between
        # them and frees it with the first: unloading a model while it was loaded again corrupted the server's memory.
        self._labels = {"model": model, "version": version, "process": str(os.getpid())}
        # Triton drops what no Python object holds.
        self._families = {
            name: family(name=f"tricodec_{name}", description=text, kind=family.COUNTER)
            for name, text in {**_COUNTERS, **others}.items()
        }
        self._families[_SECONDS] = family(
            name=f"tricodec_{_SECONDS}",
            description="Time from a request's arrival in the model to its answer",
            kind=family.HISTOGRAM,
        )
        self._metrics: dict[tuple[str, str], Any] = {
            (_SECONDS, ""): self._families[_SECONDS].Metric(labels=self._labels, buckets=_BUCKETS)
        }
        for reason in ("crash", "timeout", "cancel", "memory"):
            self._add("worker_restarts_total", 0, reason=reason)

    def restarted(self, reason: str) -> None:
        """Counts a worker that was replaced."""
        self.count("worker_restarts_total", reason=reason)

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        """Adds to one counter, which has at most one label of its own."""
        with self._lock:
            if self._families:
                self._add(name, amount, **labels)

    def answered(self, outcome: str, seconds: float, num_frames: int, bytes_in: int, bytes_out: int) -> None:
        """Counts a request that was answered."""
        with self._lock:
            self._add("requests_total", 1, outcome=outcome)
            self._add("frames_total", num_frames)
            self._add("input_bytes_total", bytes_in)
            self._add("output_bytes_total", bytes_out)
            self._metrics[_SECONDS, ""].observe(seconds)

    def close(self) -> None:
        """Releases all of them: a stub that ends while it holds metrics ends with a segmentation fault."""
        with self._lock:
            self._metrics.clear()
            self._families.clear()

    def _add(self, name: str, amount: int, **labels: str) -> None:
        key = (name, next(iter(labels.values()), ""))
        if key not in self._metrics:
            self._metrics[key] = self._families[name].Metric(labels={**self._labels, **labels})
        self._metrics[key].increment(amount)
