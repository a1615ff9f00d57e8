# SPDX-License-Identifier: Apache-2.0
"""One contender encodes or transcodes one input in a process of its own; what it took is printed as JSON.

python -m benchmarks.encode.worker '{"task": "encode", "contender": "tricodec", "source": "a.yuv", ...}'

The clock starts after the imports. Raw pictures are mapped into memory, so that each contender reads them as it needs
them; the command line reads the same file and is a process of its own, its start included. Peak memory is the process's
own (RssAnon): pages of the mapped file are not counted.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

Job = dict[str, Any]


def own_memory_mb(process: int | str) -> float:
    """Of a process, MB that no file stands for; 0 where it has ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon")]
    return int(found[0]) / 1e3 if found else 0.0


class PeakMemory:
    """The most memory of a process while the block runs, looked at every 30 ms."""

    def __init__(self, process: int | str = "self") -> None:
        self._process = process
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.mb = 0.0

    def _watch(self) -> None:
        while not self._stop.wait(0.03):
            self.mb = max(self.mb, own_memory_mb(self._process))

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def pictures(job: Job) -> np.ndarray[Any, Any]:
    """The raw pictures, uint8 [count, H * 3 / 2, W], mapped."""
    return np.memmap(job["source"], np.uint8, "r").reshape(-1, job["height"] * 3 // 2, job["width"])


def encode_by_tricodec(job: Job) -> int:
    """Bytes that tricodec.Encoder makes."""
    import tricodec

    frames = pictures(job)
    encoder = tricodec.Encoder(
        job["width"], job["height"], codec=job["codec"], device="cpu", num_threads=job["threads"],
        options={"preset": job["preset"]},
    )  # fmt: skip
    size = sum(len(packet) for frame in frames for packet in encoder.encode(frame, format="yuv420p"))
    return size + sum(len(packet) for packet in encoder.flush())


def encode_by_pyav(job: Job) -> int:
    """Bytes that PyAV makes, with threads of either kind: its own default is slower."""
    import av

    frames = pictures(job)
    context = av.CodecContext.create(job["codec"], "w")
    context.width, context.height, context.pix_fmt = job["width"], job["height"], "yuv420p"
    context.framerate, context.time_base = Fraction(30), Fraction(1, 30)
    context.thread_type, context.thread_count = "AUTO", job["threads"]
    context.options = {"preset": job["preset"]}
    size = 0
    for number, frame in enumerate(frames):
        picture = av.VideoFrame.from_ndarray(frame, format="yuv420p")
        picture.pts = number
        size += sum(packet.size for packet in context.encode(picture))
    return size + sum(packet.size for packet in context.encode(None))


def command_line(job: Job) -> list[str]:
    """What does the same by the ffmpeg command line."""
    command = ["ffmpeg", "-v", "error", "-nostdin", "-y"]
    if job["task"] == "transcode":
        command += ["-i", job["source"], "-c:v", job["codec"], "-preset", job["preset"], "-c:a", "copy"]
        return [*command, job["target"]]
    size = f"{job['width']}x{job['height']}"
    command += ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", size, "-r", "30", "-i", job["source"]]
    command += ["-c:v", job["codec"], "-preset", job["preset"], "-threads", str(job["threads"])]
    return [*command, "-f", "ivf" if job["codec"] == "libsvtav1" else "rawvideo", "-"]


def transcode_by_tricodec(job: Job) -> int:
    """Bytes of the packets."""
    import tricodec

    result = tricodec.transcode(
        job["source"], job["target"], codec=job["codec"], device="cpu", options={"preset": job["preset"]}
    )
    return result.size_bytes


_IN_PROCESS: dict[tuple[str, str], Callable[[Job], int]] = {
    ("encode", "tricodec"): encode_by_tricodec,
    ("encode", "pyav"): encode_by_pyav,
    ("transcode", "tricodec"): transcode_by_tricodec,
}


def by_command_line(job: Job) -> tuple[int, float]:
    """Bytes, and the peak of its memory in MB."""
    with subprocess.Popen(command_line(job), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        with PeakMemory(process.pid) as peak:
            size = len(process.stdout.read())
            if process.wait() != 0:
                raise subprocess.CalledProcessError(process.returncode, command_line(job))
    return size or Path(job["target"]).stat().st_size, peak.mb


def cpu_seconds() -> float:
    """Of this process and its children that have ended, in programs and in the kernel."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def measure(job: Job) -> dict[str, float]:
    """Seconds by the clock and of CPU time, bytes and MB of one run."""
    if job["contender"] == "ffmpeg":
        start, used = time.perf_counter(), cpu_seconds()
        size, mb = by_command_line(job)
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "cpu_seconds": cpu_seconds() - used, "bytes": size, "peak_mb": mb}
    run = _IN_PROCESS[job["task"], job["contender"]]
    __import__("av" if job["contender"] == "pyav" else "tricodec")
    before = own_memory_mb("self")
    with PeakMemory() as peak:
        start, used = time.perf_counter(), cpu_seconds()
        size = run(job)
        seconds, used = time.perf_counter() - start, cpu_seconds() - used
    return {"seconds": seconds, "cpu_seconds": used, "bytes": size, "peak_mb": max(0.0, peak.mb - before)}


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
