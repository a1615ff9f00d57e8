# SPDX-License-Identifier: Apache-2.0
"""What the tutorial's author found, held against what was measured here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tricodec.bench._encode import Measurement
from tricodec.bench._run import EncodeReport


def findings(report: EncodeReport) -> list[tuple[str, str, str]]:
    """Each finding with "yes", "no" or "unavailable", and the figures."""
    names = list(dict.fromkeys(each.resolution for each in report.measurements))
    measured = [each for each in report.measurements if not each.reason]
    software = [each for each in measured if not each.setting.is_hardware]
    hardware = [each for each in measured if each.setting.is_hardware]

    def at(group: Sequence[Measurement], name: str, label: str) -> Measurement | None:
        return next((each for each in group if each.resolution == name and label in each.setting.label), None)

    def grows(group: Sequence[Measurement], value: Callable[[Measurement], float], unit: str) -> tuple[str, str]:
        first = group[0].setting.label if group else ""
        row = [value(each) for each in group if each.setting.label == first]
        if len(row) < 2:
            return "unavailable", "one size only" if row else "nothing was measured"
        shown = ", ".join(f"{number:.4g}" for number in row) + f" {unit}"
        return ("yes" if row == sorted(row) else "no"), shown

    def compare(name: str, slow: str, fast: str, least: float) -> tuple[str, str]:
        first, second = at(software, name, slow), at(software, name, fast)
        if first is None or second is None:
            return "unavailable", "not among the settings"
        gain = first.seconds / second.seconds
        return ("yes" if gain > least else "no"), f"{gain:.2f} times at {name}, {report.environment['cores']} cores"

    last = names[-1]
    rows: list[tuple[str, str, str]] = []
    rows.append(("time grows with resolution", *grows(software, lambda m: m.seconds, "s")))
    rows.append(("more threads are faster (1 to 4)", *compare(last, "threads=1)", "threads=4)", 1.05)))
    verdict, text = compare(last, "threads=4)", "threads=8)", 1.2)
    fades = {"yes": "no", "no": "yes"}.get(verdict, verdict)
    rows.append(("the gain fades near 8 threads (4 to 8)", fades, text))
    rows += _hardware_findings(hardware, software, last)
    rows.append(("size grows with resolution", *grows(software, lambda m: m.size_bytes, "bytes")))
    return rows


def _hardware_findings(
    hardware: Sequence[Measurement], software: Sequence[Measurement], last: str
) -> list[tuple[str, str, str]]:
    names = (
        "hardware is faster than software",
        "frames in the GPU's memory matter less than the encoder",
        "hardware files are smaller at larger resolutions",
    )
    host = next((m for m in hardware if m.resolution == last and m.setting.hw_accel is None), None)
    device = next((m for m in hardware if m.resolution == last and m.setting.hw_accel), None)
    best = min((m for m in software if m.resolution == last), key=lambda m: m.seconds, default=None)
    if host is None or best is None:
        return [(name, "unavailable", "no hardware encoder here") for name in names]
    faster = best.seconds / host.seconds
    gain = host.seconds / device.seconds if device else 0.0
    return [
        (names[0], "yes" if faster > 1 else "no", f"{faster:.2f} times at {last}"),
        (names[1], ("yes" if gain < faster else "no") if device else "unavailable", f"{gain:.2f} times more"),
        (
            names[2],
            "yes" if host.size_bytes < best.size_bytes else "no",
            f"{host.size_bytes} against {best.size_bytes} bytes at {last}: NVENC's default is a rate of 2 Mb/s, "
            "libx264's a constant quality; compare at equal PSNR",
        ),
    ]
