# SPDX-License-Identifier: Apache-2.0
"""The interpreter's lock is let go in every call that works: other Python threads continue, readers share the cores."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
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


def once_each(work: Callable[[tricodec.FrameReader], Any]) -> Callable[[], None]:
    """What a reader does only the first time, with a new reader for each call, opened before."""
    readers: list[tricodec.FrameReader] = []

    def call() -> None:
        if not readers:
            readers.extend(tricodec.FrameReader(generated(CLIP), num_workers=1) for _ in range(100))
        work(readers.pop())

    return call


def long_calls() -> dict[str, Callable[[], Any]]:
    """Calls of some milliseconds at least, or of a part of one, and what they work on."""
    path = generated(CLIP)
    frame = big_frame()
    reader = tricodec.FrameReader(path, num_workers=1)
    out = np.empty((50, 180, 320, 3), np.uint8)
    transform = tricodec.Transform(dtype="float32", layout="CHW")
    codec = tricodec.Codec(algorithm="Deflate", algorithm_type=5, device="cpu", num_threads=1)

    def decode() -> None:
        with tricodec.Demuxer(path) as demuxer:
            decoder = tricodec.Decoder(demuxer.stream)
            for packet in demuxer:
                decoder.decode(packet)
            decoder.flush()

    return {
        "batch": lambda: reader.batch(range(50)),
        "batch_transformed": lambda: reader.batch(range(50), dtype="float32", size=(224, 224)),
        "batch_out": lambda: reader.batch(range(50), out=out),
        "frames": lambda: reader[:],
        "iterate": lambda: list(reader),
        "decode_video": lambda: tricodec.decode_video(path, num_workers=1),
        "transform": lambda: transform(frame),
        "to_ndarray": lambda: frame.to_ndarray("rgb24"),
        "convert": lambda: frame.convert("nv12"),
        "pack": frame.pack,
        "decoder": decode,
        "open": lambda: tricodec.FrameReader(path, num_workers=1),
        "probe": lambda: tricodec.probe(path),
        "index": once_each(len),
        "compress": lambda: codec.encode(out[:4]),
        "save_index": lambda: reader.save_index(os.devnull),
        "batches": lambda: list(reader.batches(16, dtype="float32", size=(224, 224))),
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
        end = time.perf_counter() + 30.0  # where others have the cores it may wake up only after the call
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


@pytest.mark.usefixtures("no_switches")
def test_a_python_thread_goes_on_while_the_memory_of_a_large_array_is_freed() -> None:
    turns, moved = 0, False
    done = threading.Event()

    def work() -> None:
        nonlocal moved
        end = time.perf_counter() + 30.0
        while not moved and time.perf_counter() < end:
            frames = tricodec.decode_video(generated(CLIP), dtype="float32", size=(540, 960)).frames  # 311 MB
            before = turns
            del frames
            moved = turns > before
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    while not done.is_set():
        turns += 1
        time.sleep(0)
    worker.join()

    assert moved
