# SPDX-License-Identifier: Apache-2.0
"""Encoding and transcoding against the ffmpeg command line and PyAV, with the same encoder, preset and threads.

    python -m benchmarks.encode.run            writes benchmarks/results/encode.csv; half an hour on two cores
    python -m benchmarks.encode.run --quick    a minute, small; only shows

Each run is a process of its own (`worker.py`). Contenders run in turns, ours between the others, each round the other
way round (`pairs.turn`), so that what else the machine does hits all of them. A ratio is the median of the rounds' own
ratios, of runs that are next to each other in time. Rows of short runs have more rounds (`rounds_of`), as a disturbance
is a larger part of them. A row continues, to four times as many, until its median is known to 3 %.
PyAV brings encoders of its own. Its x264 makes the stream that ours makes; its x265 (4 against Debian 12's 3.5) and
SVT-AV1 (several versions on) do other work at the same preset. If its stream differs in size by more than 0.5 % it is
shown but not compared.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import pairs, results
from benchmarks.encode.goals import goals_of
from benchmarks.environment import ROOT, environment
from benchmarks.results import Row

SIZES = {"144p": (256, 144), "360p": (640, 360), "720p": (1280, 720), "1080p": (1920, 1080)}
_SAME_ENCODER = 0.005
_THREADS = 2
#: A run shorter than this is repeated more often.
_LONG_SECONDS = 2.0
#: Times as many rounds as asked for that a row may take until the median of its ratios is known.
_MOST = 4

_CODECS = ("h264", "hevc", "av1")
#: size, frames, encoder, presets.
FULL = (
    ("1080p", 120, "libx264", ("medium", "veryfast", "ultrafast")),
    ("720p", 120, "libx264", ("medium", "veryfast", "ultrafast")),
    ("720p", 60, "libx265", ("medium", "veryfast", "ultrafast")),
    ("720p", 60, "libsvtav1", ("8", "10", "12")),
)
QUICK = (
    ("360p", 60, "libx264", ("veryfast", "ultrafast")),
    ("144p", 30, "libx265", ("ultrafast",)),
    ("144p", 30, "libsvtav1", ("12",)),
)
#: Only proves that everything starts.
SMOKE = (("144p", 6, "libx264", ("ultrafast",)),)

Runs = dict[str, list[dict[str, float]]]
"""Of each contender, what the worker said of each round."""


def ffmpeg(*arguments: str) -> None:
    """Runs the command line."""
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *arguments], check=True)


def make_raw(folder: Path, size: str, count: int) -> Path:
    """Raw yuv420p pictures of a moving test pattern."""
    path = folder / f"{size}_{count}.yuv"
    if not path.exists():
        width, height = SIZES[size]
        pattern = f"testsrc2=s={width}x{height}:r=30"
        made = ("-frames:v", str(count), "-pix_fmt", "yuv420p", "-f", "rawvideo", str(path))
        ffmpeg("-f", "lavfi", "-i", pattern, *made)
    return path


def make_movie(folder: Path, size: str, count: int) -> Path:
    """H.264 and AAC in mp4."""
    path = folder / f"{size}_{count}.mp4"
    if not path.exists():
        width, height = SIZES[size]
        pattern = f"testsrc2=s={width}x{height}:r=30:d={count / 30}"
        ffmpeg("-f", "lavfi", "-i", pattern, "-f", "lavfi", "-i", f"sine=d={count / 30}", "-pix_fmt", "yuv420p",
               "-c:v", "libx264", "-c:a", "aac", str(path))  # fmt: skip
    return path


def encode_job(source: Path, size: str, codec: str, preset: str) -> dict[str, Any]:
    """What the worker is told to encode."""
    width, height = SIZES[size]
    return {"task": "encode", "source": str(source), "width": width, "height": height, "codec": codec,
            "preset": preset, "threads": _THREADS}  # fmt: skip


def transcode_job(source: Path, target: Path, preset: str) -> dict[str, Any]:
    """What the worker is told to transcode."""
    return {"task": "transcode", "source": str(source), "target": str(target), "codec": "libx264", "preset": preset}


def worker_command(job: dict[str, Any]) -> list[str]:
    """The process that does a job."""
    return [sys.executable, "-m", "benchmarks.encode.worker", json.dumps(job)]


def run_worker(job: dict[str, Any]) -> dict[str, float]:
    """One run in a process of its own."""
    answer = subprocess.run(worker_command(job), cwd=ROOT, check=True, capture_output=True, text=True).stdout
    result: dict[str, float] = json.loads(answer.splitlines()[-1])
    return result


def rounds_of(rounds: int, seconds: float) -> int:
    """Rounds for a row with a slowest run of so many seconds: as many as asked for, for short ones up to four times."""
    return rounds if rounds == 1 else round(rounds * min(4.0, max(1.0, _LONG_SECONDS / seconds)))


def measure(job: dict[str, Any], contenders: list[str], rounds: int) -> Runs:
    """The rounds of each contender."""
    runs: Runs = {name: [] for name in contenders}
    number, wanted = 0, rounds
    while number < wanted or (number < _MOST * rounds and _best(runs)[1].is_vague):
        for name in pairs.turn(contenders[:1], contenders[1:], number):
            runs[name].append(run_worker({**job, "contender": name}))
        if number == 0:
            wanted = rounds_of(rounds, max(done[0]["seconds"] for done in runs.values()))
        number += 1
    return runs


def compared(runs: Runs) -> dict[str, pairs.Spread]:
    """How many times longer than tricodec each peer took that did the same work."""
    ours = runs["tricodec"]

    def same_work(name: str) -> bool:
        return name == "ffmpeg" or abs(runs[name][0]["bytes"] / ours[0]["bytes"] - 1) <= _SAME_ENCODER

    return {
        name: pairs.Spread.of([their["seconds"] / our["seconds"] for their, our in zip(theirs, ours, strict=True)])
        for name, theirs in runs.items()
        if name != "tricodec" and same_work(name)
    }


def _best(runs: Runs) -> tuple[str, pairs.Spread]:
    return min(compared(runs).items(), key=lambda item: item[1].median)


def rows_of(row: Row, runs: Runs, frames: int, raw_bytes: int) -> list[Row]:
    """A row a contender, and one a peer that is compared."""
    unit = "frames/s" if row.task == "encode" else "s"
    found = []
    for name, done in runs.items():
        values = [frames / run["seconds"] if row.task == "encode" else run["seconds"] for run in done]
        found.append(
            Row(row.task, row.input, name, row.setting, threads=row.threads, unit=unit).with_runs(
                values,
                cpu_ms=statistics.median(run["cpu_seconds"] for run in done) / frames * 1e3,
                memory_mb=statistics.median(run["peak_mb"] for run in done),
                ratio=raw_bytes / done[0]["bytes"],
            )
        )
    for name, spread in compared(runs).items():
        found.append(
            Row(row.task, row.input, "tricodec", row.setting, 0, row.threads, name, spread.median, spread.low,
                spread.high, "x", spread.count)
        )  # fmt: skip
    return found


def encode_rows(folder: Path, plan: tuple[Any, ...], rounds: int) -> Iterator[list[Row]]:
    """Frames a second of each encoder and preset."""
    for size, count, codec, presets in plan:
        source = make_raw(folder, size, count)
        for preset in presets:
            runs = measure(encode_job(source, size, codec, preset), ["tricodec", "pyav", "ffmpeg"], rounds)
            row = Row("encode", f"{codec} {size}", "", preset, threads=_THREADS)
            yield rows_of(row, runs, count, source.stat().st_size)


def transcode_rows(folder: Path, size: str, count: int, presets: tuple[str, ...], rounds: int) -> Iterator[list[Row]]:
    """Seconds of one file to another, threads as each chooses them."""
    source = make_movie(folder, size, count)
    width, height = SIZES[size]
    for preset in presets:
        runs = measure(transcode_job(source, folder / "target.mp4", preset), ["tricodec", "ffmpeg"], rounds)
        yield rows_of(Row("transcode", f"libx264 {size}", "", preset), runs, count, count * width * height * 3 // 2)


def fact_rows(folder: Path, size: str, count: int, codecs: tuple[str, ...]) -> Iterator[list[Row]]:
    """Bit rates and frames in flight, by the parameters of NVIDIA's API."""
    from benchmarks.encode import facts  # which needs a build

    raw = make_raw(folder, size, count)
    width, height = SIZES[size]
    for codec in codecs:
        for rc in ("cbr", "vbr"):
            yield [facts.bit_rate(raw, SIZES[size], codec, rc, width * height * 4)]
    raw = make_raw(folder, size, min(count, 60))
    for codec in codecs:
        for tuning in facts.TUNINGS:
            yield [facts.latency(raw, SIZES[size], codec, tuning)]


def main() -> int:
    """Runs all rows; writes the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", action="store_true", help="small pictures, one round; writes only with --output")
    amount.add_argument("--smoke", action="store_true", help="tiny pictures: only proves that everything starts")
    parser.add_argument(
        "--rounds", type=int, help="of each row, short ones have up to four times as many (default 5, else 1)"
    )
    parser.add_argument("--output", type=Path, help="default benchmarks/results/encode.csv")
    options = parser.parse_args()
    partial: bool = options.quick or options.smoke
    rounds: int = options.rounds or (1 if partial else 5)
    start = time.perf_counter()
    memory = Path("/dev/shm")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        folder = Path(name)
        every = ("medium", "veryfast", "ultrafast")
        parts = (
            (
                encode_rows(folder, SMOKE, rounds),
                transcode_rows(folder, "144p", 6, ("ultrafast",), rounds),
                fact_rows(folder, "144p", 6, ("h264",)),
            )
            if options.smoke
            else (
                encode_rows(folder, QUICK if partial else FULL, rounds),
                transcode_rows(folder, "360p" if partial else "720p", 60 if partial else 300, every, rounds),
                fact_rows(folder, "144p" if partial else "360p", 300, _CODECS),
            )
        )
        for part in parts:
            for measured in part:
                rows += measured
                for row in measured:
                    against = f" of {row.against}" if row.against else ""
                    what = f"{row.task:10} {row.input} {row.setting} {row.contender}{against}"
                    print(f"{what}: {row.value:.4g} {row.unit} ({row.low} to {row.high})", flush=True)
    for goal in goals_of(rows):
        print(goal.describe())
    output = options.output or (None if partial else results.FOLDER / "encode.csv")
    if output is not None:
        results.write(output, {**environment(time.perf_counter() - start), "rounds": rounds}, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
