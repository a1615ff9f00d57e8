# SPDX-License-Identifier: Apache-2.0
"""Programs that use a node, or none: what they take of a GPU's memory, how fast two GPUs are, training, and latency."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import itertools
import multiprocessing
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.decode.clips import RECIPES, clip, facts  # noqa: F401  (of the suite)
from benchmarks.node import NODE, PROCESSES, THREADS
from benchmarks.results import Case
from benchmarks.suite import Options

if TYPE_CHECKING:
    from tricodec.measure.bench import Work

SECONDS = 5.0
CLIPS, GPUS, WINDOW, ROUND_TRIP = "whole clips", "halves of clips", "one window", "round trip"
TRAINING, REQUESTS, TRANSFORMERS = "training", "requests at once", "requests at once, transformers"
WORKERS = "windows, 10 workers"
NO_LOADING = "one batch again"
BY_TORCHCODEC, BY_CPU = "torchcodec, processes", "tricodec, processes, CPU"
NODE_OF_3, NODE_OF_16 = f"{NODE} of 3 GiB", f"{NODE} of 16 GiB"
WORDS = {
    CLIPS: "all frames but the last of 64 files at 224x224; MiB are the peak of all processes together on the GPU",
    GPUS: "the same, with one GPU and with two",
    WINDOW: "16 frames at 224x224, not kept, in turn by a reader of the process and by one of a node",
    ROUND_TRIP: "a request that decodes nothing",
    TRAINING: "r3d_18, 16 windows a step; the GPU is idle as long as a step takes longer than with one batch again",
    REQUESTS: "64 times 16 frames through tricodec_compat.sampling",
    TRANSFORMERS: "the same through its load_video, which copies the frames to the host",
    WORKERS: "200 windows through a DataLoader with workers that decode on the GPU",
}
_GIB, _MIB = 1 << 30, 1 << 20
_NODES = {NODE: 4 * _GIB, NODE_OF_3: 3 * _GIB, NODE_OF_16: 16 * _GIB}
_SIZE, _FRAMES, _PER_PROCESS = (224, 224), 16, 4
_TINY = "tiny"


def cases(options: Options) -> list[Case]:
    """Each task with the ways to do it. Two GPUs, torchvision, torchcodec and transformers are for where they are."""
    on_gpu, quick, device = options.device == "cuda", options.quick, options.device
    clips = _TINY if quick else "h264_1080p" if on_gpu else "h264_720p"
    small = _TINY if quick else "h264_720p"
    many = 2 if quick else 16 if on_gpu else len(os.sched_getaffinity(0))
    found = [Case(CLIPS, clips, way, device, threads=many) for way in (THREADS, PROCESSES, NODE, NODE_OF_3)]
    num_gpus = len(list(Path("/dev").glob("nvidia[0-9]*"))) if on_gpu else 0
    if on_gpu and num_gpus < 2:
        print(f"{GPUS}: left out, because this machine has {num_gpus} GPU, and it needs two", flush=True)
    for gpus in (1, 2) if num_gpus > 1 else (0,) if quick and not on_gpu else ():
        for clients in dict.fromkeys((many, 2 * many)):
            found.append(Case(GPUS, clips, NODE, f"{device}, {gpus} GPU{'s' * (gpus > 1)}", threads=clients))
    found.append(Case(WINDOW, "h264_720p_groups_of_16", NODE, device, threads=1, unit="ms"))
    found.append(Case(ROUND_TRIP, _TINY, NODE, device, threads=1, unit="ms"))
    packages = [name for name in ("torchvision", "torchcodec", "transformers") if importlib.util.find_spec(name)]
    if "torchvision" in packages:
        ways = [NO_LOADING, *[BY_TORCHCODEC] * ("torchcodec" in packages), *[BY_CPU] * on_gpu]
        ways += [PROCESSES, NODE, NODE_OF_16]
        found += [Case(TRAINING, small, way, device, threads=many, unit="steps/s") for way in ways]
    # Transformers' loader asks a node only if it is to decode on a GPU.
    for task in (REQUESTS, *[TRANSFORMERS] * (on_gpu and "transformers" in packages)):
        at_once = {THREADS: _PER_PROCESS * many, PROCESSES: many, NODE: many}
        found += [Case(task, small, way, device, threads=count, unit="requests/s") for way, count in at_once.items()]
    workers = 2 if quick else 10
    return found + [Case(WORKERS, small, way, device, threads=workers, unit="clips/s") for way in (PROCESSES, NODE)]


@dataclasses.dataclass(frozen=True)
class Clips:
    """A data set of requests: path, first frame, number of frames. Gives a lease of a node; or without one, if `socket`
    is "", a tensor on the host, or the number of frames as long as they lie on the device.
    """

    requests: list[tuple[str, int, int]]
    device: str
    socket: str
    gives: str = "count"
    layout: str = "HWC"
    size: tuple[int, int] = _SIZE
    by_torchcodec: bool = False

    def __len__(self) -> int:
        return len(self.requests)

    def __getitem__(self, number: int) -> Any:
        import tricodec

        path, start, count = self.requests[number]
        if self.by_torchcodec:
            return _by_torchcodec(path, start, count, self.size)
        how: dict[str, Any] = {"size": self.size, "layout": self.layout, "device": self.device}
        if self.socket:
            return tricodec.node.connect(self.socket).decode_video(path, start=start, count=count, **how).frames
        workers: dict[str, Any] = {"num_workers": 1} if self.device == "cpu" else {}
        frames = tricodec.decode_video(path, start=start, count=count, **how, **workers).frames
        if self.gives == "tensor":
            import torch

            return torch.from_numpy(tricodec.asnumpy(frames))
        _wait_for(frames)
        return len(frames)


def _by_torchcodec(path: str, start: int, count: int, size: tuple[int, int]) -> Any:
    import torch
    from torchcodec.decoders import VideoDecoder

    frames = VideoDecoder(path, num_ffmpeg_threads=1).get_frames_in_range(start, start + count).data
    resized = torch.nn.functional.interpolate(frames.float(), size, mode="bilinear", antialias=True)
    return resized.round().clamp(0, 255).to(torch.uint8)


def _wait_for(frames: Any) -> None:
    if hasattr(frames, "wait"):  # on a GPU
        frames.wait()


def _stacked(frames: Any) -> Any:
    """What passes to another process: a batch of tensors as one tensor, all else as it is."""
    import torch

    return torch.stack(frames) if isinstance(frames, list) and isinstance(frames[0], torch.Tensor) else frames


def _length(frames: Any) -> int:
    """The number of frames that are there, which this process then has mapped; `frames` may be that number."""
    import torch

    if isinstance(frames, int):
        return frames
    tensor = frames if isinstance(frames, torch.Tensor) else torch.from_dlpack(frames)
    tensor.reshape(-1)[-1].item()  # waits
    return len(tensor)


@contextlib.contextmanager
def _loader(clips: Clips, num_workers: int, batch: int | None = None) -> Iterator[Any]:
    """A DataLoader of forked workers if they ask a node, and of spawned ones if not: those may use a GPU."""
    from torch.utils.data import DataLoader

    loader: Any = DataLoader(
        clips, batch_size=batch, collate_fn=_stacked, num_workers=num_workers,
        multiprocessing_context="fork" if clips.socket else "spawn", persistent_workers=True,
    )  # fmt: skip
    try:
        yield loader
    finally:
        if loader._iterator is not None:
            loader._iterator._shutdown_workers()  # before the node stops


@contextlib.contextmanager
def _peak(on_gpu: bool) -> Iterator[Callable[[], dict[str, float]]]:
    """What gives the MiB of the first GPU that were in use at most since now, less those in use now."""
    if not on_gpu:
        yield dict
        return
    ask = "nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits -i 0"
    before = int(subprocess.run(ask.split(), check=True, capture_output=True, text=True).stdout)
    with tempfile.TemporaryFile("w+") as used:
        # A process of its own: a forked worker inherits nothing of it.
        looks = f"while sleep 0.05 && kill -0 {os.getpid()}; do {ask}; done"
        with subprocess.Popen(["bash", "-c", looks], stdout=used, stderr=subprocess.DEVNULL) as process:

            def peak() -> dict[str, float]:
                seen = [int(line) for line in os.pread(used.fileno(), 1 << 24, 0).split(b"\n")[:-1] if line.isdigit()]
                return {"MiB": float(max(seen, default=before) - min(before, *seen))}

            try:
                yield peak
            finally:
                process.kill()


@dataclasses.dataclass(frozen=True)
class _Job:
    case: Case
    device: str
    paths: list[str]
    frames: int
    socket: str

    def windows(self, count: int) -> list[tuple[str, int, int]]:
        rng = random.Random(7)
        return [(rng.choice(self.paths), rng.randrange(self.frames - _FRAMES), _FRAMES) for _ in range(count)]


Run = Callable[[], tuple[int, dict[str, float]]]
"""One query: how much it did, and figures beside its speed."""


@contextlib.contextmanager
def _clips(job: _Job) -> Iterator[Run]:
    """All frames but the last one of each file; of two GPUs halves, so that none waits for a last long one."""
    half = 180 * job.frames // 300  # a group begins there
    parts = [(0, half), (half, job.frames - half)] if job.case.task == GPUS else [(0, job.frames - 1)]
    clips = Clips([(path, *part) for path in job.paths for part in parts], job.device, job.socket)
    if job.case.contender == THREADS:
        with ThreadPoolExecutor(job.case.threads) as pool:
            yield lambda: (sum(pool.map(clips.__getitem__, range(len(clips)))), {})
    else:
        with _loader(clips, job.case.threads) as loader:
            yield lambda: (sum(map(_length, loader)), {})


@contextlib.contextmanager
def _window(job: _Job) -> Iterator[Run]:
    """A group of 16 pictures, in turn by this process and by a node, which can keep none; or the node's status."""
    import tricodec

    order = itertools.cycle(_FRAMES * (5 * number % 8) for number in range(8))
    node = tricodec.node.connect(job.socket)
    if job.case.task == ROUND_TRIP:
        yield lambda: (len(node.status()), {})
        return
    with (
        tricodec.FrameReader(job.paths[0], device=job.device) as here,
        node.open(job.paths[0], device=job.device) as there,
    ):

        def milliseconds(reader: Any, first: int) -> float:
            start = time.perf_counter()
            _wait_for(reader.batch(range(first, first + _FRAMES), size=_SIZE))
            return 1e3 * (time.perf_counter() - start)

        def run() -> tuple[int, dict[str, float]]:
            took: dict[Any, list[float]] = {here: [], there: []}
            for number in range(70 if job.device == "cuda" else 4):
                first = next(order)
                for reader in (here, there)[:: 1 - 2 * (number % 2)]:
                    took[reader].append(milliseconds(reader, first))
            added = statistics.median(b - a for a, b in zip(*took.values(), strict=True))
            parts = {"ms": statistics.median(took[there]), "ms in process": statistics.median(took[here])}
            return 1, {**parts, "ms added": added}

        yield run


@contextlib.contextmanager
def _training(job: _Job) -> Iterator[Run]:
    """Steps of r3d_18. The GPU is idle as long as a step takes longer than one with a batch that is there."""
    import torch
    from torchvision.models.video import r3d_18

    batch, side, steps = (2, 32, 2) if job.case.input == _TINY else (16, 112, 32)
    where = torch.device(job.device)
    torch.backends.cudnn.benchmark = True
    model = r3d_18(weights=None, num_classes=400).to(where)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    labels = torch.randint(400, (batch,), device=where)

    def step(frames: Any) -> None:
        if not isinstance(frames, torch.Tensor):  # leases
            frames = torch.stack([torch.from_dlpack(each) for each in frames])
        videos = frames.to(where).permute(0, 2, 1, 3, 4).float() / 255 - 0.5
        with torch.autocast(where.type, torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(videos), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def seconds(batches: Iterable[Any]) -> float:
        start = time.perf_counter()
        for each in batches:
            step(each)
        if where.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - start

    there = torch.randint(256, (batch, _FRAMES, 3, side, side), dtype=torch.uint8, device=where)
    seconds([there] * min(5, steps))
    alone = seconds([there] * steps)
    clips = Clips(
        job.windows(1 << 15), "cpu" if job.case.contender in (BY_CPU, BY_TORCHCODEC) else job.device, job.socket,
        "tensor", "CHW", (side, side), job.case.contender == BY_TORCHCODEC,
    )  # fmt: skip
    is_loaded = job.case.contender != NO_LOADING
    with _loader(clips, job.case.threads, batch) if is_loaded else contextlib.nullcontext([there]) as loader:
        batches = itertools.chain.from_iterable(itertools.repeat(loader))

        def run() -> tuple[int, dict[str, float]]:
            took = seconds(itertools.islice(batches, steps))
            return steps, {"% idle": 100 * max(0.0, 1 - alone / took)}

        yield run


def _join(socket: str, loader: str) -> None:
    """What a process does first."""
    import tricodec

    if socket:
        tricodec.node.use(tricodec.node.connect(socket))
    if loader == TRANSFORMERS:
        from tricodec_compat import vlm

        vlm.install("transformers")


def _answer(path: str, device: str, loader: str, has_node: bool) -> int:
    """A request: 16 frames of a whole video, which a node has in its memory, or this process."""
    if loader == TRANSFORMERS:
        from transformers.video_utils import load_video

        return len(load_video(path, num_frames=_FRAMES, backend="tricodec", device=device)[0])
    from tricodec_compat import sampling

    frames = sampling.sample(path, sampling="qwen", fps=2.0, max_frames=_FRAMES, device=device).frames
    if not has_node:  # with one, another process would map them
        _wait_for(frames)
    return len(frames)


def _answers(paths: list[str], *how: Any) -> int:
    """Requests of one process, a thread each."""
    with ThreadPoolExecutor(len(paths)) as pool:
        return sum(pool.map(lambda path: _answer(path, *how), paths))


@contextlib.contextmanager
def _requests(job: _Job) -> Iterator[Run]:
    """All at once: a thread each, or processes with four threads each."""
    task, has_node = job.case.task, bool(job.socket)
    pool: Executor
    if job.case.contender == THREADS:
        _join("", task)
        pool, groups = ThreadPoolExecutor(1), [job.paths]
    else:
        # Transformers' frames are copied to the host, so its processes use the GPU.
        how = multiprocessing.get_context("fork" if has_node and task == REQUESTS else "spawn")
        groups = [job.paths[first : first + _PER_PROCESS] for first in range(0, len(job.paths), _PER_PROCESS)]
        pool = ProcessPoolExecutor(len(groups), how, _join, (job.socket, task))
    with pool:

        def run() -> tuple[int, dict[str, float]]:
            done = [pool.submit(_answers, group, job.device, task, has_node) for group in groups]
            if sum(each.result() for each in done) < len(job.paths):
                raise ValueError("a request has no frames")
            return len(job.paths), {}

        yield run


@contextlib.contextmanager
def _workers(job: _Job) -> Iterator[Run]:
    """The program of torchcodec's issue 566: a data set that decodes on the GPU, and a DataLoader with ten workers."""
    count = 20 if job.case.input == _TINY else 200
    with _loader(Clips(job.windows(count), job.device, job.socket, "tensor"), job.case.threads) as loader:

        def run() -> tuple[int, dict[str, float]]:
            lengths = [_length(frames) for frames in loader]
            if lengths != [_FRAMES] * count:
                raise ValueError(f"{len(lengths)} clips of {sum(lengths)} frames came of {count} clips")
            return count, {}

        yield run


_TASKS: dict[str, Callable[[_Job], contextlib.AbstractContextManager[Run]]] = {
    CLIPS: _clips, GPUS: _clips, WINDOW: _window, ROUND_TRIP: _window, TRAINING: _training, REQUESTS: _requests,
    TRANSFORMERS: _requests, WORKERS: _workers,
}  # fmt: skip


def _node_settings(case: Case, device: str, gpus: str) -> dict[str, Any]:
    """What the node of a case may use."""
    if case.task in (WINDOW, ROUND_TRIP):  # too little to keep a group of pictures
        settings: dict[str, Any] = {"memory": 64 * _MIB, "gpu_memory": (2048 + 64) * _MIB}
    else:
        settings = {"gpu_memory": 8 * _GIB if case.task == GPUS else _NODES[case.contender]}
    return {**settings, "gpus": tuple(range(int(gpus[:1] or device == "cuda"))), "idle_s": 20.0}


@contextlib.contextmanager
def open_work(case: Case) -> Iterator[Work]:
    """A query is one pass over the files, one request, some steps, or all requests."""
    from tricodec import node as nodes
    from tricodec.measure.bench import Done

    device, _, gpus = case.setting.partition(", ")
    path, frames = clip(case.input), RECIPES[case.input].num_frames
    num_files = 8 if case.input == _TINY else 1 if case.task == WINDOW else 16 if case.task == TRAINING else 64
    with contextlib.ExitStack() as stack:
        peak = stack.enter_context(_peak(device == "cuda" and case.task in (CLIPS, REQUESTS, TRANSFORMERS, WORKERS)))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tricodec"))
        paths = [str(shutil.copy(path, f"{folder}/{number}")) for number in range(num_files)]
        socket = ""
        if case.contender.startswith(NODE):
            socket = nodes.start(nodes.Settings(socket=f"{folder}/node", **_node_settings(case, device, gpus)))
            stack.callback(nodes.connect(socket).stop)
        run = stack.enter_context(_TASKS[case.task](_Job(case, device, paths, frames, socket)))

        def query() -> Done:
            amount, parts = run()
            return Done(amount, parts={**parts, **peak()})

        yield query
