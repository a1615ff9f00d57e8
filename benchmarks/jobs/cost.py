# SPDX-License-Identifier: Apache-2.0
"""What a file of a job costs: CPU time, and requests to a store. And what a million files would take.

python -m benchmarks.jobs.cost    writes benchmarks/results/jobs.csv
python -m benchmarks.jobs.cost --gpu --output FILE    files a second of one GPU, for rows of jobs.csv
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.decode.remote import serving
from benchmarks.environment import environment
from benchmarks.results import Row

_RATE, _SECONDS = 25, 10
_MILLION = 1_000_000
_CORES = 1_000
#: What S3 allows for one prefix, as its documents say.
_GETS_PER_SECOND = 5_500

_FEW, _SOME, _MANY = 2, 6, 102
_ON_GPU = "files a second on a GPU"
_GPU_FILES = (64, 320)
_QUICK = ("compress", "probe")

JOBS: dict[str, tuple[str, dict[str, Any]]] = {
    "transcode": ("transcode", {"size": [360, 640], "preset": "veryfast"}),
    "frames, 16 of 224x224": ("frames", {"num_frames": 16, "size": [224, 224], "device": "cpu"}),
    "scene_cuts": ("scene_cuts", {"device": "cpu"}),
    "compress": ("compress", {}),
    "probe": ("probe", {}),
}


def make_clip(path: Path) -> str:
    """Ten seconds of moving pictures, with the table in front; how it is called."""
    picture = f"testsrc2=size=1280x720:rate={_RATE}:duration={_SECONDS},noise=alls=6:allf=t"
    options = "-c:v libx264 -preset veryfast -crf 30 -g 50 -pix_fmt yuv420p -movflags +faststart"
    command = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", picture, *options.split(), path]
    subprocess.run(command, check=True)
    return f"h264 1280x720, {_RATE * _SECONDS} frames, {path.stat().st_size / 1e6:.1f} MB"


def cpu_seconds(kind: str, options: dict[str, Any], source: Path, output: Path) -> float:
    """CPU time of worker processes that do all files of a folder."""
    import tricodec

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    summary = tricodec.batch(kind, source, output, options=options, workers=1)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not summary.is_complete:
        raise RuntimeError(f"{kind}: {summary.errors}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(folder: Path, num_runs: int) -> Iterator[Row]:
    """The rows."""
    from tricodec._jobs._job import make_job, tasks_of
    from tricodec._jobs._task import perform

    clip = folder / "clip.mp4"
    what = make_clip(clip)
    sources = {}
    for count in (_FEW, _SOME, _MANY):
        sources[count] = folder / f"videos{count}"
        sources[count].mkdir()
        for number in range(count):
            shutil.copy(clip, sources[count] / f"{number}.mp4")
    for name, (kind, options) in JOBS.items():
        runs = []
        many = _MANY if kind in _QUICK else _SOME
        for run in range(num_runs):
            # The difference leaves out the start of the process.
            took = [
                cpu_seconds(kind, options, sources[count], folder / f"{kind}{run}{count}") for count in (_FEW, many)
            ]
            runs.append(1e3 * (took[1] - took[0]) / (many - _FEW))
        yield Row("CPU time of a file", what, "tricodec", name, cores=1, unit="ms").with_runs(runs)
        if kind == "compress":  # reads local files alone
            continue
        with serving(clip, max(os.sched_getaffinity(0))) as server:
            server.ask(0)
            (task,) = tasks_of(make_job(kind, server.url, folder / f"{kind}-remote", options=options))
            row = perform(task)
            if row["status"] != "done":
                raise RuntimeError(row["error"])
            num_bytes, num_requests = server.ask()
        yield Row("requests of a file", what, "tricodec", name, value=float(num_requests), unit="requests", runs=1)
        yield Row("bytes of a file", what, "tricodec", name, value=num_bytes / 1e6, unit="MB", runs=1)


def measure_gpu(folder: Path, num_runs: int) -> Iterator[Row]:
    """Files a second of jobs that decode on a GPU, which a worker a core shares."""
    import tricodec

    clip = folder / "clip.mp4"
    what = make_clip(clip)
    sources = [folder / f"videos{count}" for count in _GPU_FILES]
    for source, count in zip(sources, _GPU_FILES, strict=True):
        source.mkdir()
        for number in range(count):
            os.link(clip, source / f"{number}.mp4")
    workers = len(os.sched_getaffinity(0))
    for name, (kind, options) in JOBS.items():
        if options.get("device") != "cpu":  # transcode encodes there, too, and needs NVENC
            continue
        rates = []
        for run in range(num_runs):
            took = []
            for source in sources:
                start = time.perf_counter()
                output = folder / f"{kind}{run}{source.name}"
                summary = tricodec.batch(kind, source, output, options={**options, "device": "cuda"}, workers=workers)
                took.append(time.perf_counter() - start)
                if not summary.is_complete:
                    raise RuntimeError(f"{kind}: {summary.errors}")
            # The difference leaves out the start of the processes.
            rates.append((_GPU_FILES[1] - _GPU_FILES[0]) / (took[1] - took[0]))
        yield Row(_ON_GPU, what, "tricodec", name, cores=workers, unit="files/s").with_runs(rates)


def table(facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """The cost model, for a document."""
    cells = {(row.task, row.setting): row.value for row in rows}
    lines = [
        f"| job | files/s a core | files/s a GPU | {_MILLION:,} files | on {_CORES:,} cores | GETs of a file | MB of a "
        f"file | the store's limit | cores that reach it |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in JOBS:
        rate: float = 1e3 / (cells["CPU time of a file", name] or 1)
        requests = cells.get(("requests of a file", name))
        size = cells.get(("bytes of a file", name))
        gpu = cells.get((_ON_GPU, name))
        on_gpu = f"{gpu:,.3g}" if gpu else ""
        end = "| | | |"
        if requests and size is not None:
            limit = _GETS_PER_SECOND / requests
            end = f"| {requests:.0f} | {size:.2f} | {limit:,.0f} files/s | {limit / rate:,.0f} |"
        lines.append(
            f"| `{name}` | {rate:,.3g} | {on_gpu} | {_MILLION / rate / 3600:,.3g} core hours | "
            f"{_MILLION / rate / _CORES / 60:,.3g} min {end}" + (" |" if end == "| | | |" else "")
        )
    what = next(iter(rows)).input
    return (
        f"One core of an {facts['cpu']}, {facts['date'][:10]}; {what}. Measured: CPU time, requests and bytes of a "
        f"file. Computed: the rest, with {_GETS_PER_SECOND:,} GETs a second, which S3 states for a prefix.\n\n"
        + "\n".join(lines)
        + "\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--gpu", action="store_true", help="files a second of a GPU alone")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "jobs.csv")
    options = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        rows = list((measure_gpu if options.gpu else measure)(Path(folder), options.runs))
    results.write(options.output, environment(time.monotonic() - start), rows)
    for row in rows:
        print(row.task, row.setting, row.value, row.unit)


if __name__ == "__main__":
    main()
