# SPDX-License-Identifier: Apache-2.0
"""Measures the GPU engine and writes benchmarks/results/gpu.json (docs/benchmarks.md).

python benchmarks/gpu.py --build build/gpu    after tools/gpu_check.sh has built there; it calls this script itself

Clips of 1920x1080 with a key frame every 30 and every 250 frames, and of 3840x2160, are made once by the ffmpeg command
line under BUILD/clips; long files are copies of short ones behind one another. The contenders of a task (gpu_worker.py)
are processes that stay, and run a round each in turn; those whose package is not there are left out. What C++ reaches
is measured by tricodec_decode_throughput, in rounds of its own.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from environment import environment

_ENCODERS = {
    "h264": "-c:v libx264 -preset veryfast -crf 27 -x264-params keyint={gop}:min-keyint={gop}:scenecut=0:bframes=3",
    "hevc": "-c:v libx265 -preset ultrafast -crf 28 -x265-params "
    "keyint={gop}:min-keyint={gop}:scenecut=0:bframes=3:log-level=error",
}
_SOURCE = "mandelbrot=size={size}:rate=30:end_scale=0.05"
_SHORT_FRAMES = 10
_MANY_THREADS = 14  # two decoders for each engine of the largest GPUs
_PEERS = ("tricodec", "tricodec-dali", "pynvvideocodec", "dali")


@dataclasses.dataclass(frozen=True)
class Clip:
    """What is encoded once, and the file of `copies` of it."""

    size: str
    gop: int
    frames: int
    copies: int


_CLIPS = {
    "gop30": Clip("1920x1080", 30, 300, 10),
    "gop250": Clip("1920x1080", 250, 250, 12),
    "uhd": Clip("3840x2160", 30, 60, 10),
}


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
    """The paths of each codec's clips: `NAME`, `NAME_long`, `NAME_short` of each of _CLIPS, made where missing."""
    folder.mkdir(parents=True, exist_ok=True)

    def make(codec: str, name: str) -> dict[str, Path]:
        clip = _CLIPS[name]
        one, long, short = (folder / f"{codec}_{name}{end}.mp4" for end in ("", "_long", "_short"))
        if not one.is_file():
            source = _SOURCE.format(size=clip.size)
            options = _ENCODERS[codec].format(gop=clip.gop).split()
            part = one.with_suffix(".part.mp4")
            _ffmpeg(
                *("-f", "lavfi", "-i", source, "-frames:v", str(clip.frames), "-pix_fmt", "yuv420p"),
                *options,
                str(part),
            )
            part.replace(one)
        if not long.is_file():
            _ffmpeg("-stream_loop", str(clip.copies - 1), "-i", str(one), "-c", "copy", str(long))
        if not short.is_file():
            _ffmpeg("-i", str(one), "-frames:v", str(_SHORT_FRAMES), "-c", "copy", str(short))
        return {name: one, f"{name}_long": long, f"{name}_short": short}

    with ThreadPoolExecutor() as pool:
        made = {codec: [pool.submit(make, codec, name) for name in _CLIPS] for codec in _ENCODERS}
    clips: dict[str, dict[str, Path]] = {}
    for codec, parts in made.items():
        clips[codec] = {}
        for part in parts:
            clips[codec] |= part.result()
    return clips


def measure(build: Path, name: str, file: Path, **options: str | int) -> dict[str, Any]:
    """One run of decode_throughput. The first round starts the device and is left out of the median."""
    flags = [text for key, value in options.items() for text in (f"--{key.replace('_', '-')}", str(value))]
    command = [str(build / "benchmarks/cpp/tricodec_decode_throughput"), *flags, str(file)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    raw = json.loads(output)
    warm = slice(1, None)
    cell = {
        "name": name,
        "unit": "frames/s",
        "median": round(statistics.median(raw["fps"][warm]), 1),
        "min": min(raw["fps"][warm]),
        "max": max(raw["fps"][warm]),
        "first_round": raw["fps"][0],
        "cpu_us_per_frame": round(statistics.median(raw["cpu_us_per_frame"][warm]), 1),
        "first_frame_ms": round(statistics.median(raw["first_frame_ms"][warm]), 2),
        "first_frame_ms_first_round": raw["first_frame_ms"][0],
        "device_memory_mib": raw["device_memory_mib"],
        "frames": raw["frames"],
        "threads": raw["threads"],
        "rounds": len(raw["fps"]),
    }
    print(f"{name:34} {cell['median']:9.1f} frames/s {cell['cpu_us_per_frame']:7.1f} us of CPU a frame", flush=True)
    return cell


def measure_codec(build: Path, codec: str, clips: dict[str, Path], rounds: int) -> list[dict[str, Any]]:
    """What one decoder, the engines together, one file, many files and short clips reach."""
    many = {"threads": _MANY_THREADS}
    reads = {"frames": "iterate", "224_float16": "batch", "batches_of_32": "batches"}
    cells = [
        measure(build, f"{codec}.one_decoder", clips["gop30"], loop=2, rounds=2),
        measure(build, f"{codec}.all_engines", clips["gop30"], loop=3, rounds=rounds, **many),
        measure(build, f"{codec}.all_engines_gop250", clips["gop250"], loop=3, rounds=rounds, **many),
        measure(build, f"{codec}.all_engines_2160p", clips["uhd"], loop=3, rounds=rounds, **many),
    ]
    for name, mode in reads.items():
        cells.append(measure(build, f"{codec}.one_file_{name}", clips["gop30_long"], mode=mode, rounds=rounds))
    for clip, tail in (("gop250_long", "_gop250"), ("uhd_long", "_2160p")):
        for name in ("frames", "224_float16"):
            cells.append(measure(build, f"{codec}.one_file_{name}{tail}", clips[clip], mode=reads[name], rounds=rounds))
    cells += [
        measure(build, f"{codec}.8_files", clips["gop30_long"], mode="iterate", rounds=rounds + 1, threads=8),
        measure(build, f"{codec}.16_files", clips["gop30_long"], mode="iterate", rounds=2, threads=16),
        measure(build, f"{codec}.64_files_of_300", clips["gop30"], mode="iterate", rounds=rounds, threads=64),
        measure(build, f"{codec}.short_clips", clips["gop30_short"], mode="iterate", rounds=75, **many),
        measure(build, f"{codec}.one_file_cpu", clips["gop30"], mode="iterate", rounds=2, device="cpu"),
    ]
    return cells


class Contender:
    """A process that runs rounds of a task; `problem` is why there is none."""

    def __init__(self, name: str, task: str, files: list[Path], official: Path | None) -> None:
        environment = dict(os.environ)
        if name == "pynvvideocodec" and official is not None:
            environment["PYTHONPATH"] = str(official)  # the official package's name is also ours
        worker = Path(__file__).parent / "gpu_worker.py"
        self._process = subprocess.Popen(
            [sys.executable, str(worker), name, task, *map(str, files)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        self.name = name
        self.problem = "" if self._answer() is not None else self._last_words()

    def _answer(self) -> str | None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(("ready", "{")):  # the packages print things of their own
                return line
        return None

    def _last_words(self) -> str:
        assert self._process.stderr is not None
        self._process.kill()
        return (self._process.stderr.read().strip().splitlines() or ["it ended"])[-1]

    def round(self) -> float | None:
        """Frames a second, or None (and `problem`)."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("go\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self.problem = self._last_words()
            return None
        line = self._answer()
        if line is None:
            self.problem = self._last_words()
            return None
        result = json.loads(line)
        return float(result["frames"]) / float(result["seconds"])

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()


def compete(
    name: str, task: str, files: list[Path], rounds: int, official: Path | None, *more: str,
    peers: tuple[str, ...] = _PEERS,
) -> list[dict[str, Any]]:  # fmt: skip
    """Each contender's rounds, in turn; the first one of several is left out of the median."""
    contenders = [
        Contender(peer, task, files, official) for peer in peers if task != "first_frame" or "dali" not in peer
    ]
    contenders += [Contender("pynvvideocodec", other, files, official) for other in more]
    fps: list[list[float]] = [[] for _ in contenders]
    for _ in range(rounds):
        for contender, values in zip(contenders, fps, strict=True):
            value = None if contender.problem else contender.round()
            if value is not None:
                values.append(value)
    cells = []
    for contender, values in zip(contenders, fps, strict=True):
        cell: dict[str, Any] = {"name": name, "contender": contender.name, "unit": "frames/s", "rounds": values}
        if values:
            cell["median"] = round(statistics.median(values[1:] or values), 1)
        if contender.problem:
            cell["problem"] = contender.problem
        contender.close()
        cells.append(cell)
        print(f"{name:34} {contender.name:16} {cell.get('median', contender.problem)}", flush=True)
    return cells


def compete_codec(codec: str, clips: dict[str, Path], rounds: int, official: Path | None) -> list[dict[str, Any]]:
    """The tasks in which packages are compared."""
    both = ("tricodec", "pynvvideocodec")
    return [
        # Long enough that one round is a measurement.
        *compete(f"{codec}.21_files_of_3000", "streams", [clips["gop30_long"]] * 21, 1, official, peers=both),
        *compete(f"{codec}.one_file", "one_file", [clips["gop30_long"]], rounds, official),
        *compete(f"{codec}.28_files_of_300", "clips", [clips["gop30"]] * 28, rounds, official, "clips_threaded"),
        *compete(f"{codec}.1000_files_of_10", "clips", [clips["gop30_short"]] * 1000, rounds, official),
        *compete(f"{codec}.first_frame", "first_frame", [clips["gop30_short"]] * 20, rounds, official),
    ]


def goals_of(codec: str, cells: list[dict[str, Any]], contests: list[dict[str, Any]]) -> list[Goal]:
    """The issue's goals: against what all engines reach in this run, and against the best of the peers."""
    cell = {cell["name"].removeprefix(f"{codec}."): cell for cell in cells}

    def at_least(name: str, limit: str, target: float) -> Goal:
        limit_value = cell[limit]["median"]
        return Goal(f"{codec}.{name}", cell[name]["median"], "frames/s", f"{codec}.{limit}", limit_value, target, True)

    goals = [
        at_least("one_file_frames", "all_engines", 0.9),
        at_least("one_file_224_float16", "all_engines", 0.9),
        at_least("one_file_batches_of_32", "all_engines", 0.9),
        at_least("one_file_frames_gop250", "all_engines_gop250", 0.9),
        at_least("one_file_frames_2160p", "all_engines_2160p", 0.9),
        at_least("one_file_224_float16", "one_file_frames", 1.0),
        at_least("8_files", "all_engines", 0.97),
        at_least("16_files", "all_engines", 0.97),
        at_least("64_files_of_300", "all_engines", 0.97),
    ]
    for task, target in (
        ("21_files_of_3000", 0.97),
        ("one_file", 6.0),
        ("28_files_of_300", 1.7),
        ("1000_files_of_10", 4.0),
        ("first_frame", 2.0),
    ):
        reached = [row for row in contests if row["name"] == f"{codec}.{task}" and "median" in row]
        ours = [row["median"] for row in reached if row["contender"].startswith("tricodec")]
        for peer in ("pynvvideocodec", "dali"):
            theirs = [row["median"] for row in reached if row["contender"] == peer]
            if ours and theirs:
                name = f"{codec}.{task}"
                goals.append(Goal(name, max(ours), "frames/s", f"{name}.{peer}", max(theirs), target, True))
    # What all engines give the official package is the limit that the goals were set by.
    limit = [row["median"] for row in contests if row["contender"] == "pynvvideocodec" and "median" in row
             and row["name"] == f"{codec}.21_files_of_3000"]  # fmt: skip
    for name in ("one_file_frames", "one_file_224_float16", "one_file_batches_of_32", "8_files"):
        if limit:
            target = 0.97 if name == "8_files" else 0.9
            of = f"{codec}.21_files_of_3000.pynvvideocodec"
            goals.append(Goal(f"{codec}.{name}", cell[name]["median"], "frames/s", of, max(limit), target, True))
    for name in ("8_files", "short_clips"):
        memory = cell[name]["device_memory_mib"]
        goals.append(Goal(f"{codec}.{name}.memory", memory[-1], "MiB", "after round 2", memory[1], 1.02, False))
    return goals


def transform_goals(measured: dict[str, Any]) -> list[Goal]:
    """Every case against a copy of as many bytes."""
    goals = []
    for case in measured["cases"]:
        ours, copy = (statistics.median(case[key]) for key in ("ms", "copy_ms"))
        goals.append(Goal(f"transform.{case['name']}", 1 / ours, "batches/ms", "a copy", 1 / copy, 0.85, True))
    return goals


def transform_cells(build: Path) -> Any:
    """What tricodec_transform_gpu prints."""
    command = [str(build / "benchmarks/cpp/tricodec_transform_gpu")]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="the build folder of tools/gpu_check.sh")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "gpu.json")
    parser.add_argument("--clips", type=Path, help="where the clips are or are made; default BUILD/clips")
    parser.add_argument("--rounds", type=int, default=3, help="of each measurement, the first one cold")
    parser.add_argument("--official", type=Path, help="the folder that has NVIDIA's PyNvVideoCodec and what it imports")
    parser.add_argument("--codecs", nargs="+", choices=list(_ENCODERS), default=list(_ENCODERS), help="only these")
    parser.add_argument("--no-transform", action="store_true", help="leave the kernels out")
    options = parser.parse_args()
    started = time.monotonic()
    clips = make_clips(options.clips or options.build / "clips")
    result: dict[str, Any] = {"environment": {}, "cells": [], "contests": [], "transform": {}, "goals": []}

    def save() -> None:
        result["environment"] = environment(time.monotonic() - started)
        options.output.write_text(json.dumps(result, indent=1) + "\n")

    if not options.no_transform:
        result["transform"] = transform_cells(options.build)
        result["goals"] += [goal.row() for goal in transform_goals(result["transform"])]
        save()
    for codec in options.codecs:
        files = clips[codec]
        cells = measure_codec(options.build, codec, files, options.rounds)
        contests = compete_codec(codec, files, options.rounds, options.official)
        result["cells"] += cells
        result["contests"] += contests
        result["goals"] += [goal.row() for goal in goals_of(codec, cells, contests)]
        save()  # what is known outlives what fails later
    for row in result["goals"]:
        word = "reached" if row["pass"] else "MISSED "
        print(f"{word} {row['name']}: {row['ratio']} of {row['of']}, {row['target']} wanted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
