# SPDX-License-Identifier: Apache-2.0
"""The plots of the encoders' report, and what all plots share, with matplotlib of the extra [bench]."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from tricodec.bench._encode import source_of
from tricodec.bench._run import RESOLUTIONS, EncodeReport
from tricodec.io import StreamReader

MARKERS = "ov^X+sDP*"
"""Of the series of a plot."""


def _pyplot() -> Any:
    try:
        import matplotlib as mpl
    except ImportError as error:
        message = "the plots need matplotlib; pip install tricodec[bench]"
        raise ImportError(message) from error
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def new_figure(rows: int, columns: int, size: list[float], **options: Any) -> tuple[Any, Any]:
    """A figure of `size` inches and its axes.

    Raises:
        ImportError: matplotlib is not installed.
    """
    made: tuple[Any, Any] = _pyplot().subplots(rows, columns, figsize=size, **options)
    return made


def to_png(figure: Any) -> bytes:
    """The figure as a PNG file; the figure is closed."""
    figure.tight_layout()
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100)
    _pyplot().close(figure)
    return buffer.getvalue()


def plot_times_and_sizes(report: EncodeReport) -> bytes:
    """Time and size over resolution, as in the tutorial. The legend names settings that could not be measured."""
    names = list(dict.fromkeys(each.resolution for each in report.measurements))
    labels = list(dict.fromkeys(each.setting.label for each in report.measurements))
    figure, axes = new_figure(2, 1, [9.6, 7.2], sharex=True)
    families: dict[str, list[float]] = {}
    for number, label in enumerate(labels):
        series = [each for each in report.measurements if each.setting.label == label]
        marker = MARKERS[number % len(MARKERS)]
        if series[0].reason:
            axes[0].plot([], [], marker=marker, label=f"{label}: not here")
            continue
        axes[0].plot([each.seconds for each in series], marker=marker, label=label)
        family = "Hardware Encoding" if series[0].setting.is_hardware else "Software Encoding"
        families.setdefault(family, [each.size_bytes for each in series])
    for marker, (family, sizes) in zip("v^", families.items(), strict=False):
        axes[1].plot(sizes, marker=marker, label=family)
    axes[0].set_title("Time to encode videos with different resolutions")
    axes[0].set_ylabel("Time [s]")
    axes[1].set_title("The size of encoded videos")
    axes[1].set_ylabel("The encoded size [bytes]")
    for axis in axes:
        axis.grid(axis="both")
        axis.set_ylim(bottom=0)
        axis.set_xticks(range(len(names)), names)
        axis.tick_params(labelbottom=True)
        axis.legend()
    return to_png(figure)


def plot_rate_distortion(report: EncodeReport) -> bytes:
    """PSNR and SSIM over bit rate, with a line for each encoder."""
    figure, axes = new_figure(1, 2, [9.6, 4.0])
    for number, encoder in enumerate(dict.fromkeys(each.setting.encoder for each in report.curves)):
        points = [each for each in report.curves if each.setting.encoder == encoder and each.quality]
        rates = [each.bits_per_second / 1e6 for each in points]
        qualities = [each.quality for each in points if each.quality]
        for axis, values in zip(axes, ([q.psnr_y for q in qualities], [q.ssim_y for q in qualities]), strict=True):
            axis.plot(rates, values, marker=MARKERS[number], label=encoder)
    size = report.curves[0].resolution
    for axis, title in zip(axes, ("PSNR-Y [dB]", "SSIM-Y"), strict=True):
        axis.set_title(f"{title} at {size}")
        axis.set_xlabel("Bit rate [Mb/s]")
        axis.grid(axis="both")
        axis.legend()
    return to_png(figure)


def _frame(reader: StreamReader, number: int) -> Any:
    reader.add_video_stream(1, filter_desc=f"select=eq(n\\,{number}),format=rgb24")
    reader.process_all_packets()
    (picture,) = reader.pop_chunks()
    return np.asarray(picture)[0].transpose(1, 2, 0)


def plot_worst_frames(report: EncodeReport, duration: float) -> bytes:
    """For each resolution the encoded frame with the lowest PSNR, its source, and their difference times 8."""
    rows = list(report.worst.items())
    figure, axes = new_figure(len(rows), 3, [14.4, 3.1 * len(rows)], squeeze=False)
    for (name, (setting, number, data)), row in zip(rows, axes, strict=True):
        source = source_of(*RESOLUTIONS[name], duration)
        before = _frame(StreamReader(source, format="lavfi", arrays="numpy"), number)
        after = _frame(StreamReader(data, arrays="numpy"), number)
        difference = np.abs(before.astype(np.int16) - after)
        pictures = (before, after, np.minimum(difference * 8, 255).astype(np.uint8))
        titles = (f"{name}, source, frame {number}", f"{setting.encoder}", "difference, 8 times")
        for axis, picture, title in zip(row, pictures, titles, strict=True):
            axis.imshow(picture)
            axis.set_title(title)
            axis.axis("off")
    return to_png(figure)
