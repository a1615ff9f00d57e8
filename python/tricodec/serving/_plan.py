# SPDX-License-Identifier: Apache-2.0
"""Plan: a request of frames, compiled and tuned for a machine, that many threads read with."""

from __future__ import annotations

import dataclasses
import json
import logging
import math
import operator
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tricodec._tricodec import Transform
from tricodec.errors import UnsupportedError
from tricodec.options import request_of, selection_of
from tricodec.serving._plan_context import PlanContext, open_reader
from tricodec.serving._plan_request import (
    PlanChoices,
    PlanData,
    PlanMeasurement,
    PlanRequest,
    changed_options,
    differences,
    machine_of,
    read_plan,
    write_plan,
)
from tricodec.serving._requests import check_whole
from tricodec.video import DecodedVideo, read_video

if TYPE_CHECKING:
    from tricodec._tricodec import Source, Stream

_GOALS = ("throughput", "latency")
_GPU_WORKERS = 4
"""Reads at a time on a GPU, before tuning."""
_BATCH_SIZE = 32
"""Frames of a batch, before tuning."""
_MOST_GPU_WORKERS = 8
_BATCH_SIZES = (8, 16, 32, 64, 128)
_BATCH_FRAMES = 256
_BATCH_BYTES = 256 << 20
_ROUNDS = 3
_LEAST_GAIN = 0.03
_LEAST_SECONDS = 0.1
_MOST_SECONDS = 10.0

Candidate = TypeVar("Candidate")

_log = logging.getLogger("tricodec")


class Plan:
    """A request of frames, compiled for this machine: what reads it, with how many threads, in batches of which size.

        >>> tricodec.Plan(tricodec.sample_video(), count=16, size=(224, 224), layout="CHW").save("plan.json")
        >>> plan = tricodec.Plan.load("plan.json")  # in another process: milliseconds
        >>> plan.read(tricodec.sample_video()).frames.shape  # as decode_video with these options
        (16, 3, 224, 224)

    A plan decides how fast a read is, never what it returns: videos of any codec and size can be read with it. It also
    serves DALI (``plan=`` of ``fn.tricodec.decode_video`` and ``read_video``) and Triton (a file ``plan.json`` beside
    ``config.pbtxt``).

    Thread safety: safe, and a plan never changes. Each thread uses a context() of its own, or calls read(), which takes
    one.
    """

    def __init__(
        self,
        sample: Source,
        *,
        device: str = "auto",
        stream_index: int = -1,
        ignore_edit_list: bool = False,
        workers: int = 0,
        num_workers: int = 0,
        batch_size: int = 0,
        tune: bool | str = False,
        **options: Any,
    ) -> None:
        """Compile a request with a video that is like those to come.

        Args:
            sample: a path or bytes of a video.
            device, stream_index, ignore_edit_list: as in `decode_video`.
            workers: reads at a time, the threads of a `WorkerPool`; 0 is left to the plan.
            num_workers: decoders of one read; 0 is left to the plan.
            batch_size: frames of a batch of `PlanContext.batches`; 0 is left to the plan.
            tune: False chooses by rules, which takes the time of opening the sample. True, or "throughput", times the
                candidates for `workers`, `num_workers` and `batch_size` on this machine, with many reads at a time;
                "latency" with one. It reads the sample some dozens of times. The result of a read is the same with
                every choice.
            **options: options of `decode_video` that select frames (start, count, fps, ...), and options of
                `Transform`.

        Raises:
            ValueError: an option is not accepted.
            TypeError: `sample` is neither a path nor bytes.
            Error: the errors of `FrameReader`.
        """
        if not isinstance(sample, str | os.PathLike | bytes | bytearray | memoryview):
            raise TypeError(
                f"sample of Plan is of type {type(sample).__name__}; expected a path or bytes, which can be read often"
            )
        for name, value in (("workers", workers), ("num_workers", num_workers), ("batch_size", batch_size)):
            check_whole("Plan", name, value, least=0)
        goal = _GOALS[0] if tune is True else tune or ""
        if goal not in ("", *_GOALS):
            raise ValueError(f"tune of Plan is {tune!r}; expected True, False, {' or '.join(map(repr, _GOALS))}")
        selection, transform = request_of(type(self), options)
        selection = {name: value for name, value in selection.items() if value is not None}
        try:
            selection = json.loads(json.dumps(selection))
        except TypeError as error:
            raise TypeError(f"a plan selects frames by {selection!r}; expected str, numbers, bool and lists") from error
        request = PlanRequest(
            device, operator.index(stream_index), ignore_edit_list, workers, num_workers, batch_size,
            changed_options(transform), selection,
        )  # fmt: skip
        self._settle(_compiled(request, sample, goal))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, strict: bool = True, sample: Source | None = None) -> Plan:
        """Load a plan of save(). It takes milliseconds, since nothing is timed again.

        Args:
            path: the file.
            strict: whether a plan of another machine, or of other versions of the libraries, is an error. If not, the
                plan is made again for this machine, and a warning names what differs.
            sample: a path or bytes of a video to make the plan again with; None is the path of the first sample. If
                there is no such file, the plan is made again by rules.

        Raises:
            UnsupportedError: the plan is of another machine or version; the text names each field that differs.
            CorruptDataError: the file is no plan, or was changed.
            OSError: the file cannot be read.
            DeviceError: the request demands a GPU, and there is none.
        """
        began = time.perf_counter()
        data = read_plan(path)
        machine = machine_of(data.request.device)
        different = differences(data.machine, machine)
        if different:
            text = f"the plan {os.fspath(path)!r} does not fit this machine: {'; '.join(different)}"
            if strict:
                raise UnsupportedError(f"{text}. Make the plan again here, or load it with strict=False")
            _log.warning("%s; it is made again", text)
            data = _made_again(data, machine, sample)
        plan = cls.__new__(cls)
        plan._settle(data)
        _log.info("plan: %s loaded in %.1f ms", os.fspath(path), 1e3 * (time.perf_counter() - began))
        return plan

    def _settle(self, data: PlanData) -> None:
        self._data = data
        self._transform = Transform(**data.request.transform)
        self.request = data.request
        """What the plan reads."""
        self.choices = data.choices
        """How the plan reads: the engine, the instruction set, threads, sizes."""
        self.sample = data.sample
        """The path of the video that the plan was made with; empty for bytes."""
        self.machine = data.machine
        """The versions and the machine that the plan is for: what load() compares."""
        self.tuned = data.tuned
        """The goal that the candidates were timed for, "throughput" or "latency"; empty if they were not."""
        self.measurements = data.measurements
        """What tuning measured."""
        self.workers = data.choices.workers
        """Reads at a time: the threads of a `WorkerPool`."""
        self.num_workers = data.choices.num_workers
        """Decoders of one read; 0 lets each read choose."""
        self.batch_size = data.choices.batch_size
        """Frames of a batch of `PlanContext.batches`."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan as JSON, with the versions and the machine that it is for.

        Raises:
            OSError: the file cannot be written.
        """
        write_plan(path, self._data)

    def context(self, *, stream: Stream | None = None) -> PlanContext:
        """Make what one thread reads with.

        Args:
            stream: a CUDA stream of the caller for results on a GPU, as in `FrameReader`. Without one the work is
                queued on a stream of the calling thread.
        """
        return PlanContext(self._data, self._transform, stream)

    def read(self, source: Source, *, out: Any = None, **options: Any) -> DecodedVideo:
        """Read a video: `PlanContext.read` of a context of its own. Any thread may call it at any time."""
        return self.context().read(source, out=out, **options)

    def __eq__(self, other: object) -> bool:
        return self._data == other._data if isinstance(other, Plan) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # the request has dicts

    def __repr__(self) -> str:
        how = f"tuned for {self.tuned}" if self.tuned else "not tuned"
        return (
            f"<tricodec.Plan by {self.choices.engine}, {self.choices.instruction_set}; workers {self.workers}, "
            f"num_workers {self.num_workers}, batch_size {self.batch_size}, {how}>"
        )


def _compiled(request: PlanRequest, sample: Source, goal: str) -> PlanData:
    """A plan for this machine, with the candidates timed if there is a goal."""
    machine = machine_of(request.device)
    transform = Transform(**request.transform)
    with open_reader(request, sample, request.num_workers) as reader:
        number = len(reader.select(**request.selected()))
        is_gpu, shape = reader.device != "cpu", reader.output_shape(transform)
        path = str(Path(os.fsdecode(sample)).resolve()) if isinstance(sample, str | os.PathLike) else ""
        choices = PlanChoices(
            engine=reader.engine,
            # A stream that the GPU does not decode is transformed on the CPU.
            instruction_set=(machine if is_gpu else machine_of("cpu"))["instruction_set"],
            **_by_rules(request, machine, is_gpu),
            frame_shape=tuple(shape),
            frame_bytes=math.prod(shape) * {"uint8": 1, "float32": 4}.get(transform.options["dtype"], 2),
        )
    data = PlanData(request, path, machine, choices)
    return _tuned(data, sample, goal, number) if goal and number else data


def _by_rules(request: PlanRequest, machine: Mapping[str, str], is_gpu: bool) -> dict[str, Any]:
    """The numbers that are given, or else those for this machine."""
    workers = request.workers or (_GPU_WORKERS if is_gpu else int(machine["cores"]))
    return {
        "workers": workers, "num_workers": request.num_workers, "batch_size": request.batch_size or _BATCH_SIZE
    }  # fmt: skip


def _made_again(data: PlanData, machine: dict[str, str], sample: Source | None) -> PlanData:
    """A plan for this machine from one of another machine."""
    if sample is None and data.sample and Path(data.sample).is_file():
        sample = data.sample
    if sample is not None:
        return _compiled(data.request, sample, data.tuned)
    choices = dataclasses.replace(
        data.choices,
        engine="an engine that the first read chooses",
        instruction_set=machine["instruction_set"],
        **_by_rules(data.request, machine, machine["device"] != "cpu"),
    )
    return PlanData(data.request, data.sample, machine, choices)


def _tuned(data: PlanData, sample: Source, goal: str, num_frames: int) -> PlanData:
    """A plan with the choices that are fastest here; the request has `num_frames` frames of the sample, at least 1."""
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
        counts = [1, 2, _GPU_WORKERS, _MOST_GPU_WORKERS]
    else:
        counts = sorted({1, *(2**power for power in range(1, 10) if 2**power < cores), cores})
    pairs: list[tuple[int, int]] = []
    for count in [workers] if workers else counts:
        decoders = [0] if is_gpu else [0, 1, max(1, cores // count)]
        pairs += [(count, number) for number in ([num_workers] if num_workers else decoders)]
    return list(dict.fromkeys(pairs))


def _fastest(candidates: Sequence[Candidate], measure: Callable[[Candidate], float]) -> tuple[Candidate, list[float]]:
    """The first candidate that is at most 3 % slower than the best one, and the shortest time of each."""
    # Rounds over all candidates, so that a change of the machine's speed meets all of them.
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
