# SPDX-License-Identifier: Apache-2.0
"""Profiler: the time of stages while a ``with`` block runs, as totals, as events, as a trace and by a callback."""

from __future__ import annotations

import itertools
import json
import logging
import os
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, SupportsIndex

from tricodec._tricodec import OutputFile, __version__
from tricodec._tricodec import Profiler as NativeProfiler
from tricodec.measure._block import Measurement

if TYPE_CHECKING:
    from typing_extensions import Self

_PAUSE_SECONDS = 0.02
_FIRST_GPU_TRACK = 1 << 22
"""Linux gives threads numbers below this one."""


class StageTime(NamedTuple):
    """Calls, frames and time of one stage on all threads."""

    calls: int
    """Number of calls into the stage. A frame may need several, and a call may work on several frames."""
    seconds: float
    """Time of the calling threads, running or waiting, without the stages that ran inside this one."""
    gpu_seconds: float
    """Time of the stage's work on GPUs. Work that runs at the same time all counts."""
    frames: int
    """Number of frames. ``read``, ``index`` and ``write`` count packets, ``compress`` and ``decompress`` arrays, the
    other stages pictures, or frames of audio."""


class StageEvent(NamedTuple):
    """One call of a stage, or one piece of its work on a GPU."""

    begin_seconds: float
    """Its start in seconds since the start of the block."""
    seconds: float
    """Its duration in seconds, with the stages that ran inside this one."""
    stage: str
    """Name of the stage."""
    frames: int
    """Number of frames, counted as in `StageTime`."""
    device: str
    """``cpu`` for a call, ``cuda:0`` for work on that GPU."""
    thread: int
    """Number that the operating system gives the calling thread; 0 for work on a GPU."""


class ReportsStages(Protocol):
    """An object that a `Profiler` reports to."""

    def report_stage(self, stage: str, seconds: float, frames: int, device: str) -> object:
        """Receives one event."""


Callback = Callable[[str, float, int, str], object]


def _report(native: NativeProfiler, callback: Callback, ended: threading.Event) -> None:
    """Reports events until the block ends, on a thread of its own: no thread of a decoder waits for the interpreter."""
    is_last = has_failed = False
    while not is_last:
        is_last = ended.wait(_PAUSE_SECONDS)
        for _, duration_ns, stage, frames, device, _ in native.take_events():
            if has_failed:
                break
            try:
                callback(stage, duration_ns / 1e9, frames, device)
            except Exception:
                has_failed = True
                logging.getLogger("tricodec").exception("the callback of a Profiler failed and is not called any more")


class Profiler(Measurement[NativeProfiler]):
    """Measures the time of tricodec's work in the whole process, by stages.

        >>> with tricodec.Profiler() as profiler:
        ...     video = tricodec.decode_video(tricodec.sample_video(), count=8)
        >>> profiler.stages["decode"].frames >= 8
        True
        >>> profiler.save_trace("trace.json")  # for ui.perfetto.dev

    Stages are ``read`` (packets from a container), ``index`` (packets are read once to number the frames), ``decode``
    (packets to pictures, with the wait for the codec's threads or the GPU's engines), ``transform``, ``encode``,
    ``write``, ``compress``, ``decompress``, ``wait`` and ``filter``. ``wait`` is the time in which an iteration or a
    batch waits for other threads to decode its frames. A long ``wait`` means that decoding limits the program; no
    ``wait`` means that the consumer does. ``filter`` is the work of `tricodec.io` between frames and chunks.

    All threads and all front ends count, so the stages together may take longer than `seconds`. CUDA events time the
    GPU's part: kernels of `Transform` and of codecs, and the pictures of NVDEC from the request to the end of their
    copy. NVENC has host times only. Without a Profiler a stage costs the check of one variable.

    In Nsight Systems the same stages are NVTX ranges of the domain "tricodec", also without a Profiler, if the build
    had NVTX's headers (``nvtx`` in `build_info`). The payload of a range is the number of frames that the call begins
    with.

    Args:
        callback: receives each event as ``callback(stage, seconds, frames, device)``, or as the method
            ``report_stage`` of an object. One thread of the Profiler makes all calls, at most 20 ms after the event if
            the callback keeps up. The block ends after the last call. If the callback raises, the error is logged and
            the callback is not called any more; decoding continues.
        max_events: number of the latest events to keep. An event takes 48 bytes, so the default takes at most 3 MiB.

    Raises:
        TypeError: `callback` is neither a callable nor an object with ``report_stage``.
        ValueError: `max_events` is negative, or 0 with a callback.

    Thread safety: safe. Several profilers may run at once. Results do not contain calls that have not returned.
    """

    def __init__(self, callback: Callback | ReportsStages | None = None, *, max_events: SupportsIndex = 65536) -> None:
        method = getattr(callback, "report_stage", callback)
        if method is not None and not callable(method):
            raise TypeError(
                f"callback is of type {type(callback).__name__}; pass a callable, an object with a method "
                "report_stage, or None"
            )
        super().__init__(NativeProfiler, max_events, "" if method is None else ", which the callback receives")
        self._callback: Callback | None = method
        self._ended = threading.Event()
        self._reporter: threading.Thread | None = None

    def __enter__(self) -> Self:
        super().__enter__()
        if self._callback is not None:
            self._ended.clear()
            arguments = (self._started(), self._callback, self._ended)
            self._reporter = threading.Thread(target=_report, args=arguments, name="tricodec.Profiler", daemon=True)
            self._reporter.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the measurement, report its last events and keep its results."""
        super().__exit__()
        if self._reporter is not None:
            self._ended.set()
            self._reporter.join()
            self._reporter = None

    @property
    def seconds(self) -> float:
        """Duration of the block in seconds; while it runs, the time so far."""
        return self._started().elapsed_ns() / 1e9

    @property
    def stages(self) -> dict[str, StageTime]:
        """The stages with calls, by name. Waits for work of GPUs that is being timed."""
        return {
            name: StageTime(calls, host_ns / 1e9, gpu_ns / 1e9, frames)
            for name, calls, frames, host_ns, gpu_ns in self._started().stages()
        }

    @property
    def events(self) -> list[StageEvent]:
        """The latest `max_events` events in the order of their ends. Waits for work of GPUs that is being timed."""
        return [
            StageEvent(begin_ns / 1e9, duration_ns / 1e9, stage, frames, device, thread)
            for begin_ns, duration_ns, stage, frames, device, thread in self._started().events()
        ]

    @property
    def missed_events(self) -> int:
        """Number of events that were dropped before the callback received them, because it is too slow."""
        return self._started().num_missed_events()

    def save_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes `events` to a file in the trace event format, for ui.perfetto.dev and chrome://tracing.

        Threads are tracks, calls are slices with their frames, and each GPU has tracks of its own. The file has about
        200 bytes for each event. ``otherData`` in the file has the number of `dropped_events`.

        Args:
            path: file to write; an existing file is replaced.

        Raises:
            OSError: the file cannot be written.
        """
        trace = {
            "displayTimeUnit": "ms",
            "otherData": {
                "version": __version__, "seconds": self.seconds, "dropped_events": self.dropped_events
            },
            "traceEvents": trace_events(self.events, os.getpid()),
        }  # fmt: skip
        with OutputFile(path) as file:
            file.write(json.dumps(trace).encode())

    def __str__(self) -> str:
        """A table with a line for each stage."""
        if self._native is None:
            return "Profiler: nothing measured yet"
        total = self.seconds
        lines = [f"{'stage':<12}{'frames':>9}{'calls':>9}{'seconds':>11}{'share':>8}{'GPU seconds':>13}"]
        for name, time in self.stages.items():
            gpu = f"{time.gpu_seconds:.4f}" if time.gpu_seconds else "-"
            share = time.seconds / total if total else 0.0
            lines.append(f"{name:<12}{time.frames:>9}{time.calls:>9}{time.seconds:>11.4f}{share:>7.0%} {gpu:>12}")
        lines.append(f"{'in all':<12}{'':>18}{total:>11.4f}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{self}</pre>"


def _lanes(events: Iterable[StageEvent]) -> list[list[StageEvent]]:
    """Spreads events over tracks on which no two overlap: work of several streams of a GPU runs at the same time."""
    lanes: list[list[StageEvent]] = []
    for event in sorted(events):
        free = (lane for lane in lanes if lane[-1].begin_seconds + lane[-1].seconds <= event.begin_seconds)
        if (lane := next(free, None)) is None:
            lanes.append([event])
        else:
            lane.append(event)
    return lanes


def trace_events(events: list[StageEvent], process: int) -> list[dict[str, Any]]:
    """A complete event ("X") for each stage event, in microseconds, and the names of tracks ("M")."""

    def name(kind: str, track: int, text: str) -> dict[str, Any]:
        return {"ph": "M", "name": kind, "pid": process, "tid": track, "args": {"name": text}}

    def complete(track: int, event: StageEvent) -> dict[str, Any]:
        return {
            "ph": "X", "name": event.stage, "cat": "tricodec", "pid": process, "tid": track,
            "ts": event.begin_seconds * 1e6, "dur": event.seconds * 1e6,
            "args": {"frames": event.frames, "device": event.device},
        }  # fmt: skip

    tracks: list[tuple[int, str, list[StageEvent]]] = []
    names = {thread.native_id: thread.name for thread in threading.enumerate()}
    workers, gpu_tracks = itertools.count(1), itertools.count(_FIRST_GPU_TRACK)
    of_threads = [event for event in events if event.device == "cpu"]
    for thread in sorted({event.thread for event in of_threads}):
        text = names.get(thread) or f"worker {next(workers)}"  # viewers show the thread's number beside the name
        tracks.append((thread, text, [event for event in of_threads if event.thread == thread]))
    for device in sorted({event.device for event in events} - {"cpu"}):
        for number, lane in enumerate(_lanes(event for event in events if event.device == device), 1):
            tracks.append((next(gpu_tracks), device if number == 1 else f"{device} ({number})", lane))
    written = [name("process_name", 0, "tricodec"), *(name("thread_name", track, text) for track, text, _ in tracks)]
    slices = [complete(track, event) for track, _, own in tracks for event in own]
    # Enclosing slices come first where two begin at the same time.
    slices.sort(key=lambda each: (each["ts"], -each["dur"]))
    return [*written, *slices]
