# SPDX-License-Identifier: Apache-2.0
"""Clips of many files for training: tricodec's loader, torchcodec in a DataLoader, and the decoding limit.

python -m benchmarks.decode.dataset_clips [--runs N] [--output FILE]

All give the same clips in the same shuffled order, in batches. The limit is what this machine decodes of these clips by
`FrameReader.batch` alone: one thread a core, no loader and no batches. Both packages keep decoders open.

Each contender is a program of its own, with its workers. They run in turns, some batches each, and stand still between
their turns. So the ratios are of neighbors in time. They are of the CPU time of all processes of a contender, since
that depends less on what else runs. The first batches, for which workers start, are not measured.
"""

from __future__ import annotations

import argparse
import functools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.environment import environment

FILES, FRAMES, GOP, LENGTH, BATCH = 512, 48, 48, 16, 4
WIDTH, HEIGHT = 640, 360
OPEN = 16  # decoders that stay open, as in tricodec.Dataset
SEED = 3
TURN = 24  # batches: two workers have six ahead, which a turn may find or leave
READ_AHEAD_BYTES = 64 << 20


def make_videos(folder: Path) -> str:
    """Links to one clip; gives their description."""
    first = folder / "00.mp4"
    source = f"testsrc2=size={WIDTH}x{HEIGHT}:rate=25,noise=alls=6:allf=t"
    options = f"-frames:v {FRAMES} -c:v libx264 -preset veryfast -pix_fmt yuv420p -bf 2 -g {GOP}".split()
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", source, *options, first], check=True)
    for number in range(1, FILES):
        os.link(first, folder / f"{number:02}.mp4")
    return f"{FILES} mp4 of {WIDTH}x{HEIGHT}, clips of {LENGTH} frames"


class TorchcodecClips:
    """The clips of a tricodec.Dataset by torchcodec: a map-style dataset."""

    def __init__(self, clips: list[tuple[str, int]], num_threads: int) -> None:
        self._clips = clips
        self._num_threads = num_threads
        self._decoder = functools.lru_cache(OPEN)(self._open)

    def __len__(self) -> int:
        return len(self._clips)

    def __getitem__(self, number: int) -> Any:
        path, start = self._clips[number]
        return self._decoder(path).get_frames_in_range(start, start + LENGTH).data

    def close(self) -> None:
        """Closes the decoders: a worker that is forked later would wait for their threads."""
        self._decoder.cache_clear()

    def _open(self, path: str) -> Any:
        from torchcodec.decoders import VideoDecoder

        options = {"dimension_order": "NHWC", "seek_mode": "approximate", "num_ffmpeg_threads": self._num_threads}
        return VideoDecoder(path, **options)

    def __reduce__(self) -> Any:
        return TorchcodecClips, (self._clips, self._num_threads)


def ours(clips: Any, order: list[list[int]], num_workers: int, read_ahead_bytes: int) -> Iterator[int]:
    """The frames of each batch of tricodec's loader."""
    from tricodec.torch import ClipLoader

    loader = ClipLoader(clips, BATCH, seed=SEED, num_workers=num_workers, read_ahead_bytes=read_ahead_bytes)
    for batch, expected in zip(loader, order, strict=True):
        assert batch["clip"].tolist() == expected
        yield batch["frames"].shape[0] * batch["frames"].shape[1]


def theirs(clips: Any, order: list[list[int]], num_workers: int) -> Iterator[int]:
    """The same by torchcodec in a DataLoader."""
    from torch.utils.data import DataLoader

    paths = [str(clips.index.source(row)) for row in range(FILES)]
    places = [(paths[clips._clips.row(n)], clips._clips.words(n)["start"]) for n in range(len(clips))]
    dataset: Any = TorchcodecClips(places, 1 if num_workers else 0)
    for batch in DataLoader(dataset, batch_sampler=order, num_workers=num_workers):
        yield batch.shape[0] * batch.shape[1]


def limit(clips: Any, order: list[list[int]]) -> Iterator[int]:
    """The same clips alone."""
    import tricodec

    transform = tricodec.Transform()
    cores = len(os.sched_getaffinity(0))
    opened = [
        functools.lru_cache(OPEN)(lambda row: clips.index.reader(row, device="cpu", num_workers=1))
        for _ in range(cores)
    ]

    def read(core: int, numbers: list[int]) -> int:
        frames = 0
        for number in numbers:
            words = clips._clips.words(number)
            frames += len(opened[core](clips._clips.row(number)).batch(transform=transform, **words))
        return frames

    with ThreadPoolExecutor(cores) as threads:
        for first in range(0, len(order), TURN):
            numbers = [number for batch in order[first : first + TURN] for number in batch]
            yield sum(threads.map(read, range(cores), [numbers[core::cores] for core in range(cores)]))
            yield from [0] * (min(TURN, len(order) - first) - 1)


CONTENDERS: dict[tuple[str, str], Callable[[Any, list[list[int]]], Iterator[int]]] = {
    ("decoding limit", ""): limit,
    ("tricodec", "threads"): lambda clips, order: ours(clips, order, 0, READ_AHEAD_BYTES),
    ("tricodec", "threads, nothing read ahead"): lambda clips, order: ours(clips, order, 0, 0),
    ("tricodec", "2 workers"): lambda clips, order: ours(clips, order, 2, READ_AHEAD_BYTES),
    ("torchcodec", "0 workers"): lambda clips, order: theirs(clips, order, 0),
    ("torchcodec", "2 workers"): lambda clips, order: theirs(clips, order, 2),
}
RATIOS = {
    ("threads", "decoding limit"): ("decoding limit", ""), ("2 workers", "decoding limit"): ("decoding limit", ""),
    ("threads", "torchcodec"): ("torchcodec", "0 workers"), ("2 workers", "torchcodec"): ("torchcodec", "2 workers"),
}  # fmt: skip


def contend(index: str, number: int) -> None:
    """The program of a contender: reads TURN batches for each line that comes, and answers with their frames."""
    os.setpgrp()  # with the processes that it starts
    print("ready", flush=True)
    import tricodec

    clips = tricodec.Dataset(index, clip_length=LENGTH)
    batches = list(CONTENDERS.values())[number](clips, list(clips.sampler(BATCH, seed=SEED)))
    for _ in sys.stdin:
        print(sum(next(batches) for _ in range(TURN)), flush=True)
    os._exit(0)  # in the middle of an epoch


class Contender:
    """A program that runs while it has a turn, with all processes that it starts."""

    def __init__(self, index: Path, number: int) -> None:
        command = [sys.executable, "-m", "benchmarks.decode.dataset_clips", "--contend", index, str(number)]
        self._program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._program.stdout is not None
        self._program.stdout.readline()

    def turn(self) -> tuple[float, float]:
        """Frames a second, and CPU milliseconds of a frame."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        before, cpu = time.perf_counter(), self._cpu_seconds()
        os.killpg(self._program.pid, signal.SIGCONT)
        print(file=self._program.stdin, flush=True)
        frames = int(self._program.stdout.readline())
        os.killpg(self._program.pid, signal.SIGSTOP)
        return frames / (time.perf_counter() - before), 1e3 * (self._cpu_seconds() - cpu) / frames

    def end(self) -> None:
        """Ends the program and its workers."""
        os.killpg(self._program.pid, signal.SIGKILL)
        self._program.wait()

    def _cpu_seconds(self) -> float:
        """Of all its processes, and of threads of them that have ended."""
        used = 0.0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                if int(stat.read_text().rpartition(")")[2].split()[2]) == self._program.pid:
                    clock = ~int(stat.parent.name) << 3 | 2  # clock_getcpuclockid() of a process
                    used += time.clock_gettime(clock)
            except OSError:  # it has just ended
                continue
        return used


def measure(folder: Path, description: str, num_runs: int) -> Iterator[results.Row]:
    """The cells: figures, then ratios of neighboring turns."""
    import tricodec

    from benchmarks.pairs import Spread

    index = folder.parent / "index.parquet"
    tricodec.DatasetIndex.build([folder], index)
    programs = {name: Contender(index, number) for number, name in enumerate(CONTENDERS)}
    found: dict[tuple[str, str], list[tuple[float, float]]] = {name: [] for name in programs}
    try:
        for number in range(num_runs + 1):
            for name, program in list(programs.items())[:: -1 if number % 2 else 1]:
                figures = program.turn()
                if number:  # in the first one imports, and workers start
                    found[name].append(figures)
    finally:
        for program in programs.values():
            program.end()
    cores = len(os.sched_getaffinity(0))
    for (name, setting), runs in found.items():
        row = results.Row("clips in batches", description, name, setting, cores=cores, unit="frames/s")
        yield row.with_runs([rate for rate, _ in runs], cpu_ms=Spread.of([cpu for _, cpu in runs]).median)
    for (setting, other), beside in RATIOS.items():
        pairs = zip(found["tricodec", setting], found[beside], strict=True)
        row = results.Row("clips in batches", description, "tricodec", setting, cores=cores, against=other)
        yield row.with_ratios([its / mine for (_, mine), (_, its) in pairs], note="of CPU time")


def table(facts: Mapping[str, str], rows: Sequence[results.Row]) -> str:
    """The figures for a document."""
    head = ["reader", "setting", "frames/s", "CPU time of a frame", "of the limit", "of torchcodec"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    ratios = {(row.contender, row.setting, row.against): f"{row.value:.2f}x" for row in rows if row.against}
    for row in rows:
        if not row.against and row.value is not None:
            of = [ratios.get((row.contender, row.setting, other), "") for other in ("decoding limit", "torchcodec")]
            cells = [row.contender, row.setting or "a thread a core", f"{row.value:.0f}", f"{row.cpu_ms:.2f} ms", *of]
            lines.append("| " + " | ".join(cells) + " |")
    where = f"{facts['cores']} cores of an {facts['cpu']}, {facts['date'][:10]}"
    how = f"in shuffled batches of {BATCH}; medians of {rows[0].runs} turns of {TURN} batches; ratios of CPU time"
    return f"{where}: {rows[0].input}, {how}.\n\n" + "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=12, help="turns of each; default 12")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "dataset_clips.csv")
    parser.add_argument("--contend", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contend:
        contend(options.contend[0], int(options.contend[1]))
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        videos = Path(folder) / "videos"
        videos.mkdir()
        description = make_videos(videos)
        measured = list(measure(videos, description, options.runs))
    facts = environment(time.monotonic() - started)
    facts["libraries"] = f"{facts['libraries']}, " + ", ".join(
        f"{name} {version(name)}" for name in ("torch", "torchcodec")
    )
    results.write(options.output, facts, measured)
    for row in measured:
        print(row.task, row.contender, row.setting, row.against, row.value, row.unit, row.cpu_ms)
    return 0


if __name__ == "__main__":
    sys.exit(main())
