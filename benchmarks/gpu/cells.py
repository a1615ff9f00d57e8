# SPDX-License-Identifier: Apache-2.0
"""What C++ reaches on a GPU: runs of tricodec_decode_throughput, for run.py."""

from __future__ import annotations

import dataclasses
import json
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.results import Row

ENGINES = 7  # of the largest GPUs
MANY_THREADS = 2 * ENGINES
GROUPS_GOP250 = 12  # of pictures in `gop250_long`
_MB = 1.048576  # in a MiB
_FRAMES_FOR_MEMORY = 100_000


@dataclasses.dataclass(frozen=True)
class Effort:
    """How often things are done. All that is measured is measured with either."""

    rounds: int  # of a cell
    alternations: int  # of pairs of rounds of frames and batches
    loop: int  # times that a decoder alone gets its clip
    contest_rounds: int
    many_frames: str  # the clip of which 64 are read at once
    limit_s: float  # of a contender's round


FULL = Effort(rounds=3, alternations=7, loop=3, contest_rounds=3, many_frames="gop30_long", limit_s=300)
# 64 files of 1,500 frames, after as many of 300: enough to see that memory stays, in half of the time.
QUICK = Effort(rounds=1, alternations=3, loop=2, contest_rounds=1, many_frames="gop30_most", limit_s=40)


def _run(build: Path, file: Path, options: dict[str, str | int]) -> dict[str, Any]:
    flags = [text for key, value in options.items() for text in (f"--{key.replace('_', '-')}", str(value))]
    command = [str(build / "benchmarks/cpp/tricodec_decode_throughput"), *flags, str(file)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        message = f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()[-500:]}"
        raise RuntimeError(message)
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def _row(codec: str, name: str, raw: dict[str, Any], chosen: slice = slice(None)) -> Row:
    cpu_ms = statistics.median(raw["cpu_us_per_frame"][chosen]) / 1e3
    row = Row(name, codec, "tricodec", threads=raw["threads"], unit="frames/s")
    row = row.with_runs(raw["fps"][chosen], cpu_ms=cpu_ms, memory_mb=raw["device_memory_mib"][-1] * _MB)
    print(f"{codec} {name:30} {row.value:9.1f} frames/s {cpu_ms * 1e3:7.1f} us of CPU a frame", flush=True)
    return row


def memory_rows(codec: str, name: str, raw: dict[str, Any]) -> list[Row]:
    """Device memory early and late: over rounds of short clips, and over the frames of many files."""
    if name == "short_clips":
        used = raw["device_memory_mib"]
        early, late, count = used[1], used[-1], len(used) * raw["threads"]
        row = Row("memory_over_files", codec, "tricodec", unit="MB", runs=count)
    elif name == "64_files":
        samples = [sample for sample in raw["memory_by_frames"] if sample[0] > 0]
        begun = samples[0][0]
        before = [mib for frames, mib in samples if frames <= begun + 10_000]
        after = [mib for frames, mib in samples if frames > begun + 10_000]
        if not after or samples[-1][0] - begun < _FRAMES_FOR_MEMORY - 10_000:
            return []  # too few frames to say
        early, late = max(before), max(after)
        row = Row("memory_over_frames", codec, "tricodec", unit="MB", runs=samples[-1][0])
    else:
        return []
    if early <= 0:
        return []
    settings = {"early": early, "late": late}
    return [dataclasses.replace(row, setting=setting, value=mib * _MB) for setting, mib in settings.items()]


def measure_codec(
    build: Path, codec: str, clips: dict[str, Path], effort: Effort, rows: list[Row], problems: list[str],
    deadline: float,
) -> None:  # fmt: skip
    """What one decoder, the engines together, one file, many files and short clips reach: added to `rows`.

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
            rows.append(_row(codec, name, raw))
            rows.extend(memory_rows(codec, name, raw))

    def frames_and_batches(tail: str, clip: str) -> None:
        """Frames and batches of 32 of the same file, in turn: what the Transform adds is the difference."""
        options: dict[str, str | int] = {
            "mode": "alternate",
            "rounds": 2 * effort.alternations,
            "warm": str(clips[clip]),
        }
        if raw := run(clip, options):
            rows.append(_row(codec, f"one_file_frames{tail}", raw, slice(0, None, 2)))
            rows.append(_row(codec, f"one_file_batches{tail}", raw, slice(1, None, 2)))
            ratios = [batches / frames for frames, batches in zip(raw["fps"][::2], raw["fps"][1::2], strict=False)]
            chain = Row(f"one_file_batches{tail}", codec, "tricodec", against=f"one_file_frames{tail}")
            rows.append(chain.with_ratios(ratios))

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


def transform_rows(build: Path, clip: Path) -> list[Row]:
    """Microseconds a frame by tricodec_transform_gpu; `clip` is read for frames as a reader gives them."""
    command = [str(build / "benchmarks/cpp/tricodec_transform_gpu"), "", str(clip)]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return [transform_row(case) for case in answer["cases"]]


def transform_row(case: dict[str, Any]) -> Row:
    """Of one case."""
    row = Row("transform", case["name"], "tricodec", case["transform"], unit="us a frame")
    return row.with_runs([ms * 1e3 / case["frames"] for ms in case["ms"]])
