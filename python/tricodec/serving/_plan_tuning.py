# SPDX-License-Identifier: Apache-2.0
"""Tuning of a Plan: the candidates of a machine, and how they are timed."""

from __future__ import annotations

import dataclasses
import logging
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from tricodec._tricodec import Transform
from tricodec.options import selection_of
from tricodec.serving._plan_context import open_reader
from tricodec.serving._plan_request import PlanData, PlanMeasurement
from tricodec.video import read_video

if TYPE_CHECKING:
    from tricodec._tricodec import Source

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


def tune(data: PlanData, sample: Source, goal: str, num_frames: int) -> PlanData:
    """A plan with the choices that are fastest on this machine, in place of those of the rules, and what was measured.

    The goal "latency" means one read at a time. The request has `num_frames` frames of the sample, at least 1.
    """
    request, rules = data.request, data.choices
    transform = Transform(**request.transform)

    def read(num_workers: int) -> None:
        with open_reader(request, sample, num_workers) as reader:
            _wait_for(read_video(reader, transform, request.selected()).frames)

    is_gpu = rules.instruction_set.startswith("cuda")
    pairs = _worker_candidates(goal, int(data.machine["cores"]), is_gpu, request.workers, request.num_workers)
    pairs.sort(key=lambda pair: pair != (rules.workers, rules.num_workers))  # the rules' choice comes first
    began = time.perf_counter()
    read(pairs[0][1])
    reads = max(1, math.ceil(_LEAST_SECONDS / max(time.perf_counter() - began, 1e-6)))
    (workers, num_workers), seconds = _fastest(pairs, lambda pair: _seconds_of_reads(read, *pair, reads))
    measured = [PlanMeasurement(*pair, 0, each) for pair, each in zip(pairs, seconds, strict=True)]

    sizes = [size for size in _BATCH_SIZES if size <= num_frames and size * rules.frame_bytes <= _BATCH_BYTES]
    batch_size = request.batch_size or min(sizes, default=_BATCH_SIZES[0])
    if not request.batch_size and len(sizes) > 1:
        with open_reader(request, sample, request.num_workers) as reader:
            frames = reader.select(**request.selected())[:_BATCH_FRAMES]

            def seconds_of_a_frame(size: int) -> float:
                began = time.perf_counter()
                for batch in reader.batches(size, transform, **selection_of(frames)):
                    _wait_for(batch)
                return (time.perf_counter() - began) / len(frames)

            batch_size, seconds = _fastest(sizes, seconds_of_a_frame)
        measured += [
            PlanMeasurement(1, request.num_workers, size, each) for size, each in zip(sizes, seconds, strict=True)
        ]
    for each in measured:
        _log.info("plan: %s", each)
    choices = dataclasses.replace(rules, workers=workers, num_workers=num_workers, batch_size=batch_size)
    return dataclasses.replace(data, choices=choices, tuned=goal, measurements=tuple(measured))


def _worker_candidates(goal: str, cores: int, is_gpu: bool, workers: int, num_workers: int) -> list[tuple[int, int]]:
    """Pairs of reads at a time and decoders of each, the simplest first; `workers` and `num_workers` fix theirs."""
    if goal == "latency":
        counts = [1]
    elif is_gpu:  # its engines are shared among reads by the core
        counts = [1, 2, GPU_WORKERS, _MOST_GPU_WORKERS]
    else:
        counts = sorted({1, *(2**power for power in range(1, 10) if 2**power < cores), cores})
    pairs: list[tuple[int, int]] = []
    for count in [workers] if workers else counts:
        decoders = [0] if is_gpu else [0, 1, max(1, cores // count)]
        pairs += [(count, number) for number in ([num_workers] if num_workers else decoders)]
    return list(dict.fromkeys(pairs))


def _fastest(candidates: Sequence[Candidate], measure: Callable[[Candidate], float]) -> tuple[Candidate, list[float]]:
    """The first candidate that is at most 3 % slower than the best one, and the shortest time of each.

    Rounds over all candidates, so that a change of the machine's speed meets all of them. Slow ones have fewer rounds.
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


def _wait_for(array: Any) -> None:
    """Waits until an array on a GPU is written."""
    getattr(array, "wait", lambda: None)()


def _seconds_of_reads(read: Callable[[int], None], workers: int, num_workers: int, reads: int) -> float:
    """Seconds of a read when `workers` threads read side by side."""
    total = max(workers, reads)
    with ThreadPoolExecutor(workers) as threads:
        list(threads.map(lambda _: None, range(workers)))  # threads are started
        began = time.perf_counter()
        list(threads.map(lambda _: read(num_workers), range(total)))
        return (time.perf_counter() - began) / total
