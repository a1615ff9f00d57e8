# SPDX-License-Identifier: Apache-2.0
"""One setting of one encoder, measured."""

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
    """What is encoded with, and from where."""

    label: str
    encoder: str
    encoder_option: tuple[tuple[str, str], ...] = ()
    hw_accel: str | None = None
    """None: frames in host memory; "cuda:N": in that GPU's."""

    @property
    def is_hardware(self) -> bool:
        """Whether a GPU encodes."""
        return "nvenc" in self.encoder


@dataclass
class Measurement:
    """What a setting took and gave at one size; `reason` says why it could not be measured."""

    resolution: str
    setting: EncodeSetting
    num_frames: int = 0
    write_seconds: list[float] = field(default_factory=list)
    """Until the last frame was taken, for each repeat: what the tutorial measures."""
    total_seconds: list[float] = field(default_factory=list)
    """Until the file was closed: what it takes to have the result."""
    size_bytes: int = 0
    quality: Quality | None = None
    reason: str = ""

    @property
    def seconds(self) -> float:
        """The median of `total_seconds`."""
        return statistics.median(self.total_seconds)

    @property
    def frames_per_second(self) -> float:
        """Of the median."""
        return self.num_frames / self.seconds

    @property
    def bits_per_second(self) -> float:
        """Of the encoded file."""
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
    """libx264, or where a build of FFmpeg lacks it the first of the others that it has.

    Raises:
        RuntimeError: if there is none.
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
    """NVENC from host memory and from the GPU's."""
    return [
        EncodeSetting("Hardware Encoding (CPU Tensor)", "h264_nvenc", (("gpu", "0"),)),
        EncodeSetting("Hardware Encoding (CUDA Tensor)", "h264_nvenc", (), "cuda:0"),
    ]


def encode(frames: Any, setting: EncodeSetting, **extra: str) -> tuple[float, float, bytes]:
    """Encode frames into an mp4 in memory.

    Args:
        frames: uint8 [time, 3, height, width], yuv444p, in host memory; copied to the GPU within the measured time
            where the setting says so.
        setting: the encoder.
        **extra: more options of the encoder.

    Returns:
        Seconds until the last frame was taken, seconds until the file was closed, and the file.
    """
    buffer = io.BytesIO()
    writer = StreamWriter(buffer, format="mp4")
    writer.add_video_stream(
        frame_rate=FRAME_RATE,
        width=frames.shape[3],
        height=frames.shape[2],
        format=PIXEL_FORMAT,
        encoder=setting.encoder,
        encoder_format=None if setting.hw_accel else _format_of(setting.encoder),
        encoder_option={**dict(setting.encoder_option), **extra},
        hw_accel=setting.hw_accel,
    )
    writer.open()
    start = time.perf_counter()
    writer.write_video_chunk(0, _on_device(frames, setting.hw_accel))
    written = time.perf_counter() - start
    writer.flush()
    writer.close()
    return written, time.perf_counter() - start, buffer.getvalue()


def _format_of(encoder: str) -> str | None:
    """yuv444p where the encoder is known to take it; else its own choice."""
    return PIXEL_FORMAT if encoder in ("libx264", "libx265", "h264_nvenc", "hevc_nvenc") else None


def _on_device(frames: Any, hw_accel: str | None) -> Any:
    if hw_accel is None:
        return frames
    import torch

    return torch.from_numpy(frames).to(hw_accel)
