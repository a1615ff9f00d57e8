# SPDX-License-Identifier: Apache-2.0
"""One server of a vision-language model, without the model: python vlm_program.py LOADER CLIP AT_ONCE REQUESTS DEVICE.

Requests for a clip's frames at 2 fps come AT_ONCE at a time. A thread loads each, as servers do, while the event loop
ticks. The loaders are those of transformers and tricodec's adapter. `control` loads nothing: it keeps a core busy
without the interpreter's lock. The result is JSON: requests a second, latencies, processor time, how late the ticks
were, and how long a thread with real-time priority waited for the interpreter's lock while one loader worked. Of such a
wait only the processor time of the loader's thread counts, so other work on the machine does not.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

_FPS = 2
_TICK = 0.001
_BEAT = 0.0002
_HELD_REQUESTS = 4
ON_GPU = ("tricodec", "torchcodec")


def indices(metadata: Any, **_: Any) -> list[int]:
    """The frames at 2 fps."""
    return np.arange(0, metadata.total_num_frames, metadata.fps / _FPS).astype(int).tolist()  # type: ignore[no-any-return]


_DATA = bytes(1 << 24)


def _control(clip: str, sample: Callable[..., Any]) -> Any:
    for _ in range(30):
        hashlib.sha256(_DATA)


def loader(name: str) -> Callable[[str, Callable[..., Any]], Any]:
    """The function that loads a clip."""
    if name == "control":
        return _control
    if name == "tricodec":
        from tricodec import vlm

        return vlm.read_for_transformers
    from transformers import video_utils

    return video_utils.VIDEO_DECODERS[name]  # type: ignore[no-any-return]


def longest_hold(work: Callable[[], Any]) -> float | None:
    """The longest time in seconds that `work` holds the interpreter's lock; None without the right to such priority."""
    holds: list[float] = []
    done = threading.Event()
    clock = time.pthread_getcpuclockid(threading.get_ident())  # type: ignore[attr-defined]  # of POSIX

    def beat() -> None:
        try:
            os.sched_setscheduler(threading.get_native_id(), os.SCHED_FIFO, os.sched_param(1))
        except PermissionError:
            return
        while not done.is_set():
            used, started = time.clock_gettime(clock), time.perf_counter()
            time.sleep(_BEAT)
            waited = time.perf_counter() - started - _BEAT
            holds.append(min(waited, time.clock_gettime(clock) - used))

    beater = threading.Thread(target=beat)
    beater.start()
    try:
        work()
    finally:
        done.set()
        beater.join()
    return max(holds, default=None)


def _gpu_memory_mb() -> float | None:
    """What all programs use of the first GPU now; None without one."""
    command = ["nvidia-smi", "--id=0", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    try:
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    except (OSError, subprocess.CalledProcessError):
        return None


async def _tick(late: list[float], done: asyncio.Event) -> None:
    while not done.is_set():
        started = time.perf_counter()
        await asyncio.sleep(_TICK)
        late.append(time.perf_counter() - started - _TICK)


async def serve(load: Callable[..., Any], clip: str, at_once: int, num_requests: int) -> dict[str, Any]:
    """The figures of all requests."""
    loop = asyncio.get_running_loop()
    late: list[float] = []
    seconds: list[float] = []
    left = iter(range(num_requests))
    with ThreadPoolExecutor(at_once) as pool:
        await loop.run_in_executor(pool, load, clip, indices)  # imports, and the clip in the page cache
        done = asyncio.Event()
        ticker = loop.create_task(_tick(late, done))

        async def client() -> None:
            for _ in left:
                started = time.perf_counter()
                await loop.run_in_executor(pool, load, clip, indices)
                seconds.append(time.perf_counter() - started)

        used, begun = time.process_time(), time.perf_counter()
        await asyncio.gather(*(client() for _ in range(at_once)))
        elapsed, used = time.perf_counter() - begun, time.process_time() - used
        done.set()
        await ticker
    held = longest_hold(lambda: [load(clip, indices) for _ in range(_HELD_REQUESTS)])
    return {
        "requests_per_s": num_requests / elapsed,
        "p50_s": float(np.percentile(seconds, 50)),
        "p99_s": float(np.percentile(seconds, 99)),
        "cpu_s": used / num_requests,
        "late_p99_ms": float(np.percentile(late, 99)) * 1000,
        "late_max_ms": max(late) * 1000,
        "held_max_ms": None if held is None else held * 1000,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "gpu_memory_mb": _gpu_memory_mb(),
    }


def main() -> None:
    name, clip, at_once, num_requests, device = sys.argv[1:]
    load = functools.partial(loader(name), device=device) if device != "cpu" and name in ON_GPU else loader(name)
    print(json.dumps(asyncio.run(serve(load, clip, int(at_once), int(num_requests)))))


if __name__ == "__main__":
    main()
