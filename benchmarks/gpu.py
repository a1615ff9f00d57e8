# SPDX-License-Identifier: Apache-2.0
"""Measures the GPU engine and writes benchmarks/results/gpu.json (docs/benchmarks.md).

python benchmarks/gpu.py --build build/gpu    after tools/gpu_check.sh has built there; it calls this script itself

Clips of 1920x1080 with a key frame every 30 and every 250 frames, and of 3840x2160, are made once by the ffmpeg command
line under BUILD/clips; long files are copies of short ones behind one another. What C++ reaches is measured by
tricodec_decode_throughput (gpu_cells.py). The contenders of a task (gpu_contests.py, gpu_worker.py) are processes that
stay, and run a round each in turn; those whose package is not there are left out. Both read a short clip first, so that
the device is started and decoders are made; what that costs stands in the cell `one_file_cold`. Goals: gpu_goals.py.
Where no machine is there for so long, --update measures what --only names into the results that are there; `runs` says
what was measured when.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from environment import environment
from gpu_cells import FULL, QUICK, Effort, measure_codec, transform_cells
from gpu_contests import BOTH, Contest, hold
from gpu_goals import check_goals, goals_of, transform_goals

_ENCODERS = {
    "h264": "-c:v libx264 -preset veryfast -crf 27 -x264-params keyint={gop}:min-keyint={gop}:scenecut=0:bframes=3",
    "hevc": "-c:v libx265 -preset ultrafast -crf 28 -x265-params "
    "keyint={gop}:min-keyint={gop}:scenecut=0:bframes=3:log-level=error",
}
_SOURCE = "mandelbrot=size={size}:rate=30:end_scale=0.05"
_SHORT_FRAMES = 10
_PARTS = ("transform", "cells", "contests")
_MOST_COPIES = 5  # of `gop30_most`, which 64 threads read at once where time is short


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


def _ffmpeg(*arguments: str) -> None:
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *arguments], check=True)


def make_clips(folder: Path) -> dict[str, dict[str, Path]]:
    """The paths of each codec's clips: `NAME`, `NAME_long`, `NAME_short` of each of _CLIPS and `gop30_most`."""
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
        made = {name: one, f"{name}_long": long, f"{name}_short": short}
        if name == "gop30":
            made["gop30_most"] = most = folder / f"{codec}_{name}_most.mp4"
            if not most.is_file():
                _ffmpeg("-stream_loop", str(_MOST_COPIES - 1), "-i", str(one), "-c", "copy", str(most))
        return made

    with ThreadPoolExecutor() as pool:
        made = {codec: [pool.submit(make, codec, name) for name in _CLIPS] for codec in _ENCODERS}
    clips: dict[str, dict[str, Path]] = {}
    for codec, parts in made.items():
        clips[codec] = {}
        for part in parts:
            clips[codec] |= part.result()
    return clips


def contests_of(codec: str, clips: Mapping[str, Path], effort: Effort) -> list[Contest]:
    """The tasks in which packages are compared."""
    warm, rounds, limit_s = clips["gop30_short"], effort.contest_rounds, effort.limit_s

    def contest(name: str, task: str, clip: str, files: int, frames: int, **more: Any) -> Contest:
        chosen = [clips[clip]] * files
        return Contest(
            f"{codec}.{name}", task, chosen, files * frames,
            **{"warm": warm, "rounds": rounds, "limit_s": limit_s, **more},
        )  # fmt: skip

    return [
        # Long enough that one round is a measurement.
        contest("21_files_of_3000", "streams", "gop30_long", 21, 3000, contenders=BOTH, rounds=1),
        contest(
            "first_frame",
            "first_frame",
            "gop30_short",
            20,
            1,
            contenders=BOTH,
            rounds=max(3, rounds),
            more=("first_frame_reconfigured", "first_frame_packets"),
        ),
        # How many decoders a read has goes by its length: a short clip would not warm them all.
        contest("one_file", "one_file", "gop30_long", 1, 3000, warm=clips["gop30_long"]),
        contest("28_files_of_300", "clips", "gop30", 28, 300, more=("clips_threaded",)),
        contest("1000_files_of_10", "clips", "gop30_short", 1000, 10, rounds=1, limit_s=effort.clips_limit_s),
    ]


def earlier(path: Path | None) -> dict[str, Any]:
    """The results in `path` to go on with, or empty ones."""
    empty: dict[str, Any] = {
        "environment": {}, "runs": [], "efforts": {}, "check_options": {}, "checks": {}, "cells": [], "contests": [],
        "transform": {}, "problems": [], "goals": [],
    }  # fmt: skip
    if path is None or not path.is_file():
        return empty
    known = {**empty, **json.loads(path.read_text())}
    known.pop("effort", None)  # one for all parts, which was that of the last run
    return known


def note_effort(result: dict[str, Any], name: str, effort: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Says when a part was measured, of which commit and how thoroughly: parts of one file may be of several runs."""
    known = {key: here[key] for key in ("gpu", "driver", "commit", "date") if key in here}
    result["efforts"][name] = {**known, **effort}


def effort_of(contest: Contest) -> dict[str, Any]:
    """How thoroughly a contest is held."""
    return {"rounds": contest.rounds, "limit_s": contest.limit_s}


def forget(result: dict[str, Any], part: str, name: str) -> None:
    """Takes out what an earlier run measured: the rows of a part whose names begin so, and the problems of `name`."""
    if part == "transform":
        result[part] = {}
    else:
        result[part] = [row for row in result[part] if row["name"] != name and not row["name"].startswith(f"{name}.")]
    result["problems"] = [text for text in result["problems"] if not text.startswith((f"{name}:", f"{name} "))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="the build folder of tools/gpu_check.sh")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "gpu.json")
    parser.add_argument("--clips", type=Path, help="where the clips are or are made; default BUILD/clips")
    parser.add_argument("--quick", action="store_true", help="fewer rounds of everything")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="nothing begins later than so long from now"
    )
    parser.add_argument("--official", type=Path, help="the folder that has NVIDIA's PyNvVideoCodec and what it imports")
    parser.add_argument("--codecs", nargs="+", choices=list(_ENCODERS), default=list(_ENCODERS), help="only these")
    parser.add_argument("--checks", type=Path, help="a file of lines NAME STATUS: what became of the tests")
    parser.add_argument(
        "--check-options",
        nargs="*",
        default=[],
        metavar="NAME=VALUE",
        help="what the tests were told to leave out or add",
    )
    parser.add_argument("--only", nargs="+", metavar="PART", help=f"of {', '.join(_PARTS)} or a contest's name")
    parser.add_argument("--update", action="store_true", help="keep what --output holds of anything else")
    options = parser.parse_args()
    started = time.monotonic()
    deadline = started + options.seconds
    effort = QUICK if options.quick else FULL
    tasks = [contest.name.partition(".")[2] for contest in contests_of("", defaultdict(Path), effort)]
    if unknown := set(options.only or ()) - {*_PARTS, *tasks}:
        parser.error(f"--only: {', '.join(sorted(unknown))} is none of {', '.join([*_PARTS, *tasks])}")
    clips = make_clips(options.clips or options.build / "clips")
    result = earlier(options.output) if options.update else earlier(None)
    measured: list[str] = []

    def wanted(*names: str) -> bool:
        return options.only is None or any(name in options.only for name in names)

    runs = list(result["runs"])

    def done(name: str, how: Mapping[str, Any]) -> None:
        measured.append(name)
        note_effort(result, name, how, environment(time.monotonic() - started))

    def save() -> None:
        here = environment(time.monotonic() - started)
        result["environment"] = here
        run = {**{key: here[key] for key in ("gpu", "driver", "commit", "date", "seconds")}, "measured": measured}
        result["runs"] = [*runs, run]
        goals = check_goals(result["checks"]) + transform_goals(result["transform"])
        for codec in _ENCODERS:
            goals += goals_of(codec, result["cells"], result["contests"])
        result["goals"] = [goal.row() for goal in goals]
        options.output.write_text(json.dumps(result, indent=1) + "\n")

    if options.checks and options.checks.is_file():
        lines = [line.split() for line in options.checks.read_text().splitlines()]
        result["checks"] = {name: status == "0" for name, status in lines}
        result["check_options"] = dict(option.partition("=")[::2] for option in options.check_options)
    if wanted("transform"):
        forget(result, "transform", "transform")
        try:
            result["transform"] = transform_cells(options.build, clips["h264"]["gop30"])
            done("transform", {})
        except (subprocess.CalledProcessError, ValueError) as error:
            result["problems"].append(f"transform: {error}")
        save()
    for codec in options.codecs if wanted("cells") else []:
        forget(result, "cells", codec)
        problems: list[str] = []
        measure_codec(options.build, codec, clips[codec], effort, result["cells"], problems, deadline)
        result["problems"] += [f"{codec}: {problem}" for problem in problems]
        done(f"cells of {codec}", dataclasses.asdict(effort))
        save()  # what is known outlives what fails later
    # By task, not by codec: what no time is left for is then the least of both.
    for contests in zip(*(contests_of(codec, clips[codec], effort) for codec in options.codecs), strict=True):
        for contest in contests:
            if not wanted("contests", contest.name.partition(".")[2]):
                continue
            if time.monotonic() > deadline:
                result["problems"].append(f"{contest.name}: the time was over")
                continue
            forget(result, "contests", contest.name)
            rows = hold(contest, options.official)
            result["contests"] += rows
            done(contest.name, effort_of(contest))
            ours = [row for row in rows if row["contender"].startswith("tricodec") and "problem" in row]
            result["problems"] += [f"{row['name']} {row['contender']}: {row['problem']}" for row in ours]
            save()
    save()
    for row in result["goals"]:
        word = "reached" if row["pass"] else "MISSED "
        print(f"{word} {row['name']}: {row['ratio']} of {row['of']}, {row['target']} wanted ({row['goal']})")
    for problem in result["problems"]:
        print(f"NOT MEASURED {problem}", file=sys.stderr)
    return 1 if result["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
