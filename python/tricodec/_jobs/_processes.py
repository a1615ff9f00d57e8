# SPDX-License-Identifier: Apache-2.0
"""Worker processes on one machine. Each does one task at a time; one that dies costs its task a try."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from tricodec._jobs._task import Task, new_row

_END_SECONDS = 10.0
_FIRST_WAIT_SECONDS = 0.5

#: Is called with (task, frames) while tasks run.
FramesReport = Callable[[Task, int], object]


def run_tasks(
    tasks: list[Task], *, workers: int, retries: int, timeout_s: float, on_frames: FramesReport
) -> Generator[dict[str, Any], None, None]:
    """The rows of the manifest, as tasks end. Closing the iterator ends the processes; no output is half-written.

    Args:
        tasks: in the order in which they begin.
        workers: processes.
        retries: further tries of a task that failed and may succeed.
        timeout_s: of a try; 0 is none.
        on_frames: is called from other threads.
    """
    waiting: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
    rows: queue.SimpleQueue[dict[str, Any] | BaseException] = queue.SimpleQueue()
    stopping = threading.Event()
    for task in tasks:
        waiting.put(task)
    pool = [_Worker(on_frames, timeout_s, stopping) for _ in range(min(workers, len(tasks)))]

    def serve(worker: _Worker) -> None:
        try:
            while (task := waiting.get()) is not None and not stopping.is_set():
                rows.put(_with_retries(worker, task, retries, stopping))
        except BaseException as error:
            rows.put(error)

    threads = [threading.Thread(target=serve, args=(worker,), name="tricodec-batch") for worker in pool]
    for thread in threads:
        waiting.put(None)
        thread.start()
    try:
        for _ in tasks:
            row = rows.get()
            if isinstance(row, BaseException):
                raise row
            yield row
    finally:
        stopping.set()
        for worker in pool:
            worker.stop()
        for thread in threads:
            thread.join()
        for worker in pool:
            worker.close()


@functools.cache
def _worker_of(_process: int, timeout_s: float) -> _Worker:
    worker = _Worker(lambda _task, _frames: None, timeout_s, threading.Event())
    atexit.register(worker.close)
    return worker


def perform_here(task: Task, *, retries: int, timeout_s: float) -> dict[str, Any]:
    """The row of a task, by a child of this process that is kept for later tasks.

    Args:
        task: what is to be done.
        retries, timeout_s: as `run_tasks` takes them.

    Thread safety: one thread at a time.
    """
    return _with_retries(_worker_of(os.getpid(), timeout_s), task, retries, threading.Event())


def _with_retries(worker: _Worker, task: Task, retries: int, stopping: threading.Event) -> dict[str, Any]:
    for tried in range(1, retries + 2):
        row = worker.run(task)
        row["num_tries"] = tried
        if row["status"] != "failed" or tried > retries or stopping.wait(_FIRST_WAIT_SECONDS * 2 ** (tried - 1)):
            break
    return row


class _Worker:
    """A process, started when the first task comes, and again after it died."""

    def __init__(self, on_frames: FramesReport, timeout_s: float, stopping: threading.Event) -> None:
        self._on_frames = on_frames
        self._timeout = timeout_s
        self._stopping = stopping
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def run(self, task: Task) -> dict[str, Any]:
        """The row of a task."""
        process = self._started()
        if process is None or process.stdin is None or process.stdout is None:
            return {**new_row(task), "error": "the job was ended"}
        late = threading.Event()

        def end() -> None:
            late.set()
            _end(process)

        timer = threading.Timer(self._timeout, end) if self._timeout > 0 else None
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            with contextlib.suppress(OSError):  # it died: what it says on the way is nothing
                process.stdin.write(json.dumps(task.to_dict()) + "\n")
                process.stdin.flush()
            for line in process.stdout:
                if not line.endswith("\n"):  # it died in the middle of it
                    break
                answer = json.loads(line)
                if "row" in answer:
                    row: dict[str, Any] = answer["row"]
                    return row
                self._on_frames(task, answer["frames"])
        finally:
            if timer is not None:
                timer.cancel()
        status = self.close()
        reason = f"took longer than timeout_s = {self._timeout:g}" if late.is_set() else _death(status)
        return {**new_row(task), "error": f"the worker process {reason}"}

    def stop(self) -> None:
        """Tells the process to end; it removes what it has half-written."""
        with self._lock:
            if self._process is not None:
                self._process.terminate()

    def close(self) -> int:
        """Ends the process, and returns its exit status."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return 0
        status = _end(process)
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # what could not be written any more
                if pipe is not None:
                    pipe.close()
        return status

    def _started(self) -> subprocess.Popen[str] | None:
        """The process; None if the job ends."""
        with self._lock:
            if self._stopping.is_set():
                return None
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "tricodec._jobs._worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    encoding="utf-8", errors="surrogateescape", env=_environment(), start_new_session=True,
                )  # fmt: skip
            return self._process


def _environment() -> dict[str, str]:
    """Of this process, and its tricodec."""
    folder = str(Path(__file__).resolve().parents[2])
    paths = [folder, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _end(process: subprocess.Popen[str]) -> int:
    """Ends a process, and returns its exit status."""
    with contextlib.suppress(OSError):
        process.terminate()
    killer = threading.Timer(_END_SECONDS, process.kill)
    killer.daemon = True
    killer.start()
    try:
        return process.wait()  # with a timeout it would look each 50 ms
    finally:
        killer.cancel()


def _death(status: int) -> str:
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with the status {status}"
