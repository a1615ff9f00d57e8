# SPDX-License-Identifier: Apache-2.0
"""torchaudio's tutorial "Accelerated video encoding with NVENC" on tricodec, with what it lacked: quality, medians and
a report. Without a GPU that encodes, the software rows are measured and the reason is told.

Usage: python nvenc_tutorial.py FOLDER [--duration S] [--repeats N] [--resolutions 360p,720p,1080p]
"""

from __future__ import annotations

import argparse
import importlib.metadata
import io
import sys
from pathlib import Path
from typing import Any

import tricodec
from tricodec import bench
from tricodec.io import StreamReader, StreamWriter, ffmpeg_utils


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
        print(f" - {describe_gpu(tricodec.resolve_device('cuda'))}")
    except tricodec.Error as error:
        print(f" - no CUDA device ({error})")
    # That an encoder is listed says only that it was compiled in: A100, H100 and H200 have none.
    works, reason = ffmpeg_utils.probe_encoder("h264_nvenc")
    print(f"h264_nvenc {'works' if works else 'cannot be used: ' + reason}")
    return "h264_nvenc" if works else None


def get_data(
    height: int, width: int, format: str = "yuv444p", frame_rate: float = 30000 / 1001, duration: float = 4
) -> Any:
    """Synthetic pictures, uint8 [frames, 3, height, width]."""
    source = f"testsrc2=rate={frame_rate}:size={width}x{height}:duration={duration}"
    reader = StreamReader(src=source, format="lavfi")
    reader.add_basic_video_stream(-1, format=format)
    reader.process_all_packets()
    (video,) = reader.pop_chunks()
    return video


def encode_one(encoder: str, folder: Path, duration: float) -> None:
    """A file in memory, from pictures in host memory and, with a GPU, from its own."""
    pict_config: dict[str, Any] = {"height": 360, "width": 640, "frame_rate": 30000 / 1001, "format": "yuv444p"}
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


def main() -> int:
    """Runs the tutorial."""
    parser = argparse.ArgumentParser(description="torchaudio's NVENC tutorial on tricodec")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="for the videos and the report")
    parser.add_argument("--duration", type=float, default=4.0, help="seconds of pictures")
    parser.add_argument("--repeats", type=int, default=3, help="of each measurement")
    parser.add_argument("--resolutions", default="360p,720p,1080p")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)

    encoder = check_prerequisites() or bench.software_settings([1])[0].encoder
    encode_one(encoder, options.folder, options.duration)
    report = bench.run_encode(options.resolutions.split(","), duration=options.duration, repeats=options.repeats)
    for path in bench.write_report(report, options.folder, options.duration):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
