# SPDX-License-Identifier: Apache-2.0
"""torchaudio's tutorial "Accelerated video encoding with NVENC" on tricodec, with medians and the PSNR of luma.

Without a GPU that encodes, the software rows are measured and the reason is told.

Usage: python nvenc_tutorial.py FOLDER [--duration S] [--repeats N] [--resolutions 360p,720p,1080p]
"""

from __future__ import annotations

import argparse
import importlib.metadata
import io
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import tricodec
from tricodec.io import StreamReader, StreamWriter, ffmpeg_utils

FRAME_RATE = 30000 / 1001
RESOLUTIONS = {"360p": (640, 360), "720p": (1280, 720), "1080p": (1920, 1080)}


def describe_gpu(device: str) -> str:
    """Its name, compute capability, memory and multiprocessors, by torch where it is installed."""
    try:
        import torch
    except ImportError:
        return device
    if not torch.cuda.is_available():
        return device
    facts = torch.cuda.get_device_properties(device)
    memory = f"{facts.total_memory >> 20} MiB, {facts.multi_processor_count} multiprocessors"
    return f"{device}: {facts.name}, compute capability {facts.major}.{facts.minor}, {memory}"


def check_prerequisites() -> str | None:
    """Prints what is here; the encoder that works, or None."""
    for name in ("tricodec", "numpy", "torch"):
        try:
            print(f"{name} {tricodec.__version__ if name == 'tricodec' else importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            print(f"{name} is not installed")
    print("FFmpeg Library versions:")
    for name, version in ffmpeg_utils.get_versions().items():
        print(f"  {name + ':':13} {'.'.join(map(str, version))}")
    print("Available NVENC Encoders:")
    for name in ffmpeg_utils.get_video_encoders():
        if "nvenc" in name:
            print(f" - {name}")
    print("Available GPU:")
    try:
        print(f" - {describe_gpu(tricodec.video.resolve_device('cuda'))}")
    except tricodec.Error as error:
        print(f" - no CUDA device ({error})")
    # That an encoder is listed says only that it was compiled in: A100, H100 and H200 have none.
    works, reason = ffmpeg_utils.probe_encoder("h264_nvenc")
    print(f"h264_nvenc {'works' if works else 'cannot be used: ' + reason}")
    return "h264_nvenc" if works else None


def get_data(
    height: int, width: int, format: str = "yuv444p", frame_rate: float = FRAME_RATE, duration: float = 4
) -> Any:
    """Synthetic pictures, uint8 [frames, 3, height, width]."""
    source = f"testsrc2=rate={frame_rate}:size={width}x{height}:duration={duration}"
    reader = StreamReader(src=source, format="lavfi", arrays="numpy")
    reader.add_basic_video_stream(-1, format=format)
    reader.process_all_packets()
    (video,) = reader.pop_chunks()
    return video


def encode_one(encoder: str, folder: Path, duration: float) -> None:
    """A file in memory, from pictures in host memory and, with a GPU, from its own."""
    pict_config: dict[str, Any] = {"height": 360, "width": 640, "frame_rate": FRAME_RATE, "format": "yuv444p"}
    frame_data = get_data(**pict_config, duration=duration)
    hw_accels = [None, "cuda:0"] if "nvenc" in encoder else [None]
    for hw_accel in hw_accels:
        buffer = io.BytesIO()
        writer = StreamWriter(buffer, format="mp4")
        options = {"hw_accel": hw_accel} if hw_accel else {"encoder_format": "yuv444p"}
        writer.add_video_stream(**pict_config, encoder=encoder, **options)
        if hw_accel:
            import torch

            frame_data = torch.as_tensor(frame_data).to(hw_accel)
        with writer.open():
            writer.write_video_chunk(0, frame_data)
        path = folder / f"{encoder}{'_cuda' if hw_accel else ''}.mp4"
        path.write_bytes(buffer.getvalue())  # in a notebook: IPython.display.Video(buffer.getvalue(), embed=True, ...)
        print(f"{path}: {len(frame_data)} frames, {len(buffer.getvalue())} bytes")


def test_encode(data: Any, encoder: str, hw_accel: str | None, repeats: int, **config: Any) -> tuple[float, int]:
    """Prints the tutorial's lines for one setting; seconds until the file is closed, and its bytes."""
    height, width = data.shape[2:]
    if hw_accel:
        import torch

        data = torch.as_tensor(data).to(hw_accel)
    else:
        config["encoder_format"] = "yuv444p"
    seconds = []
    for _ in range(repeats):
        buffer = io.BytesIO()
        writer = StreamWriter(buffer, format="mp4")
        writer.add_video_stream(
            FRAME_RATE, width, height, format="yuv444p", encoder=encoder, hw_accel=hw_accel, **config
        )
        start = time.perf_counter()
        with writer.open():
            writer.write_video_chunk(0, data)
        seconds.append(time.perf_counter() - start)
    elapsed, size = statistics.median(seconds), len(buffer.getvalue())
    print(f" - Processed {len(data)} frames in {elapsed:.2f} seconds. ({len(data) / elapsed:.2f} fps)")
    print(f" - Encoded data size: {size} bytes, PSNR of luma {psnr(buffer.getvalue(), data):.2f} dB")
    return elapsed, size


def psnr(file: bytes, data: Any) -> float:
    """Of luma, in dB, over all frames."""
    reader = StreamReader(file, arrays="numpy")
    reader.add_basic_video_stream(-1, format="yuv444p")
    reader.process_all_packets()
    (decoded,) = reader.pop_chunks()
    source = np.asarray(data.cpu() if hasattr(data, "cpu") else data)
    error = np.mean((np.asarray(decoded)[:, 0].astype(np.float32) - source[:, 0]) ** 2)
    return float(10 * np.log10(255**2 / max(error, 1e-10)))


def plot(path: Path, times: dict[str, list[float]], sizes: dict[str, list[float]], names: list[str]) -> None:
    """The tutorial's plot of times and sizes."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("no plot: matplotlib is not installed")
        return
    figure, axes = plt.subplots(2, 1, sharex=True, figsize=[9.6, 7.2])
    for axis, series, title in zip(axes, (times, sizes), ("Time [s]", "The encoded size [bytes]"), strict=True):
        for label, values in series.items():
            axis.plot(values, marker="o", label=label)
        axis.set(ylabel=title, ylim=(0, None), xticks=range(len(names)), xticklabels=names)
        axis.grid(axis="both")
        axis.legend()
    figure.savefig(path)
    print(path)


def main() -> int:
    """Runs the tutorial."""
    parser = argparse.ArgumentParser(description="torchaudio's NVENC tutorial on tricodec")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="for the videos and the plot")
    parser.add_argument("--duration", type=float, default=4.0, help="seconds of pictures")
    parser.add_argument("--repeats", type=int, default=3, help="of each measurement")
    parser.add_argument("--resolutions", default="360p,720p,1080p")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)

    hardware = check_prerequisites()
    encode_one(hardware or "libx264", options.folder, options.duration)
    settings: list[tuple[str, str, str | None, dict[str, Any]]] = [
        (f"Software Encoding (threads={count})", "libx264", None, {"encoder_option": {"threads": str(count)}})
        for count in (1, 4, 8)
    ]
    if hardware:
        settings.append(("Hardware Encoding (CPU Tensor)", hardware, None, {"encoder_option": {"gpu": "0"}}))
        settings.append(("Hardware Encoding (CUDA Tensor)", hardware, "cuda:0", {}))
    times: dict[str, list[float]] = {}
    sizes: dict[str, list[float]] = {}
    names = options.resolutions.split(",")
    for name in names:
        width, height = RESOLUTIONS[name]
        print(f"Testing resolution: {width}x{height}")
        data = get_data(height, width, duration=options.duration)
        for label, encoder, hw_accel, config in settings:
            print(f"* {label}")
            elapsed, size = test_encode(data, encoder, hw_accel, options.repeats, **config)
            times.setdefault(label, []).append(elapsed)
            sizes.setdefault(label, []).append(float(size))
    plot(options.folder / "times_and_sizes.png", times, sizes, names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
