# SPDX-License-Identifier: Apache-2.0
"""The encoding benchmark: settings by sizes, and rate-distortion curves."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import tricodec
from tricodec.bench._encode import (
    EncodeSetting,
    Measurement,
    encode,
    generate,
    hardware_settings,
    software_settings,
    source_of,
)
from tricodec.bench._environment import processor
from tricodec.bench._quality import measure_quality, vmaf_ffmpeg
from tricodec.io import ffmpeg_utils

RESOLUTIONS: dict[str, tuple[int, int]] = {"360p": (640, 360), "720p": (1280, 720), "1080p": (1920, 1080)}
"""Width and height by name."""
# Bits for each pixel of a frame: from visibly coarse to nearly transparent for these pictures.
_RD_BITS_PER_PIXEL = (0.05, 0.1, 0.2, 0.4)


@dataclass
class EncodeReport:
    """All measurements."""

    environment: dict[str, str]
    settings: dict[str, str]
    measurements: list[Measurement] = field(default_factory=list)
    curves: list[Measurement] = field(default_factory=list)
    """Four bit rates of each encoder."""
    sweep: list[Measurement] = field(default_factory=list)
    """Presets and constant qualities of the software encoder."""
    worst: dict[str, tuple[EncodeSetting, int, bytes]] = field(default_factory=dict)
    """By resolution: the setting, the number of its worst frame, and the file."""

    def of(self, resolution: str) -> list[Measurement]:
        """The measurements of one size."""
        return [each for each in self.measurements if each.resolution == resolution]


def environment() -> dict[str, str]:
    """Facts of this machine and its software."""
    versions = ffmpeg_utils.get_versions()
    works, reason = ffmpeg_utils.probe_encoder("h264_nvenc") if "h264_nvenc" in _encoders() else (False, "not built in")
    return {
        "machine": platform.machine(),
        "processor": processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "tricodec": tricodec.__version__,
        **{name: ".".join(map(str, version)) for name, version in versions.items()},
        "hardware encoder": "h264_nvenc" if works else f"none: {reason}",
        "VMAF": vmaf_ffmpeg()
        or "none: no ffmpeg with libvmaf was found (pip install imageio-ffmpeg, or TRICODEC_FFMPEG)",
    }


def _encoders() -> dict[str, str]:
    return ffmpeg_utils.get_video_encoders()


def run_encode(
    resolutions: Sequence[str] = ("360p", "720p", "1080p"),
    *,
    duration: float = 4.0,
    repeats: int = 3,
    threads: Sequence[int] | None = None,
    rd_resolution: str | None = None,
    sweep: bool = True,
    say: Callable[[str], None] = print,
) -> EncodeReport:
    """Measure every setting at every size.

    Args:
        resolutions: names of `RESOLUTIONS`.
        duration: seconds of test pictures, at 30000/1001 frames a second.
        repeats: number of measured runs of each setting, after one run without a measurement.
        threads: numbers of threads of the software encoder; None is 1, 4, 8 and the number of cores.
        rd_resolution: size of the rate-distortion curves and the sweep; None is the first size.
        sweep: whether to measure presets and qualities too.
        say: a function that receives each result as text.

    Raises:
        ValueError: a name is not known, or a number is not positive.
    """
    unknown = [name for name in (*resolutions, rd_resolution) if name is not None and name not in RESOLUTIONS]
    if unknown or not resolutions or repeats < 1 or duration <= 0:
        message = (
            f"resolutions must be of {', '.join(RESOLUTIONS)}, repeats and duration must be positive; not "
            f"{', '.join(map(str, unknown)) or (list(resolutions), repeats, duration)}"
        )
        raise ValueError(message)
    report = EncodeReport(
        environment(),
        {
            "resolutions": ", ".join(resolutions),
            "frames": f"testsrc2, yuv444p, {duration:g} s at 30000/1001",
            "repeats": f"{repeats} after one that is not counted; medians",
            "time": "from the first frame to the closed file, encoder's delay and trailer included",
        },
    )
    software = software_settings(list(threads) if threads else None)
    hardware = _usable_hardware()
    for name in resolutions:
        width, height = RESOLUTIONS[name]
        say(f"Testing resolution: {width}x{height}")
        frames = generate(width, height, duration)
        for setting, reason in [*((each, "") for each in software), *hardware]:
            measurement = Measurement(name, setting, len(frames), reason=reason)
            report.measurements.append(measurement)
            if not reason:
                data = _measure(measurement, frames, repeats, source_of(width, height, duration))
                _keep_worst(report, measurement, data)
            say(_line(measurement))
    size = rd_resolution or resolutions[0]
    _add_curves(report, size, duration, [software[-1], *(each for each, reason in hardware[:1] if not reason)], say)
    if sweep and software[0].encoder == "libx264":
        _add_sweep(report, size, duration, software[-1], say)
    return report


def _usable_hardware() -> list[tuple[EncodeSetting, str]]:
    found = []
    for setting in hardware_settings():
        if setting.encoder not in _encoders():
            found.append((setting, f"this FFmpeg has no {setting.encoder}"))
            continue
        works, reason = ffmpeg_utils.probe_encoder(setting.encoder, setting.hw_accel or "cpu")
        found.append((setting, "" if works else reason))
    return found


def _measure(measurement: Measurement, frames: object, repeats: int, source: str, **options: str) -> bytes:
    data = b""
    for number in range(repeats + 1):
        written, total, data = encode(frames, measurement.setting, **options)
        if number > 0:  # the first run loads libraries and fills caches
            measurement.write_seconds.append(written)
            measurement.total_seconds.append(total)
    measurement.size_bytes = len(data)
    measurement.quality = measure_quality(data, frames, source)
    return data


def _keep_worst(report: EncodeReport, measurement: Measurement, data: bytes) -> None:
    quality = measurement.quality
    kept = report.worst.get(measurement.resolution)
    if quality is not None and (kept is None or measurement.setting.is_hardware):
        report.worst[measurement.resolution] = (measurement.setting, quality.worst_frame, data)


def _line(measurement: Measurement) -> str:
    if measurement.reason:
        return f"* {measurement.setting.label}: not measured: {measurement.reason}"
    quality = measurement.quality
    similarity = f", PSNR-Y {quality.psnr_y:.2f} dB, SSIM {quality.ssim_y:.4f}" if quality else ""
    return (
        f"* {measurement.setting.label}\n"
        f" - Processed {measurement.num_frames} frames in {measurement.seconds:.2f} seconds. "
        f"({measurement.frames_per_second:.2f} fps)\n"
        f" - Encoded data size: {measurement.size_bytes} bytes{similarity}"
    )


def _add_curves(
    report: EncodeReport, name: str, duration: float, settings: list[EncodeSetting], say: Callable[[str], None]
) -> None:
    width, height = RESOLUTIONS[name]
    frames = generate(width, height, duration)
    for setting in settings:
        for bits in _RD_BITS_PER_PIXEL:
            rate = int(bits * width * height * 30)
            labelled = EncodeSetting(f"{setting.encoder} {rate // 1000} kb/s", setting.encoder, setting.encoder_option)
            measurement = Measurement(name, labelled, len(frames))
            _measure(measurement, frames, 1, source_of(width, height, duration), b=str(rate))
            report.curves.append(measurement)
            say(_line(measurement))


def _add_sweep(
    report: EncodeReport, name: str, duration: float, setting: EncodeSetting, say: Callable[[str], None]
) -> None:
    width, height = RESOLUTIONS[name]
    frames = generate(width, height, duration)
    for preset in ("ultrafast", "veryfast", "medium"):
        for crf in ("18", "23", "28"):
            labelled = EncodeSetting(f"{preset}, crf {crf}", setting.encoder, setting.encoder_option)
            measurement = Measurement(name, labelled, len(frames))
            _measure(measurement, frames, 1, source_of(width, height, duration), preset=preset, crf=crf)
            report.sweep.append(measurement)
            say(_line(measurement))
