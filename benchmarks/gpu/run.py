# SPDX-License-Identifier: Apache-2.0
"""Measures the GPU engine and writes benchmarks/results/gpu.csv (docs/reference/benchmarks.md).

python -m benchmarks.gpu.run --build build/gpu    after tools/gpu_check.sh has built there, which calls this itself

Clips of 1920x1080 with a key frame every 30 and every 250 frames, and of 3840x2160, are made once by the ffmpeg command
line under BUILD/clips; long files are copies of short ones one after another. What C++ reaches is measured by
tricodec_decode_throughput (cells.py). The contenders of a task (contests.py, worker.py) are processes that stay, and
run a round each in turn; those without their package are left out. Both read a short clip first, so that the
device is started and decoders are made; the cell `one_file_cold` has what that costs. Goals: goals.py.
--update measures what --only names into the results that are there; the facts `measured` say what was measured when.
"""

from __future__ import annotations

import argparse
import dataclasses
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.environment import environment
from benchmarks.gpu.cells import FULL, QUICK, Effort, measure_codec, transform_rows
from benchmarks.gpu.contests import BOTH, Contest, hold
from benchmarks.gpu.goals import goals_of
from benchmarks.results import Row

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


def make_clips(folder: Path, names: Iterable[str] = tuple(_CLIPS)) -> dict[str, dict[str, Path]]:
    """The paths of each codec's clips: `NAME`, `NAME_long`, `NAME_short` of those of _CLIPS and `gop30_most`."""
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
        made = {codec: [pool.submit(make, codec, name) for name in names] for codec in _ENCODERS}
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
            codec, name, task, chosen, files * frames, **{"warm": warm, "rounds": rounds, "limit_s": limit_s, **more}
        )

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
    ]


@dataclasses.dataclass
class Results:
    """What is known so far, of this run and of the one that --update continues."""

    path: Path
    facts: dict[str, object] = dataclasses.field(default_factory=dict)
    rows: list[Row] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)

    @classmethod
    def earlier(cls, path: Path) -> Results:
        """Those in `path`, or empty ones."""
        if not path.is_file():
            return cls(path)
        facts, rows = results.read(path)
        return cls(path, dict(facts), rows)

    def forget(self, codec: str, tasks: Iterable[str] | None = None) -> None:
        """Takes out what an earlier run measured: the cells of C++ of a codec, or its rows of these tasks."""
        contested = {contest.name for contest in contests_of("", defaultdict(Path), FULL)}

        def stays(row: Row) -> bool:
            of = row.task not in contested if tasks is None else row.task in tasks
            return row.input != codec or not of

        self.rows = [row for row in self.rows if stays(row)]

    def note(self, part: str, how: str) -> None:
        """Says when a part was measured, of which commit and how thoroughly: parts may be of several runs."""
        here = environment(0)
        self.facts[f"measured {part}"] = f"{here['date']}, {here['commit']}, {how}"

    def save(self, seconds: float) -> None:
        """Writes what is known: it outlives what fails later."""
        kept = {name: fact for name, fact in self.facts.items() if name.startswith(("measured ", "check"))}
        problems = "; ".join(self.problems).replace("\n", " ") or None
        self.facts = {**environment(seconds), **kept, "problems": problems}
        results.write(self.path, self.facts, self.rows)


def _checks(path: Path, options: Iterable[str]) -> dict[str, object]:
    lines = [line.split() for line in path.read_text().splitlines()]
    found = ", ".join(f"{name} {'passed' if status == '0' else 'failed'}" for name, status in lines)
    return {"checks": found, "check options": ", ".join(options)}


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="the build folder of tools/gpu_check.sh")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "gpu.csv")
    parser.add_argument("--clips", type=Path, help="where the clips are or are made; default BUILD/clips")
    parser.add_argument("--quick", action="store_true", help="fewer rounds of everything")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="nothing begins later than so long from now"
    )
    parser.add_argument("--official", type=Path, help="the folder that has NVIDIA's PyNvVideoCodec and what it imports")
    parser.add_argument("--codecs", nargs="+", choices=list(_ENCODERS), default=list(_ENCODERS), help="only these")
    parser.add_argument("--checks", type=Path, help="a file of lines NAME STATUS: what became of the tests")
    parser.add_argument(
        "--check-options", nargs="*", default=[], metavar="NAME=VALUE",
        help="what the tests were told to leave out or add",
    )  # fmt: skip
    parser.add_argument("--only", nargs="+", metavar="PART", help=f"of {', '.join(_PARTS)} or a contest's name")
    parser.add_argument("--update", action="store_true", help="keep what --output holds of anything else")
    return parser


def main() -> int:
    parser = _arguments()
    options = parser.parse_args()
    started = time.monotonic()
    deadline = started + options.seconds
    effort = QUICK if options.quick else FULL
    tasks = [contest.name for contest in contests_of("", defaultdict(Path), effort)]
    if unknown := set(options.only or ()) - {*_PARTS, *tasks}:
        parser.error(f"--only: {', '.join(sorted(unknown))} is none of {', '.join([*_PARTS, *tasks])}")
    clips = make_clips(options.clips or options.build / "clips")
    known = Results.earlier(options.output) if options.update else Results(options.output)

    def wanted(*names: str) -> bool:
        return options.only is None or any(name in options.only for name in names)

    def save() -> None:
        known.save(time.monotonic() - started)

    if options.checks and options.checks.is_file():
        known.facts |= _checks(options.checks, options.check_options)
    if wanted("transform"):
        known.rows = [row for row in known.rows if row.task != "transform"]
        try:
            known.rows += transform_rows(options.build, clips["h264"]["gop30"])
            known.note("transform", "9 samples")
        except (subprocess.CalledProcessError, ValueError) as error:
            known.problems.append(f"transform: {error}")
        save()
    for codec in options.codecs if wanted("cells") else []:
        known.forget(codec)
        problems: list[str] = []
        measure_codec(options.build, codec, clips[codec], effort, known.rows, problems, deadline)
        known.problems += [f"{codec}: {problem}" for problem in problems]
        known.note(f"cells of {codec}", f"rounds {effort.rounds}, alternations {effort.alternations}")
        save()
    # By task, not by codec: what no time is left for is then the least of both.
    for contests in zip(*(contests_of(codec, clips[codec], effort) for codec in options.codecs), strict=True):
        for contest in contests:
            if not wanted("contests", contest.name):
                continue
            part = f"{contest.codec}.{contest.name}"
            if time.monotonic() > deadline:
                known.problems.append(f"{part}: the time was over")
                continue
            known.forget(contest.codec, [contest.name])
            rows = hold(contest, options.official)
            known.rows += rows
            known.note(part, f"rounds {contest.rounds}, limit {contest.limit_s:g} s")
            ours = [row for row in rows if row.contender.startswith("tricodec") and row.note]
            known.problems += [f"{part} {row.contender}: {row.note}" for row in ours]
            save()
    save()
    facts = {name: str(value) for name, value in known.facts.items()}
    for goal in goals_of(facts, known.rows):
        print(goal.describe())
    for problem in known.problems:
        print(f"NOT MEASURED {problem}", file=sys.stderr)
    return 1 if known.problems else 0


if __name__ == "__main__":
    sys.exit(main())
