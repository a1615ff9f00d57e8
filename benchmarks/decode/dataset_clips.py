# SPDX-License-Identifier: Apache-2.0
"""Clips of many files for training: tricodec's loader, torchcodec in a DataLoader, and the decoding limit.

python -m benchmarks.decode.dataset_clips [--runs N] [--output FILE]

All give the same clips in the same shuffled order, in batches. The limit is what this machine decodes of these clips by
`FrameReader.batch` alone: open readers, one thread a core, no loader and no batches. Both packages keep decoders open.
CPU time of all processes is beside each figure, since it depends less on what else runs.
"""

from __future__ import annotations

import argparse
import functools
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.environment import environment

FILES, FRAMES, GOP, LENGTH, BATCH = 64, 48, 48, 16, 4
WIDTH, HEIGHT = 640, 360
OPEN = 16  # decoders that stay open, as in tricodec.Dataset
SEED = 3


def make_videos(folder: Path) -> str:
    """Copies of one clip; gives their description."""
    first = folder / "00.mp4"
    source = f"testsrc2=size={WIDTH}x{HEIGHT}:rate=25,noise=alls=6:allf=t"
    options = f"-frames:v {FRAMES} -c:v libx264 -preset veryfast -pix_fmt yuv420p -bf 2 -g {GOP}".split()
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", source, *options, first], check=True)
    for number in range(1, FILES):
        shutil.copy(first, folder / f"{number:02}.mp4")
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


def ours(clips: Any, order: list[list[int]], num_workers: int, read_ahead_bytes: int) -> int:
    """Batches of tricodec's loader; gives the number of frames."""
    from tricodec.torch import ClipLoader

    loader = ClipLoader(clips, BATCH, seed=SEED, num_workers=num_workers, read_ahead_bytes=read_ahead_bytes)
    frames = 0
    for batch, expected in zip(loader, order, strict=True):
        assert batch["clip"].tolist() == expected
        frames += batch["frames"].shape[0] * batch["frames"].shape[1]
    return frames


def theirs(clips: list[tuple[str, int]], order: list[list[int]], num_workers: int) -> int:
    """The same by torchcodec in a DataLoader."""
    from torch.utils.data import DataLoader

    dataset: Any = TorchcodecClips(clips, 1 if num_workers else 0)
    frames = 0
    for batch in DataLoader(dataset, batch_sampler=order, num_workers=num_workers):
        frames += batch.shape[0] * batch.shape[1]
    dataset.close()
    return frames


def limit(clips: Any, order: list[list[int]]) -> int:
    """The same clips by open readers alone."""
    import tricodec

    transform = tricodec.Transform()
    cores = len(os.sched_getaffinity(0))
    numbers = [number for batch in order for number in batch]

    def read(part: list[int]) -> int:
        opened = functools.lru_cache(OPEN)(lambda row: clips.index.reader(row, device="cpu", num_workers=1))
        frames = 0
        for number in part:
            words = clips._clips.words(number)
            frames += len(opened(clips._clips.row(number)).batch(transform=transform, **words))
        return frames

    with ThreadPoolExecutor(cores) as threads:
        return sum(threads.map(read, [numbers[first::cores] for first in range(cores)]))


def timed(run: Callable[[], int]) -> tuple[float, float]:
    """Frames a second, and CPU milliseconds of a frame."""
    before, cpu = time.perf_counter(), _cpu_seconds()
    frames = run()
    return frames / (time.perf_counter() - before), 1e3 * (_cpu_seconds() - cpu) / frames


def _cpu_seconds() -> float:
    used = [resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def measure(folder: Path, description: str, num_runs: int) -> Iterator[results.Row]:
    """The cells: figures, then ratios of neighboring runs."""
    import tricodec

    from benchmarks.pairs import Spread

    tricodec.DatasetIndex.build([folder], folder.parent / "index.parquet")
    clips = tricodec.Dataset(folder.parent / "index.parquet", clip_length=LENGTH)
    order = list(clips.sampler(BATCH, seed=SEED))
    places = [
        (str(folder / f"{n // (FRAMES // LENGTH):02}.mp4"), n % (FRAMES // LENGTH) * LENGTH) for n in range(len(clips))
    ]
    megabytes = 1 << 20
    contenders: dict[tuple[str, str], Callable[[], int]] = {
        ("decoding limit", ""): lambda: limit(clips, order),
        ("tricodec", "threads"): lambda: ours(clips, order, 0, 64 * megabytes),
        ("tricodec", "threads, nothing read ahead"): lambda: ours(clips, order, 0, 0),
        ("tricodec", "2 workers"): lambda: ours(clips, order, 2, 64 * megabytes),
        ("torchcodec", "0 workers"): lambda: theirs(places, order, 0),
        ("torchcodec", "2 workers"): lambda: theirs(places, order, 2),
    }
    found: dict[tuple[str, str], list[tuple[float, float]]] = {name: [] for name in contenders}
    import tricodec.torch  # imports torch too, which takes seconds

    theirs(places, order[:1], 0)
    limit(clips, order)
    for _ in range(num_runs):
        for name, run in contenders.items():
            found[name].append(timed(run))
    cores = len(os.sched_getaffinity(0))
    for (name, setting), runs in found.items():
        row = results.Row("clips in batches", description, name, setting, cores=cores, unit="frames/s")
        yield row.with_runs([rate for rate, _ in runs], cpu_ms=Spread.of([cpu for _, cpu in runs]).median)
    for setting, (other, other_setting) in {
        "threads": ("decoding limit", ""), "2 workers": ("decoding limit", ""),
        "threads ": ("torchcodec", "0 workers"), "2 workers ": ("torchcodec", "2 workers"),
    }.items():  # fmt: skip
        pairs = zip(found["tricodec", setting.strip()], found[other, other_setting], strict=True)
        row = results.Row("clips in batches", description, "tricodec", setting.strip(), cores=cores, against=other)
        yield row.with_ratios([mine / its for (mine, _), (its, _) in pairs])


def table(facts: Mapping[str, str], rows: Sequence[results.Row]) -> str:
    """The figures for a document."""
    lines = ["| reader | setting | frames/s | CPU time of a frame |", "|---|---|---|---|"]
    lines += [
        f"| {row.contender} | {row.setting or 'a thread a core'} | {row.value:.0f} | {row.cpu_ms:.2f} ms |"
        for row in rows
        if not row.against and row.value is not None
    ]
    where = f"{facts['cores']} cores of an {facts['cpu']}, {facts['date'][:10]}"
    how = f"in shuffled batches of {BATCH}; medians of {rows[0].runs} runs"
    return f"{where}: {rows[0].input}, {how}.\n\n" + "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2, help="default 2")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "dataset_clips.csv")
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        videos = Path(folder) / "videos"
        videos.mkdir()
        description = make_videos(videos)
        measured = list(measure(videos, description, options.runs))
    results.write(options.output, environment(time.monotonic() - started), measured)
    for row in measured:
        print(row.task, row.contender, row.setting, row.against, row.value, row.unit, row.cpu_ms)
    return 0


if __name__ == "__main__":
    sys.exit(main())
