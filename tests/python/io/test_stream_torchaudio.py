# SPDX-License-Identifier: Apache-2.0
"""What torchaudio 2.7.1 gave for the same calls, seeks among them, and where tricodec does otherwise."""

from __future__ import annotations

import io
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from media import ffmpeg
from stream_testing import RATE, StreamReader, movie, sine
from tricodec.io import StreamWriter

__all__ = ["movie"]


@pytest.mark.parametrize("frames_per_chunk", [1, 3, 10])
def test_times_of_pictures_are_a_number_over_the_rate_to_the_last_bit(frames_per_chunk: int) -> None:
    reader = StreamReader(f"testsrc2=rate={RATE}:size=32x24:duration=4", format="lavfi")
    reader.add_basic_video_stream(frames_per_chunk, -1)

    times = [chunk.pts for (chunk,) in reader.stream()]

    assert times == [number * 1001 / 30000 for number in range(0, 120, frames_per_chunk)]


@pytest.mark.parametrize("frames_per_chunk", [256, 4086])
def test_times_of_samples_are_a_number_over_the_rate_to_the_last_bit(frames_per_chunk: int, tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "a.wav"), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(bytes(2 * 32000))
    reader = StreamReader(tmp_path / "a.wav")
    reader.add_audio_stream(frames_per_chunk, -1)

    times = [chunk.pts for (chunk,) in reader.stream()]

    assert times == [number / 16000 for number in range(0, 32000, frames_per_chunk)]


def test_packets_without_times_follow_one_another_at_the_frame_rate(tmp_path: Path) -> None:
    ffmpeg("-f lavfi -i testsrc2=rate=25:size=64x48 -frames:v 12 -c:v libx264", tmp_path / "a.h264")
    reader = StreamReader(tmp_path / "a.h264")
    reader.add_basic_video_stream(1, -1)

    times = [chunk.pts for (chunk,) in reader.stream()]

    assert times == pytest.approx([number / 25 for number in range(12)])


def test_a_precise_seek_begins_at_the_time_or_after_it_where_ticks_are_frames(tmp_path: Path) -> None:
    ffmpeg(f"-f lavfi -i testsrc2=rate={RATE}:size=64x48:duration=1 -c:v mpeg4 -g 12", tmp_path / "a.avi")
    reader = StreamReader(tmp_path / "a.avi")
    reader.add_video_stream(-1)

    reader.seek(0.25)
    reader.process_all_packets()

    (chunk,) = reader.pop_chunks()
    assert chunk.pts == pytest.approx(8 / RATE)  # torchaudio rounds to a tick first, and begins with frame 7


def encoded(format: str, video: Any, container: str = "nut", rate: float = 30, **options: Any) -> bytes:
    file = io.BytesIO()
    writer = StreamWriter(file, format=container)
    writer.add_video_stream(rate, video.shape[3], video.shape[2], format, **options)
    with writer.open():
        writer.write_video_chunk(0, video)
    return file.getvalue()


def command_line(video: Any, format: str, *options: str) -> bytes:
    size = f"{video.shape[3]}x{video.shape[2]}"
    source = ["-f", "rawvideo", "-pix_fmt", format, "-s", size, "-r", "30", "-i", "-"]
    return ffmpeg(*source, *options, "-", stdin=video.transpose(0, 2, 3, 1).tobytes())


@pytest.mark.parametrize("format", ["rgb24", "bgr24"])
def test_rgb_becomes_yuv420p_as_the_command_line_converts_it(format: str) -> None:
    video = np.random.default_rng(0).integers(0, 256, (3, 3, 120, 160), np.uint8)

    raw = encoded(format, video, "rawvideo", encoder="rawvideo", encoder_format="yuv420p")

    assert raw == command_line(video, format, "-pix_fmt", "yuv420p", "-f", "rawvideo")


def test_wave_files_are_the_same_bytes_whenever_they_are_written() -> None:
    def write() -> bytes:
        file = io.BytesIO()
        writer = StreamWriter(file, format="wav")
        writer.add_audio_stream(8000, 1, "s16")
        with writer.open():
            writer.write_audio_chunk(0, sine(100, 1, 8000, np.int16))
        return file.getvalue()

    assert write() == write()
    assert b"Lavf" not in write()
