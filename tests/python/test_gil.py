# SPDX-License-Identifier: Apache-2.0
"""The interpreter's lock is let go in every call that works: other Python threads go on, readers share the cores."""

from __future__ import annotations

import hashlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated

CLIP = "h264_bframes.mp4"


def big_frame() -> tricodec.Frame:
    random = np.random.default_rng(3)
    return tricodec.Frame.from_planes(
        [random.integers(0, 256, shape, np.uint8) for shape in ((2160, 3840), (1080, 1920), (1080, 1920))], "yuv420p"
    )


def long_calls() -> dict[str, Callable[[], Any]]:
    """Calls of some milliseconds at least, and what they work on."""
    path = generated(CLIP)
    frame = big_frame()
    reader = tricodec.FrameReader(path, num_workers=1)
    out = np.empty((50, 180, 320, 3), np.uint8)
    transform = tricodec.Transform(dtype="float32", layout="CHW")

    def decode() -> None:
        with tricodec.Demuxer(path) as demuxer:
            decoder = tricodec.Decoder(demuxer.stream)
            for packet in demuxer:
                decoder.decode(packet)
            decoder.flush()

    return {
        "batch": lambda: reader.batch(range(50)),
        "batch_out": lambda: reader.batch(range(50), out=out),
        "frames": lambda: reader[:],
        "iterate": lambda: list(reader),
        "decode_video": lambda: tricodec.decode_video(path, num_workers=1),
        "transform": lambda: transform(frame),
        "to_ndarray": lambda: frame.to_ndarray("rgb24"),
        "convert": lambda: frame.convert("nv12"),
        "pack": frame.pack,
        "decoder": decode,
    }


@pytest.fixture
def no_switches() -> Iterator[None]:
    """A thread keeps the lock until it lets it go itself: nothing else hides that a call holds it."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000.0)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("no_switches")
@pytest.mark.parametrize("name", long_calls())
def test_a_python_thread_goes_on_while_another_is_inside_a_long_call(name: str) -> None:
    call = long_calls()[name]
    turns = 0
    done = threading.Event()

    def work() -> None:
        end = time.perf_counter() + 5.0
        while turns < 5 and time.perf_counter() < end:
            call()
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    time.sleep(0.001)  # the worker has the lock now
    while not done.is_set():
        turns += 1
        time.sleep(0)
    worker.join()

    assert turns >= 5


def in_threads(works: list[Callable[[], None]]) -> tuple[float, float]:
    """Runs each work on a thread of its own, from a common start. Returns wall and CPU seconds."""
    start = threading.Barrier(len(works) + 1)

    def run(work: Callable[[], None]) -> None:
        start.wait()
        work()

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    start.wait()
    began, used = time.perf_counter(), time.process_time()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began, time.process_time() - used


def reading(path: Path, spans: list[tuple[float, float]] | None = None) -> Callable[[], None]:
    """Batches of a reader of one decoder; where each call began and ended goes to `spans`."""
    reader = tricodec.FrameReader(path, num_workers=1)
    reader.batch([0])

    def work() -> None:
        for _ in range(4):
            began = time.perf_counter()
            reader.batch(range(50), dtype="float32", size=(224, 224))
            if spans is not None:
                spans.append((began, time.perf_counter()))

    return work


@pytest.mark.usefixtures("no_switches")
def test_calls_of_two_python_threads_are_inside_at_the_same_time() -> None:
    path = generated(CLIP)
    best = 0.0
    for _ in range(8):  # a busy machine may run one thread after the other all the same
        spans: list[tuple[float, float]] = []
        wall, _ = in_threads([reading(path, spans), reading(path, spans)])
        best = max(best, sum(end - began for began, end in spans) / wall)
        if best >= 1.6:
            break

    # Were the lock held inside, one thread would do all of its calls before the other's first, each time.
    assert best >= 1.6


def hashing(data: bytes) -> Callable[[], None]:
    """Work of the standard library's that is known to let the lock go."""

    def work() -> None:
        for _ in range(12):
            hashlib.sha256(data)

    return work


def test_two_python_threads_with_a_reader_each_use_as_many_cores_as_there_are_free() -> None:
    path = generated(CLIP)
    data = bytes(8 << 20)

    # What else runs on the machine takes cores away; hashing in turn with reading tells how many it left.
    best = {"reading": 0.0, "hashing": 0.0}
    for _ in range(5):
        for name, works in (("hashing", [hashing(data)] * 2), ("reading", [reading(path), reading(path)])):
            wall, cpu = in_threads(works)
            best[name] = max(best[name], cpu / wall)

    assert best["reading"] >= 0.8 * best["hashing"]
