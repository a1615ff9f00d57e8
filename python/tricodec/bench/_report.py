# SPDX-License-Identifier: Apache-2.0
"""The report as JSON, PNG and one HTML page, with the tutorial's findings beside those of this machine."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tricodec._display.html import head, picture, table
from tricodec._tricodec import OutputFile
from tricodec.bench._encode import Measurement
from tricodec.bench._run import EncodeReport

_HEADINGS = ("size", "setting", "encoder", "write s", "total s", "fps", "bytes", "kb/s", "PSNR-Y dB", "SSIM-Y", "VMAF")


def row_of(measurement: Measurement) -> list[str]:
    """Cells under the table's headings."""
    start = [measurement.resolution, measurement.setting.label, measurement.setting.encoder]
    if measurement.reason:
        return [*start, f"not measured: {measurement.reason}"]
    quality = measurement.quality
    written = sorted(measurement.write_seconds)[len(measurement.write_seconds) // 2]
    cells = [
        f"{written:.3f}",
        f"{measurement.seconds:.3f}",
        f"{measurement.frames_per_second:.1f}",
        str(measurement.size_bytes),
        f"{measurement.bits_per_second / 1000:.0f}",
    ]
    if quality is not None:
        psnr = "lossless" if math.isinf(quality.psnr_y) else f"{quality.psnr_y:.2f}"
        vmaf = "no libvmaf" if quality.vmaf is None else f"{quality.vmaf:.2f}"
        cells += [psnr, f"{quality.ssim_y:.4f}", vmaf]
    return [*start, *cells]


def to_json(report: EncodeReport) -> dict[str, Any]:
    """The whole report without pictures."""

    def plain(measurement: Measurement) -> dict[str, Any]:
        quality = measurement.quality
        return {
            "resolution": measurement.resolution,
            "label": measurement.setting.label,
            "encoder": measurement.setting.encoder,
            "encoder_option": dict(measurement.setting.encoder_option),
            "hw_accel": measurement.setting.hw_accel,
            "reason": measurement.reason,
            "num_frames": measurement.num_frames,
            "write_seconds": measurement.write_seconds,
            "total_seconds": measurement.total_seconds,
            "size_bytes": measurement.size_bytes,
            "psnr_y_db": quality.psnr_y if quality and math.isfinite(quality.psnr_y) else None,
            "ssim_y": quality.ssim_y if quality else None,
            "vmaf": quality.vmaf if quality else None,
            "worst_frame": quality.worst_frame if quality else None,
        }

    return {
        "environment": report.environment,
        "settings": report.settings,
        "measurements": [plain(each) for each in report.measurements],
        "rate_distortion": [plain(each) for each in report.curves],
        "sweep": [plain(each) for each in report.sweep],
        "findings": [dict(zip(("finding", "here", "figures"), each, strict=True)) for each in findings(report)],
    }


def write_report(report: EncodeReport, folder: Path, duration: float) -> list[Path]:
    """Write encode.json, the plots and encode.html.

    Args:
        report: the result of `run_encode`.
        folder: the folder for the files, which is created if necessary.
        duration: the duration that was given to `run_encode`, in seconds.

    Returns:
        The files, with the HTML page last.

    Raises:
        ImportError: matplotlib is not installed.
    """
    from tricodec.bench import _plots

    folder.mkdir(parents=True, exist_ok=True)
    pictures = {
        "times_and_sizes.png": ("Time and size", _plots.plot_times_and_sizes(report)),
        "rate_distortion.png": ("Rate and distortion", _plots.plot_rate_distortion(report)),
        "worst_frames.png": ("The worst frames", _plots.plot_worst_frames(report, duration)),
    }
    files = {"encode.json": (json.dumps(to_json(report), indent=1) + "\n").encode()}
    files |= {name: png for name, (_, png) in pictures.items()}
    parts = [
        head("Encoding", "Encoding, measured"),
        table(("", ""), [*report.environment.items(), *report.settings.items()]),
        "<h2>Measurements</h2>",
        table(_HEADINGS, map(row_of, report.measurements)),
        "<h2>Findings of the tutorial</h2>",
        table(("finding", "here", "figures"), findings(report)),
        *(picture(png, title) for title, png in pictures.values()),
        "<h2>Four bit rates</h2>",
        table(_HEADINGS, map(row_of, report.curves)),
    ]
    if report.sweep:
        parts += ["<h2>Presets and qualities</h2>", table(_HEADINGS, map(row_of, report.sweep))]
    files["encode.html"] = ("\n".join(parts) + "\n").encode()
    for name, data in files.items():
        with OutputFile(folder / name) as file:
            file.write(data)
    return [folder / name for name in files]


def findings(report: EncodeReport) -> list[tuple[str, str, str]]:
    """Each finding of the tutorial's author with "yes", "no" or "unavailable" here, and the figures."""
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
