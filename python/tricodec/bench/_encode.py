# SPDX-License-Identifier: Apache-2.0
"""The measurement of one setting of one encoder."""

from __future__ import annotations

import io
import os
import statistics
import time
from dataclasses import dataclass, field
from typing import Any

from tricodec.bench._quality import Quality
from tricodec.io import StreamReader, StreamWriter, ffmpeg_utils

FRAME_RATE = 30000 / 1001
PIXEL_FORMAT = "yuv444p"
_SOFTWARE = ("libx264", "libopenh264", "libx265", "libsvtav1", "mpeg4")


@dataclass(frozen=True)
class EncodeSetting:
    """An encoder, its options and the location of the frames."""

    label: str
    encoder: str
    encoder_option: tuple[tuple[str, str], ...] = ()
    hw_accel: str | None = None
    """None for frames in host memory; "cuda:N" for frames in the memory of that GPU."""

    @property
    def is_hardware(self) -> bool:
        """Whether a GPU encodes."""
        return "nvenc" in self.encoder


@dataclass
class Measurement:
    """Time and result of a setting at one size; `reason` is set if it could not be measured."""

    resolution: str
    setting: EncodeSetting
    num_frames: int = 0
    write_seconds: list[float] = field(default_factory=list)
    """Seconds until the encoder took the last frame, for each repeat, as the tutorial measures."""
    total_seconds: list[float] = field(default_factory=list)
    """Seconds until the file was closed, for each repeat."""
    size_bytes: int = 0
    quality: Quality | None = None
    reason: str = ""

    @property
    def seconds(self) -> float:
        """The median of `total_seconds`."""
        return statistics.median(self.total_seconds)

    @property
    def frames_per_second(self) -> float:
        """Frames per second at the median time."""
        return self.num_frames / self.seconds

    @property
    def bits_per_second(self) -> float:
        """Bit rate of the encoded file."""
        return self.size_bytes * 8 * FRAME_RATE / self.num_frames


def source_of(width: int, height: int, duration: float) -> str:
    """The filter expression of the test pictures."""
    return f"testsrc2=rate={FRAME_RATE}:size={width}x{height}:duration={duration}"


def generate(width: int, height: int, duration: float, pixel_format: str = PIXEL_FORMAT) -> Any:
    """The test pictures, uint8 [frames, 3, height, width]."""
    reader = StreamReader(src=source_of(width, height, duration), format="lavfi", arrays="numpy")
    reader.add_basic_video_stream(-1, format=pixel_format)
    reader.process_all_packets()
    (video,) = reader.pop_chunks()
    return video


def software_encoder() -> str:
    """libx264, or the first other software encoder of a FFmpeg without it.

    Raises:
        RuntimeError: FFmpeg has no software encoder.
    """
    known = ffmpeg_utils.get_video_encoders()
    for name in _SOFTWARE:
        if name in known:
            return name
    message = f"this FFmpeg has no software encoder: none of {', '.join(_SOFTWARE)}"
    raise RuntimeError(message)


def software_settings(threads: list[int] | None = None) -> list[EncodeSetting]:
    """The software encoder with 1, 4 and 8 threads and with as many as there are cores."""
    encoder = software_encoder()
    cores = len(os.sched_getaffinity(0))
    counts = threads or sorted({1, 4, 8, cores})
    return [
        EncodeSetting(f"Software Encoding (threads={count})", encoder, (("threads", str(count)),)) for count in counts
    ]


def hardware_settings() -> list[EncodeSetting]:
    """NVENC with frames in host memory and in GPU memory."""
    return [
        EncodeSetting("Hardware Encoding (CPU Tensor)", "h264_nvenc", (("gpu", "0"),)),
        EncodeSetting("Hardware Encoding (CUDA Tensor)", "h264_nvenc", (), "cuda:0"),
    ]


def encode(frames: Any, setting: EncodeSetting, **extra: str) -> tuple[float, float, bytes]:
    """Encode frames into an mp4 in memory.

    Args:
        frames: uint8 [time, 3, height, width], yuv444p, in host memory. The measured time includes the copy to the GPU
            of a setting with `hw_accel`.
        setting: the encoder.
        **extra: further options of the encoder.

    Returns:
        Seconds until the encoder took the last frame, seconds until the file was closed, and the file.
    """
    buffer = io.BytesIO()
    writer = StreamWriter(buffer, format="mp4")
    writer.add_video_stream(
        frame_rate=FRAME_RATE, width=frames.shape[3], height=frames.shape[2], format=PIXEL_FORMAT,
        encoder=setting.encoder, encoder_format=None if setting.hw_accel else _format_of(setting.encoder),
        encoder_option={**dict(setting.encoder_option), **extra}, hw_accel=setting.hw_accel,
    )  # fmt: skip
    writer.open()
    start = time.perf_counter()
    writer.write_video_chunk(0, _on_device(frames, setting.hw_accel))
    written = time.perf_counter() - start
    writer.flush()
    writer.close()
    return written, time.perf_counter() - start, buffer.getvalue()


def _format_of(encoder: str) -> str | None:
    """yuv444p for encoders that are known to support it; None is the encoder's choice."""
    return PIXEL_FORMAT if encoder in ("libx264", "libx265", "h264_nvenc", "hevc_nvenc") else None


def _on_device(frames: Any, hw_accel: str | None) -> Any:
    if hw_accel is None:
        return frames
    import torch

    return torch.from_numpy(frames).to(hw_accel)
