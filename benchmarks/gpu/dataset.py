# SPDX-License-Identifier: Apache-2.0
"""Clips of many files on a GPU: a data set's loader beside one reader after another and beside the engines alone.

python -m benchmarks.gpu.dataset [--build build/gpu] [--rounds N] [--folder DIR] [--output FILE]

64 files of 300 frames of 1920x1080 with two groups of pictures each, as tensors of 224x224: whole files, and windows of
16 frames in random order. The engines' rate comes from tricodec_decode_throughput of --build. Needs the ffmpeg command
with libx264, pyarrow, and PyTorch for CUDA.
"""

from __future__ import annotations

import argparse
import functools
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.environment import environment
from benchmarks.gpu.cells import MANY_THREADS, _run
from benchmarks.gpu.run import _ENCODERS, _SOURCE, _ffmpeg

FILES, FRAMES, GOP, WINDOW, SIDE = 64, 300, 150, 16, 224
BATCHES = {FRAMES: 2, WINDOW: 32}
READ_AHEAD_BYTES = 4 << 30
SINGLE_WINDOWS, SINGLE_FILES = 200, 12  # of one reader after another, which is slow
INPUT = f"{FILES} h264 1920x1080 of {FRAMES} frames, {FRAMES // GOP} GOPs"
OPTIONS: dict[str, Any] = {"size": (SIDE, SIDE), "layout": "CHW"}


def make_videos(folder: Path) -> list[Path]:
    """Copies of one clip, which is encoded first."""
    paths = [folder / f"{number:02}.mp4" for number in range(FILES)]
    source = _SOURCE.format(size="1920x1080")
    options = ["-frames:v", str(FRAMES), "-pix_fmt", "yuv420p", *_ENCODERS["h264"].format(gop=GOP).split()]
    _ffmpeg("-f", "lavfi", "-i", source, *options, str(paths[0]))
    for path in paths[1:]:
        shutil.copy(paths[0], path)
    return paths


def by_loader(index: Path, length: int) -> int:
    """An epoch in random order; gives the number of frames."""
    import torch
    import tricodec
    from tricodec.torch import ClipLoader

    clips = tricodec.Dataset(index, clip_length=length, device="cuda", **OPTIONS)
    frames = 0
    for batch in ClipLoader(clips, BATCHES[length], seed=1, read_ahead_bytes=READ_AHEAD_BYTES):
        frames += batch["frames"].shape[0] * batch["frames"].shape[1]
    torch.cuda.synchronize()
    clips.close()
    return frames


def one_after_another(paths: list[Path], length: int) -> int:
    """Clips in random order by open readers, a call each."""
    import tricodec

    chosen = [(path, start) for path in paths for start in range(0, FRAMES - length + 1, length)]
    random.Random(1).shuffle(chosen)
    opened = functools.lru_cache(FILES)(lambda path: tricodec.FrameReader(path, device="cuda"))
    frames = 0
    for path, start in chosen[: SINGLE_FILES if length == FRAMES else SINGLE_WINDOWS]:
        array = opened(path).batch(range(start, start + length), **OPTIONS)
        array.wait()
        frames += len(array)
    return frames


def timed(run: Callable[[], int]) -> tuple[float, float]:
    """Frames a second, and CPU milliseconds of a frame."""
    start, cpu = time.perf_counter(), time.process_time()
    frames = run()
    return frames / (time.perf_counter() - start), 1e3 * (time.process_time() - cpu) / frames


def measure(folder: Path, build: Path | None, rounds: int) -> Iterator[results.Row]:
    """Each cell, and the ratios of neighboring runs."""
    import tricodec

    paths = make_videos(folder)
    index = folder / "index.parquet"
    tricodec.DatasetIndex.build([folder], index)
    engines = None
    if build is not None:
        options: dict[str, str | int] = {"mode": "decoder", "loop": 2, "rounds": 3, "threads": MANY_THREADS}
        engines = results.Row("engines alone", INPUT, "tricodec", unit="frames/s").with_runs(
            _run(build, paths[0], {**options, "warm": str(paths[0])})["fps"]
        )
        yield engines
    for task, length in (("whole files", FRAMES), (f"windows of {WINDOW} frames", WINDOW)):
        ways: dict[str, Callable[[], int]] = {
            "loader": functools.partial(by_loader, index, length),
            "one reader after another": functools.partial(one_after_another, paths, length),
        }
        found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        ways["loader"]()  # makes the decoders
        for _ in range(rounds):
            for way, run in ways.items():
                found[way].append(timed(run))
        for way, runs in found.items():
            row = results.Row(task, INPUT, "tricodec", way, unit="frames/s")
            yield row.with_runs([rate for rate, _ in runs], cpu_ms=sorted(cpu for _, cpu in runs)[len(runs) // 2])
        rates = {way: [rate for rate, _ in runs] for way, runs in found.items()}
        others = {"one reader after another": rates["one reader after another"]}
        if engines is not None and engines.value:
            others["engines alone"] = [engines.value] * rounds
        for other, values in others.items():
            row = results.Row(task, INPUT, "tricodec", "loader", against=other)
            yield row.with_ratios([mine / its for mine, its in zip(rates["loader"], values, strict=True)])


def table(facts: Mapping[str, str], rows: Sequence[results.Row]) -> str:
    """The figures for a document."""
    ratios = {(row.task, row.setting, row.against): f"{row.value:.2f}x" for row in rows if row.against}
    lines = ["| read | by | frames/s | of the engines | of one reader after another |", "|---|---|---|---|---|"]
    for row in rows:
        if not row.against:
            of = [
                ratios.get((row.task, row.setting, other), "")
                for other in ("engines alone", "one reader after another")
            ]
            lines.append(f"| {row.task} | {row.setting} | {row.value:,.0f} | {' | '.join(of)} |")
    where = f"{facts['gpu']} with {facts['cores']} cores, {facts['date'][:10]}"
    return f"{where}: {INPUT}, to {SIDE}x{SIDE}; medians of {rows[-1].runs} rounds.\n\n" + "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, help="the build folder of tools/gpu_check.sh")
    parser.add_argument("--rounds", type=int, default=3, help="default 3")
    parser.add_argument("--folder", type=Path, help="an empty folder for the videos; default a temporary one")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "gpu_dataset.csv")
    options = parser.parse_args()
    started = time.monotonic()
    measured = []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for row in measure(Path(folder), options.build, options.rounds):
            measured.append(row)
            print(row.task, row.setting, row.against, row.value, row.unit, row.cpu_ms, flush=True)
    results.write(options.output, environment(time.monotonic() - started), measured)
    return 0


if __name__ == "__main__":
    sys.exit(main())
