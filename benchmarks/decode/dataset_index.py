# SPDX-License-Identifier: Apache-2.0
"""How many small videos a second an index takes, and how long readers need to open with it.

python -m benchmarks.decode.dataset_index [--videos N] [--runs N] [--output FILE]

ffprobe, one process a file on all cores, is beside it: what many scripts do.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks import results
from benchmarks.environment import environment

FRAMES, GOP = 150, 50
LOOPS = 200
PROBED = 50  # of the files; ffprobe is slow
_PROBE = "ffprobe -v error -select_streams v:0 -show_streams -show_entries packet=pts,pos,size,flags -of json".split()


def make_videos(folder: Path, count: int) -> str:
    """Copies of a clip of six seconds; gives its description."""
    path = folder / "0000.mp4"
    source = ["-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25", "-frames:v", str(FRAMES)]
    options = f"-c:v libx264 -preset veryfast -bf 2 -g {GOP} -movflags +faststart".split()
    subprocess.run(["ffmpeg", "-v", "error", "-y", *source, *options, path], check=True)
    for number in range(1, count):
        shutil.copy(path, folder / f"{number:04}.mp4")
    return f"{count} mp4 of {path.stat().st_size >> 10} KiB, {FRAMES} frames"


def make_long_video(clip: Path, path: Path) -> str:
    """The clip many times in Matroska, which has no table of packets; gives its description."""
    loop = ["-stream_loop", str(LOOPS - 1), "-i", clip, "-c", "copy", path]
    subprocess.run(["ffmpeg", "-v", "error", "-y", *loop], check=True)
    return f"mkv of {path.stat().st_size >> 20} MiB, {LOOPS * FRAMES} frames"


def index_seconds(source: Path, output: Path, *, again: bool = False) -> float:
    """A whole index, or one that is there already."""
    import tricodec

    if not again:
        output.unlink(missing_ok=True)
    before = time.perf_counter()
    summary = tricodec.DatasetIndex.build([source], output)
    assert summary.statuses == {"ok": summary.num_videos}
    return time.perf_counter() - before


def probe_seconds(paths: list[Path]) -> float:
    """ffprobe with packets, of a part of the files."""
    before = time.perf_counter()
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        list(threads.map(lambda path: subprocess.run([*_PROBE, path], check=True, capture_output=True), paths))
    return time.perf_counter() - before


def open_ms(output: Path, num_rows: int, num_frames: int, *, known: bool) -> float:
    """Milliseconds of a reader that says its number of frames."""
    import tricodec

    index = tricodec.DatasetIndex(output)
    before = time.perf_counter()
    for row in range(num_rows):
        reader = index.reader(row, device="cpu") if known else tricodec.FrameReader(index.source(row), device="cpu")
        with reader:
            assert len(reader) == num_frames
    return 1e3 * (time.perf_counter() - before) / num_rows


def measure(folder: Path, clip: str, count: int, num_runs: int) -> Iterator[results.Row]:
    """The cells."""
    paths = sorted(folder.iterdir())
    output = folder.parent / "index.parquet"
    cores = len(os.sched_getaffinity(0))
    built, updated, probed = [], [], []
    part = min(PROBED, count)
    for _ in range(num_runs):
        built.append(count / index_seconds(folder, output))
        probed.append(part / probe_seconds(paths[:part]))
        updated.append(count / index_seconds(folder, output, again=True))
    row = results.Row("index", clip, "tricodec", cores=cores, unit="files/s")
    yield row.with_runs(built)
    yield results.Row("index", clip, "ffprobe", cores=cores, unit="files/s").with_runs(probed)
    ratio = results.Row("index", clip, "tricodec", cores=cores, against="ffprobe", unit="x")
    yield ratio.with_ratios(ours / theirs for ours, theirs in zip(built, probed, strict=True))
    yield results.Row("update without changes", clip, "tricodec", cores=cores, unit="files/s").with_runs(updated)
    yield from opening(output, clip, min(count, 100), FRAMES, num_runs)
    long = folder.parent / "long.mkv"
    clip = make_long_video(paths[0], long)
    index_seconds(long, output)
    yield from opening(output, clip, 1, LOOPS * FRAMES, num_runs)


def opening(output: Path, clip: str, num_rows: int, num_frames: int, num_runs: int) -> Iterator[results.Row]:
    """How long a reader needs until it knows its frames."""
    for known, setting in ((True, "with the index"), (False, "without it")):
        runs = [open_ms(output, num_rows, num_frames, known=known) for _ in range(num_runs)]
        yield results.Row("open a reader", clip, "tricodec", setting, unit="ms").with_runs(runs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--videos", type=int, default=1000, help="files (default 1000)")
    parser.add_argument("--runs", type=int, default=5, help="default 5")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "dataset_index.csv")
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        videos = Path(folder) / "videos"
        videos.mkdir()
        clip = make_videos(videos, options.videos)
        measured = list(measure(videos, clip, options.videos, options.runs))
    results.write(options.output, environment(time.monotonic() - started), measured)
    for row in measured:
        print(row.task, row.contender, row.setting, row.against, row.value, row.unit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
