# SPDX-License-Identifier: Apache-2.0
"""Encoding and transcoding against the ffmpeg command line and PyAV, with the same encoder, preset and threads.

    python benchmarks/encode.py            writes benchmarks/results/encode.json; half an hour on two cores
    python benchmarks/encode.py --quick    a minute, small; only shows

Each run is a process of its own (`encode_worker.py`). Contenders run in turns, ours between the others, each round the
other way round (`pairs.turn`), so that what else the machine does hits all of them. A figure is the median of the
rounds. A ratio is the median of the rounds' own ratios, whose runs stand side by side in time, and comes with their
quartiles; rows of short runs have more rounds (`rounds_of`), as a moment of the machine's is a larger part of them. A
row goes on, to four times as many, until its median is known to 3 % (`pairs.is_vague`), whoever is ahead. Beside it
stands the ratio of CPU seconds, of the medians, which says whose work is less where the clock says little.
PyAV brings encoders of its own. Its x264 makes the stream that ours makes; its x265 (4 against Debian 12's 3.5) and
SVT-AV1 (several versions on) do other work at the same preset. Where its stream differs in size by more than 0.5 % it
is shown but not compared.
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

import encode_facts
import environment
import pairs
from goals import Goal, judged

HERE = Path(__file__).resolve().parent
SIZES = {"144p": (256, 144), "360p": (640, 360), "720p": (1280, 720), "1080p": (1920, 1080)}
_SAME_ENCODER = 0.005
_THREADS = 2
#: A run shorter than this is repeated more often.
_LONG_SECONDS = 2.0
#: Times as many rounds as asked for that a row may take until the median of its ratios is known.
_MOST = 4

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


def ffmpeg(*arguments: str) -> None:
    """Runs the command line."""
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *arguments], check=True)


def make_raw(folder: Path, size: str, count: int) -> Path:
    """Raw yuv420p pictures of a moving test pattern."""
    path = folder / f"{size}_{count}.yuv"
    if not path.exists():
        width, height = SIZES[size]
        pattern = f"testsrc2=s={width}x{height}:r=30"
        ffmpeg(
            "-f", "lavfi", "-i", pattern, "-frames:v", str(count), "-pix_fmt", "yuv420p", "-f", "rawvideo", str(path)
        )
    return path


def make_movie(folder: Path, size: str, count: int) -> Path:
    """H.264 and AAC in mp4."""
    path = folder / f"{size}_{count}.mp4"
    width, height = SIZES[size]
    pattern = f"testsrc2=s={width}x{height}:r=30:d={count / 30}"
    ffmpeg("-f", "lavfi", "-i", pattern, "-f", "lavfi", "-i", f"sine=d={count / 30}", "-pix_fmt", "yuv420p",
           "-c:v", "libx264", "-c:a", "aac", str(path))  # fmt: skip
    return path


def run_worker(job: dict[str, Any]) -> dict[str, float]:
    """One run in a process of its own."""
    command = [sys.executable, str(HERE / "encode_worker.py"), json.dumps(job)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    result: dict[str, float] = json.loads(answer.splitlines()[-1])
    return result


def rounds_of(rounds: int, seconds: float) -> int:
    """Rounds for a row whose slowest run takes so long: as many as asked for, up to four times that for short ones."""
    return rounds if rounds == 1 else round(rounds * min(4.0, max(1.0, _LONG_SECONDS / seconds)))


def measure(job: dict[str, Any], contenders: list[str], rounds: int) -> dict[str, dict[str, Any]]:
    """Of each contender: the seconds of all rounds and their median, bytes, and the median peak of its memory."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in contenders}
    number, wanted = 0, rounds
    while number < wanted or (number < _MOST * rounds and is_unknown(summed(runs))):
        for name in pairs.turn(contenders[:1], contenders[1:], number):
            runs[name].append(run_worker({**job, "contender": name}))
        if number == 0:
            wanted = rounds_of(rounds, max(done[0]["seconds"] for done in runs.values()))
        number += 1
    return summed(runs)


def summed(runs: dict[str, list[dict[str, float]]]) -> dict[str, dict[str, Any]]:
    """Of each contender, its rounds: all seconds, and the medians of what else was measured."""
    return {
        name: {
            "seconds": [round(run["seconds"], 4) for run in done],
            "median": statistics.median(run["seconds"] for run in done),
            "cpu_seconds": round(statistics.median(run["cpu_seconds"] for run in done), 3),
            "bytes": int(done[0]["bytes"]),
            "peak_mb": round(statistics.median(run["peak_mb"] for run in done), 1),
        }
        for name, done in runs.items()
    }


def ratios_of(figures: dict[str, dict[str, Any]], name: str) -> list[float]:
    """Of each round, how many times longer a contender took than tricodec."""
    ours, theirs = figures["tricodec"]["seconds"], figures[name]["seconds"]
    return [their / our for their, our in zip(theirs, ours, strict=True)]


def is_unknown(figures: dict[str, dict[str, Any]]) -> bool:
    """True if the median of the ratios to the best peer is vague."""
    return pairs.is_vague(ratios_of(figures, compare({}, figures)["best_peer"]))


def compare(row: dict[str, Any], figures: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The row with its contenders, who of them is compared, and the ratio to the best of those."""
    ours = figures["tricodec"]
    peers = {
        name: each
        for name, each in figures.items()
        if name != "tricodec" and (name == "ffmpeg" or abs(each["bytes"] / ours["bytes"] - 1) <= _SAME_ENCODER)
    }
    ratios = {name: ratios_of(figures, name) for name in peers}
    best = min(ratios, key=lambda name: statistics.median(ratios[name]))
    low, middle, high = pairs.quartiles(ratios[best])
    return {
        **row, "contenders": figures, "compared": sorted(peers), "best_peer": best, "ratio": round(middle, 4),
        "ratio_quartiles": [round(low, 4), round(high, 4)], "rounds": len(ours["seconds"]),
        "cpu_ratio": round(figures[best]["cpu_seconds"] / ours["cpu_seconds"], 4),
    }  # fmt: skip


def encode_rows(folder: Path, plan: tuple[Any, ...], rounds: int) -> Iterator[dict[str, Any]]:
    """Frames a second of each encoder and preset."""
    for size, count, codec, presets in plan:
        width, height = SIZES[size]
        source = str(make_raw(folder, size, count))
        for preset in presets:
            job = {"task": "encode", "source": source, "width": width, "height": height, "codec": codec,
                   "preset": preset, "threads": _THREADS}  # fmt: skip
            figures = measure(job, ["tricodec", "pyav", "ffmpeg"], rounds)
            for each in figures.values():
                each["fps"] = round(count / each["median"], 2)
            row = {"task": "encode", "size": size, "codec": codec, "preset": preset, "threads": _THREADS,
                   "frames": count}  # fmt: skip
            yield compare(row, figures)


def transcode_rows(folder: Path, size: str, count: int, presets: tuple[str, ...], rounds: int) -> Iterator[Any]:
    """Seconds of one file to another, threads as each chooses them."""
    source = make_movie(folder, size, count)
    for preset in presets:
        job = {"task": "transcode", "source": str(source), "target": str(folder / "target.mp4"), "codec": "libx264",
               "preset": preset}  # fmt: skip
        figures = measure(job, ["tricodec", "ffmpeg"], rounds)
        row = {"task": "transcode", "size": size, "codec": "libx264", "preset": preset, "frames": count}
        yield compare(row, figures)


def fact_rows(folder: Path, size: str, count: int, codecs: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Bit rates and frames in flight, by the parameters of NVIDIA's API."""
    raw = make_raw(folder, size, count)
    width, height = SIZES[size]
    for codec in codecs:
        for rc in ("cbr", "vbr"):
            yield encode_facts.bit_rate(raw, SIZES[size], codec, rc, width * height * 4)
    raw = make_raw(folder, size, min(count, 60))
    for codec in codecs:
        for tuning in encode_facts.TUNINGS:
            yield encode_facts.latency(raw, SIZES[size], codec, tuning)


def goals_of(rows: list[dict[str, Any]]) -> list[Goal]:
    """Not slower than the better of the others, no more memory than the command line, rates met, nothing held back."""
    found = []
    for row in rows:
        name = "_".join(str(row[key]) for key in ("task", "codec", "size", "preset", "rc", "tuning") if key in row)
        if row["task"] in ("encode", "transcode"):
            ours, peer = row["contenders"]["tricodec"], row["contenders"][row["best_peer"]]
            unit = "fps" if row["task"] == "encode" else "s"
            figure = "fps" if row["task"] == "encode" else "median"
            found.append(Goal(name, ours[figure], unit, row["best_peer"], peer[figure], row["ratio"], 1.0, True,
                              row["ratio"] >= 1.0))  # fmt: skip
            mb, theirs = ours["peak_mb"], row["contenders"]["ffmpeg"]["peak_mb"]
            ratio = theirs / max(mb, 1.0)
            found.append(Goal(f"memory_{name}", mb, "MB", "ffmpeg", theirs, ratio, 1.0, True, ratio >= 1.0))
        elif row["task"] == "bit_rate":
            found.append(judged(name, row["error_percent"], "%", 5.0, at_least=False))
        elif row["tuning"] == "ultra_low_latency" and row["codec"] != "av1":  # SVT-AV1 has no mode without delay
            found.append(judged(name, row["frames_in_flight"], "frames", 0.0, at_least=False))
    return found


def describe(row: dict[str, Any]) -> str:
    """One line for people."""
    if row["task"] == "bit_rate":
        return f"bit rate   {row['codec']} {row['rc']}: {row['got']} for {row['wanted']} ({row['error_percent']} %)"
    if row["task"] == "latency":
        return f"latency    {row['codec']} {row['tuning']}: {row['frames_in_flight']} frames in flight"
    each = "; ".join(
        f"{name} {value['median']:.2f} s, CPU {value['cpu_seconds']:.2f} s, {value['peak_mb']:.0f} MB"
        for name, value in row["contenders"].items()
    )
    what = f"{row['task']:10} {row['size']} {row['codec']} {row['preset']}"
    low, high = row["ratio_quartiles"]
    ratio = f"{row['ratio']:.3f}x ({low:.3f} to {high:.3f}, CPU {row['cpu_ratio']:.3f}x)"
    return f"{what}: {ratio} of {row['best_peer']} ({each})"


def main() -> int:
    """Runs all rows; writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", action="store_true", help="small pictures, one round; writes only with --output")
    amount.add_argument("--smoke", action="store_true", help="tiny pictures: only proves that everything starts")
    parser.add_argument(
        "--rounds", type=int, help="of each row, short ones have up to four times as many (default 5, else 1)"
    )
    parser.add_argument("--output", type=Path, help="default benchmarks/results/encode.json")
    options = parser.parse_args()
    partial: bool = options.quick or options.smoke
    rounds: int = options.rounds or (1 if partial else 5)
    start = time.perf_counter()
    memory = Path("/dev/shm")
    rows = []
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
                fact_rows(folder, "144p" if partial else "360p", 300, encode_facts.CODECS),
            )
        )
        for part in parts:
            for row in part:
                rows.append(row)
                print(describe(row), flush=True)
    goals = goals_of(rows)
    for goal in goals:
        if not goal.passed:
            print(f"missed: {goal.name}: {goal.value:.4g} {goal.unit}, ratio {goal.ratio}, target {goal.target}")
    result = {
        "rounds": rounds,
        "environment": environment.environment(time.perf_counter() - start),
        "rows": rows,
        "goals": [goal.to_dict() for goal in goals],
    }
    output = options.output or (None if partial else HERE / "results" / "encode.json")
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
