# SPDX-License-Identifier: Apache-2.0
"""What C++ reaches on a GPU: runs of tricodec_decode_throughput, for benchmarks/gpu.py."""

from __future__ import annotations

import dataclasses
import json
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

ENGINES = 7  # of the largest GPUs
MANY_THREADS = 2 * ENGINES
GROUPS_GOP250 = 12  # of pictures in `gop250_long`
_MIB = "device_memory_mib"


@dataclasses.dataclass(frozen=True)
class Effort:
    """How often things are done. All that is measured is measured with either."""

    rounds: int  # of a cell
    alternations: int  # of pairs of rounds of frames and batches
    loop: int  # times that a decoder alone gets its clip
    contest_rounds: int
    many_frames: str  # the clip of which 64 are read at once
    limit_s: float  # of a contender's round
    clips_limit_s: float  # the same of 1,000 clips, which peers take minutes for


FULL = Effort(
    rounds=3, alternations=7, loop=3, contest_rounds=3, many_frames="gop30_long", limit_s=300, clips_limit_s=300
)
# 64 files of 1,500 frames, after as many of 300: enough to see that memory stays, in half of the time.
QUICK = Effort(
    rounds=1, alternations=3, loop=2, contest_rounds=1, many_frames="gop30_most", limit_s=40, clips_limit_s=15
)


def _run(build: Path, file: Path, options: dict[str, str | int]) -> dict[str, Any]:
    flags = [text for key, value in options.items() for text in (f"--{key.replace('_', '-')}", str(value))]
    command = [str(build / "benchmarks/cpp/tricodec_decode_throughput"), *flags, str(file)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        message = f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()[-500:]}"
        raise RuntimeError(message)
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def _cell(name: str, raw: dict[str, Any], chosen: slice = slice(None)) -> dict[str, Any]:
    fps, cpu = raw["fps"][chosen], raw["cpu_us_per_frame"][chosen]
    first = [value for value in raw["first_frame_ms"][chosen] if value > 0]
    cell = {
        "name": name,
        "unit": "frames/s",
        "median": round(statistics.median(fps), 1),
        "rounds": fps,
        "cpu_us_per_frame": round(statistics.median(cpu), 1),
        "first_frame_ms": round(statistics.median(first), 2) if first else None,
        _MIB: raw[_MIB],
        "memory_by_frames": raw["memory_by_frames"],
        "frames": raw["frames"],
        "threads": raw["threads"],
    }
    print(f"{name:34} {cell['median']:9.1f} frames/s {cell['cpu_us_per_frame']:7.1f} us of CPU a frame", flush=True)
    return cell


def measure_codec(
    build: Path, codec: str, clips: dict[str, Path], effort: Effort, cells: list[dict[str, Any]], problems: list[str],
    deadline: float,
) -> None:  # fmt: skip
    """What one decoder, the engines together, one file, many files and short clips reach: added to `cells`.

    What fails is added to `problems`, and does not keep the rest from being measured; so is what `deadline`, by the
    monotonic clock, comes before.
    """

    def run(clip: str, options: dict[str, str | int]) -> dict[str, Any] | None:
        if time.monotonic() > deadline:
            problems.append(f"{codec} {clips[clip].name} {options}: the time was over")
            return None
        try:
            return _run(build, clips[clip], options)
        except (RuntimeError, ValueError) as error:
            problems.append(str(error))
            return None

    def cell(name: str, clip: str, *, warm: str = "", **options: str | int) -> None:
        if warm:
            options["warm"] = str(clips[warm])
        if raw := run(clip, options):
            cells.append(_cell(f"{codec}.{name}", raw))

    def frames_and_batches(tail: str, clip: str) -> None:
        """Frames and batches of 32 of the same file, in turn: what the Transform adds is the difference."""
        options: dict[str, str | int] = {
            "mode": "alternate",
            "rounds": 2 * effort.alternations,
            "warm": str(clips[clip]),
        }
        if raw := run(clip, options):
            cells.append(_cell(f"{codec}.one_file_frames{tail}", raw, slice(0, None, 2)))
            cells.append(_cell(f"{codec}.one_file_batches{tail}", raw, slice(1, None, 2)))

    decoders: dict[str, Any] = {"mode": "decoder", "loop": effort.loop, "rounds": effort.rounds}
    cell("one_decoder", "gop30", warm="gop30_short", mode="decoder", loop=2, rounds=1)
    cell("engines_7_decoders", "gop30", warm="gop30", **decoders, threads=ENGINES)
    cell("engines_14_decoders", "gop30", warm="gop30", **decoders, threads=MANY_THREADS)
    cell("engines_gop250", "gop250", warm="gop250", **decoders, threads=ENGINES)
    # The file's groups at once: what engines reach that so many decoders share, and the end, where some stand still.
    of_groups: dict[str, Any] = {"mode": "decoder", "rounds": 3 * effort.rounds, "threads": GROUPS_GOP250}
    cell("engines_gop250_groups", "gop250", warm="gop250", **of_groups)
    cell("engines_2160p", "uhd", warm="uhd", **decoders, threads=ENGINES)
    for tail, clip in (("", "gop30_long"), ("_gop250", "gop250_long"), ("_2160p", "uhd_long")):
        frames_and_batches(tail, clip)
        cell(f"one_file_tensor{tail}", clip, warm=clip, mode="batch", rounds=effort.rounds)
    # Nothing is warm: the driver, the decoders and the memory are started.
    cell("one_file_cold", "gop30_long", mode="iterate", rounds=1)
    cell("8_files", "gop30_long", warm="gop30", mode="iterate", rounds=effort.rounds, threads=8)
    cell("16_files", "gop30_long", warm="gop30", mode="iterate", rounds=1, threads=16)
    cell("64_files", effort.many_frames, warm="gop30", mode="iterate", rounds=1, threads=64)
    cell("64_files_of_300", "gop30", warm="gop30", mode="iterate", rounds=effort.rounds, threads=64)
    cell("short_clips", "gop30_short", warm="gop30_short", mode="iterate", rounds=75, threads=MANY_THREADS)
    cell("one_file_cpu", "gop30", mode="iterate", rounds=1, device="cpu")


def transform_cells(build: Path, clip: Path) -> dict[str, Any]:
    """What tricodec_transform_gpu prints; `clip` is read for frames as a reader gives them."""
    command = [str(build / "benchmarks/cpp/tricodec_transform_gpu"), "", str(clip)]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
