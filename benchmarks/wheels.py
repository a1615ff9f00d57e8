# SPDX-License-Identifier: Apache-2.0
"""What tools/try_wheel.py tried: one row a machine in results/wheels.csv, and the table of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from benchmarks import results
from benchmarks.goals import header, line

PATH = results.FOLDER / "wheels.csv"


@dataclasses.dataclass(frozen=True)
class Wheel:
    """A wheel that gave the same pixels as ffmpeg.

    Attributes:
        machine: as the wheel's tag has it.
        glibc: the oldest that it runs with.
        megabytes: of the file.
        installed_megabytes: of its unpacked files.
        kernels: what tricodec says of its CUDA kernels.
        engine: the SIMD instructions that transformed frames.
        ran: "here", or "QEMU".
        date: of the trial.
        commit: that was built.
    """

    machine: str
    glibc: str
    megabytes: float
    installed_megabytes: float
    kernels: str = ""
    engine: str = ""
    ran: str = ""
    date: str = ""
    commit: str = ""


def record(wheel: Wheel) -> None:
    """Writes a wheel in place of the last one for its machine."""
    results.put(PATH, wheel, lambda each: each.machine)


def table(facts: Mapping[str, str], wheels: Iterable[Wheel]) -> str:
    """A line a machine."""
    del facts
    lines = [header(["machine", "glibc", "wheel", "installed", "CUDA kernels", "SIMD", "ran", "date"])]
    for wheel in wheels:
        sizes = [f"{wheel.megabytes:.1f} MB", f"{wheel.installed_megabytes:.0f} MB"]
        lines.append(line([wheel.machine, wheel.glibc, *sizes, wheel.kernels, wheel.engine, wheel.ran, wheel.date]))
    return "".join(lines)
