# SPDX-License-Identifier: Apache-2.0
"""The report as files: JSON, PNG, and one HTML page that needs no other."""

from __future__ import annotations

import base64
import html
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tricodec._tricodec import OutputFile
from tricodec.bench._encode import Measurement
from tricodec.bench._findings import findings
from tricodec.bench._run import EncodeReport

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
img { max-width: 100%; }
"""
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


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["<table><tr>" + "".join(f"<th>{html.escape(each)}</th>" for each in headings) + "</tr>"]
    for row in rows:
        cells = []
        for number, cell in enumerate(row):
            attributes = " class='n'" if cell.replace(".", "", 1).isdigit() else ""
            if number == len(row) - 1 and len(row) < len(headings):  # a reason, in place of figures
                attributes += f" colspan='{len(headings) - number}'"
            cells.append(f"<td{attributes}>{html.escape(cell)}</td>")
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return "\n".join([*lines, "</table>"])


def _picture(png: bytes, title: str) -> str:
    data = base64.b64encode(png).decode()
    return f'<h2>{html.escape(title)}</h2>\n<img alt="{html.escape(title)}" src="data:image/png;base64,{data}">'


def to_json(report: EncodeReport) -> dict[str, Any]:
    """Everything but the pictures."""

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
    """Writes encode.json, the plots and encode.html.

    Args:
        report: what `run_encode` returned.
        folder: made if it is not there.
        duration: what `run_encode` was given.

    Returns:
        The files, the page last.

    Raises:
        ImportError: if matplotlib is not installed.
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
        "<!DOCTYPE html><html lang='en'><meta charset='utf-8'><title>Encoding</title>",
        f"<style>{_STYLE}</style><h1>Encoding, measured</h1>",
        _table(("", ""), [*report.environment.items(), *report.settings.items()]),
        "<h2>Measurements</h2>",
        _table(_HEADINGS, map(row_of, report.measurements)),
        "<h2>Findings of the tutorial</h2>",
        _table(("finding", "here", "figures"), findings(report)),
        *(_picture(png, title) for title, png in pictures.values()),
        "<h2>Four bit rates</h2>",
        _table(_HEADINGS, map(row_of, report.curves)),
    ]
    if report.sweep:
        parts += ["<h2>Presets and qualities</h2>", _table(_HEADINGS, map(row_of, report.sweep))]
    files["encode.html"] = ("\n".join(parts) + "\n").encode()
    for name, data in files.items():
        with OutputFile(folder / name) as file:
            file.write(data)
    return [folder / name for name in files]
