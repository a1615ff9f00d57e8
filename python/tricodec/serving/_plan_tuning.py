# SPDX-License-Identifier: Apache-2.0
"""Tuning of a Plan: the candidates of a machine, and how they are timed."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from tricodec.options import selection_of
from tricodec.serving._plan_request import PlanMeasurement

if TYPE_CHECKING:
    from tricodec._tricodec import FrameReader, Transform

GOALS = ("throughput", "latency")
GPU_WORKERS = 4
"""Reads at a time on a GPU, before tuning."""
BATCH_SIZE = 32
"""Frames of a batch, before tuning."""
_MOST_GPU_WORKERS = 8
_BATCH_SIZES = (8, 16, 32, 64, 128)
_BATCH_FRAMES = 256
_BATCH_BYTES = 256 << 20
_ROUNDS = 3
_LEAST_GAIN = 0.03
_LEAST_SECONDS = 0.1
_MOST_SECONDS = 10.0

_log = logging.getLogger("tricodec")

Candidate = TypeVar("Candidate")
Read = Callable[[int], Any]
"""Does the request once, with a number of decoders."""


def worker_candidates(goal: str, cores: int, is_gpu: bool, workers: int, num_workers: int) -> list[tuple[int, int]]:
    """Pairs of reads at a time and decoders of each, the simplest first.

    Args:
        goal: "throughput", or "latency", which is one read at a time.
        cores: cores of the process.
        is_gpu: whether a GPU decodes: its engines are shared among reads by the core.
        workers, num_workers: what the request fixes; 0 is free.
    """
    if goal == "latency":
        counts = [1]
    elif is_gpu:
        counts = [1, 2, GPU_WORKERS, _MOST_GPU_WORKERS]
    else:
        counts = sorted({1, *(2**power for power in range(1, 10) if 2**power < cores), cores})
    pairs: list[tuple[int, int]] = []
    for count in [workers] if workers else counts:
        decoders = [0] if is_gpu else [0, 1, max(1, cores // count)]
        pairs += [(count, number) for number in ([num_workers] if num_workers else decoders)]
    return list(dict.fromkeys(pairs))


def batch_candidates(num_frames: int, frame_bytes: int, batch_size: int) -> list[int]:
    """Sizes of batches, the smallest first: those that the frames of the sample fill, and that memory allows."""
    if batch_size:
        return [batch_size]
    sizes = [size for size in _BATCH_SIZES if size <= num_frames and size * frame_bytes <= _BATCH_BYTES]
    return sizes or [_BATCH_SIZES[0]]


def fastest(candidates: Sequence[Candidate], measure: Callable[[Candidate], float]) -> tuple[Candidate, list[float]]:
    """The first candidate that is at most 3 % slower than the best one, and the shortest time of each.

    Rounds over all candidates, so that a change of the machine's speed meets all of them. Slow ones have fewer rounds.

    Args:
        candidates: at least one, in the order of preference.
        measure: gives the seconds of a candidate.
    """
    shortest = [math.inf] * len(candidates)
    began = time.perf_counter()
    for _ in range(_ROUNDS):
        for index, candidate in enumerate(candidates):
            shortest[index] = min(shortest[index], measure(candidate))
        if time.perf_counter() - began > _MOST_SECONDS:
            break
    bound = min(shortest) * (1 + _LEAST_GAIN)
    chosen = next(index for index, seconds in enumerate(shortest) if seconds <= bound)
    return candidates[chosen], shortest


def tune_workers(read: Read, candidates: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], list[PlanMeasurement]]:
    """The best pair of reads at a time and decoders of each, and the time of a read with each candidate."""
    began = time.perf_counter()
    read(candidates[0][1])
    once = time.perf_counter() - began
    reads = max(1, math.ceil(_LEAST_SECONDS / max(once, 1e-6)))
    best, times = fastest(candidates, lambda pair: _seconds_of_reads(read, *pair, reads))
    measured = [
        PlanMeasurement(workers, num_workers, 0, seconds)
        for (workers, num_workers), seconds in zip(candidates, times, strict=True)
    ]
    for entry in measured:
        _log.info(
            "plan: workers %d, num_workers %d: %.2f ms a read", entry.workers, entry.num_workers, 1e3 * entry.seconds
        )
    return best, measured


def tune_batch_size(
    reader: FrameReader, transform: Transform, frames: Sequence[int], num_workers: int, candidates: Sequence[int]
) -> tuple[int, list[PlanMeasurement]]:
    """The smallest good size of batches, and the time of a frame with each candidate.

    Args:
        reader: of the sample, with `num_workers` decoders.
        transform: of the request.
        frames: numbers of the frames of the request; the first ones are read.
        num_workers: for the measurements.
        candidates: the sizes.
    """
    frames = frames[:_BATCH_FRAMES]
    selection = selection_of(frames)

    def seconds_of_a_frame(size: int) -> float:
        began = time.perf_counter()
        for batch in reader.batches(size, transform, **selection):
            wait_for(batch)
        return (time.perf_counter() - began) / len(frames)

    best, times = fastest(candidates, seconds_of_a_frame)
    measured = [PlanMeasurement(1, num_workers, size, seconds) for size, seconds in zip(candidates, times, strict=True)]
    for entry in measured:
        _log.info("plan: batch_size %d: %.3f ms a frame", entry.batch_size, 1e3 * entry.seconds)
    return best, measured


def wait_for(array: Any) -> None:
    """Waits until an array on a GPU is written."""
    getattr(array, "wait", lambda: None)()


def _seconds_of_reads(read: Read, workers: int, num_workers: int, reads: int) -> float:
    """Seconds of a read when `workers` threads read side by side."""
    if workers == 1:
        began = time.perf_counter()
        for _ in range(reads):
            read(num_workers)
        return (time.perf_counter() - began) / reads
    total = max(workers, reads)
    with ThreadPoolExecutor(workers) as threads:
        list(threads.map(lambda _: None, range(workers)))  # threads are started
        began = time.perf_counter()
        list(threads.map(lambda _: read(num_workers), range(total)))
        return (time.perf_counter() - began) / total
