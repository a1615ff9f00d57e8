# SPDX-License-Identifier: Apache-2.0
"""Measures the GPU engine and writes benchmarks/results/gpu.json (docs/benchmarks.md).

python benchmarks/gpu.py --build build/gpu    after tools/gpu_check.sh has built there; it calls this script itself

Clips of 1920x1080 are made once by the ffmpeg command line under BUILD/clips: 300 frames, and a file of ten copies.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from environment import environment

_ENCODERS = {
    "h264": "-c:v libx264 -preset veryfast -crf 27 -x264-params keyint=60:bframes=3",
    "hevc": "-c:v libx265 -preset ultrafast -crf 28 -x265-params keyint=60:bframes=3:log-level=error",
}
_SOURCE = "mandelbrot=size=1920x1080:rate=30:end_scale=0.05"
_SHORT_FRAMES = 10
_MANY_THREADS = 14  # two decoders for each engine of the largest GPUs


@dataclasses.dataclass(frozen=True)
class Goal:
    """A figure against what it should reach in the same run."""

    name: str
    value: float
    unit: str
    of: str
    of_value: float
    target: float
    at_least: bool

    def row(self) -> dict[str, Any]:
        """As it stands in the results, with the ratio and whether it is reached."""
        ratio = self.value / self.of_value
        passed = ratio >= self.target if self.at_least else ratio <= self.target
        return {**dataclasses.asdict(self), "ratio": round(ratio, 3), "pass": passed}


def _ffmpeg(*arguments: str) -> None:
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *arguments], check=True)


def make_clips(folder: Path) -> dict[str, dict[str, Path]]:
    """The paths of each codec's clips: `short`, `clip` and `long`; those that are there are taken as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    clips: dict[str, dict[str, Path]] = {}
    for codec, options in _ENCODERS.items():
        clip, long, short = (folder / f"{codec}_{part}.mkv" for part in ("300", "3000", "10"))
        if not clip.is_file():
            _ffmpeg(
                "-f", "lavfi", "-i", _SOURCE, "-frames:v", "300", "-pix_fmt", "yuv420p", *options.split(), str(clip)
            )
        if not long.is_file():
            _ffmpeg("-stream_loop", "9", "-i", str(clip), "-c", "copy", str(long))
        if not short.is_file():
            _ffmpeg("-i", str(clip), "-frames:v", str(_SHORT_FRAMES), "-c", "copy", str(short))
        clips[codec] = {"clip": clip, "long": long, "short": short}
    return clips


def measure(build: Path, name: str, file: Path, **options: str | int) -> dict[str, Any]:
    """One run of decode_throughput. The first round starts the device and is left out of the median."""
    flags = [text for key, value in options.items() for text in (f"--{key.replace('_', '-')}", str(value))]
    command = [str(build / "benchmarks/cpp/tricodec_decode_throughput"), *flags, str(file)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    raw = json.loads(output)
    warm = slice(1, None)
    return {
        "name": name,
        "unit": "frames/s",
        "median": round(statistics.median(raw["fps"][warm]), 1),
        "min": min(raw["fps"][warm]),
        "max": max(raw["fps"][warm]),
        "first_round": raw["fps"][0],
        "cpu_us_per_frame": round(statistics.median(raw["cpu_us_per_frame"][warm]), 1),
        "first_frame_ms": round(statistics.median(raw["first_frame_ms"][warm]), 2),
        "first_frame_ms_first_round": raw["first_frame_ms"][0],
        "threads": raw["threads"],
        "rounds": len(raw["fps"]),
    }


def measure_codec(build: Path, codec: str, clips: dict[str, Path], rounds: int) -> list[dict[str, Any]]:
    """What one decoder, the engines together, one file and short clips reach."""
    many = {"threads": _MANY_THREADS}
    return [
        measure(build, f"{codec}.one_decoder", clips["clip"], loop=3, rounds=rounds),
        measure(build, f"{codec}.all_engines", clips["clip"], loop=3, rounds=rounds, **many),
        measure(build, f"{codec}.one_file_frames", clips["long"], mode="iterate", rounds=rounds),
        measure(build, f"{codec}.one_file_224_float16", clips["long"], mode="batch", rounds=rounds),
        measure(build, f"{codec}.one_file_batches_of_32", clips["long"], mode="batches", rounds=rounds),
        measure(build, f"{codec}.many_files_frames", clips["long"], mode="iterate", rounds=rounds, threads=8),
        measure(build, f"{codec}.short_clips", clips["short"], rounds=10 * rounds, **many),
        measure(build, f"{codec}.one_file_cpu", clips["clip"], mode="iterate", rounds=2, device="cpu"),
    ]


def goals_of(codec: str, cells: list[dict[str, Any]]) -> list[Goal]:
    """The issue's goals that need no peer; the limit is what all engines reach in this run."""
    value = {cell["name"].removeprefix(f"{codec}."): cell["median"] for cell in cells}
    limit = value["all_engines"]

    def at_least(name: str, target: float) -> Goal:
        return Goal(f"{codec}.{name}", value[name], "frames/s", f"{codec}.all_engines", limit, target, True)

    return [
        at_least("one_file_frames", 0.9),
        at_least("one_file_224_float16", 0.9),
        at_least("one_file_batches_of_32", 0.9),
        at_least("many_files_frames", 0.97),
        at_least("short_clips", 0.9),
    ]


def transform_cells(build: Path) -> Any:
    """What tricodec_transform_gpu prints."""
    command = [str(build / "benchmarks/cpp/tricodec_transform_gpu")]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="the build folder of tools/gpu_check.sh")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "gpu.json")
    parser.add_argument("--clips", type=Path, help="where the clips are or are made; default BUILD/clips")
    parser.add_argument("--rounds", type=int, default=4, help="of each measurement, the first one cold")
    options = parser.parse_args()
    started = time.monotonic()
    cells: list[dict[str, Any]] = []
    goals: list[Goal] = []
    for codec, clips in make_clips(options.clips or options.build / "clips").items():
        found = measure_codec(options.build, codec, clips, options.rounds)
        for cell in found:
            cpu = f"{cell['cpu_us_per_frame']:7.1f} us of CPU a frame"
            print(f"{cell['name']:28} {cell['median']:9.1f} {cell['unit']}  {cpu}")
        cells += found
        goals += goals_of(codec, found)
    result = {
        "environment": environment(time.monotonic() - started),
        "cells": cells,
        "transform": transform_cells(options.build),
        "goals": [goal.row() for goal in goals],
    }
    options.output.write_text(json.dumps(result, indent=1) + "\n")
    for row in result["goals"]:
        word = "reached" if row["pass"] else "MISSED "
        print(f"{word} {row['name']}: {row['ratio']} of {row['of']}, {row['target']} wanted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
