# SPDX-License-Identifier: Apache-2.0
"""What the tests of tricodec.io share: a reader of numpy chunks, a clip with sound, the ffmpeg command line."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec.io
from media import ffmpeg, ffprobe, generated

# Other tests of the same process may have imported torch.
StreamReader = functools.partial(tricodec.io.StreamReader, arrays="numpy")

TESTSRC = "testsrc2=rate=25:size=160x90:duration=2"


def all_of(reader: StreamReader) -> Any:
    reader.process_all_packets()
    (chunk,) = reader.pop_chunks()
    return chunk


@pytest.fixture(scope="module")
def movie(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five seconds of H.264 with B frames and a key frame every 12, stereo AAC, a subtitle, tags."""
    folder = tmp_path_factory.mktemp("movie")
    subtitle = folder / "words.srt"
    subtitle.write_text("1\n00:00:00,000 --> 00:00:02,000\nhello\n")
    path = folder / "movie.mp4"
    ffmpeg(
        "-f lavfi -i testsrc2=rate=25:size=320x180:duration=5",
        "-f lavfi -i aevalsrc=sin(440*2*PI*t)|sin(660*2*PI*t):s=8000:d=5 -i", subtitle,
        "-c:v libx264 -preset veryfast -g 12 -bf 2 -c:a aac -c:s mov_text",
        "-metadata title=Title -metadata:s:a:0 language=eng", path,
    )  # fmt: skip
    return path


@pytest.fixture(scope="module")
def movie_rgb(movie: Path) -> Any:
    raw = ffmpeg("-i", movie, "-map", "0:v", "-pix_fmt", "rgb24", "-f", "rawvideo", "-")
    return np.frombuffer(raw, np.uint8).reshape(-1, 180, 320, 3).transpose(0, 3, 1, 2)


def video_reader(source: Any, frames_per_chunk: int = -1, buffer_chunk_size: int = -1, **options: Any) -> StreamReader:
    reader = StreamReader(source)
    reader.add_basic_video_stream(frames_per_chunk, buffer_chunk_size, **options)
    return reader


RATE = 30000 / 1001


def generate(pixel_format: str = "rgb24", size: str = "64x48", frames: int = 10, rate: float = RATE) -> Any:
    source = f"testsrc2=rate={rate}:size=64x48:duration={(frames - 0.5) / rate},format=rgb24"  # of even sizes only
    if size != "64x48":
        source += f",scale={size.replace('x', ':')}:flags=neighbor"
    reader = StreamReader(source, format="lavfi")
    reader.add_basic_video_stream(-1, format=pixel_format)
    reader.process_all_packets()
    return np.asarray(reader.pop_chunks()[0])


def sine(num_samples: int, num_channels: int, rate: int = 16000, dtype: Any = np.float32) -> Any:
    time = np.arange(num_samples)[:, np.newaxis] / rate
    wave = np.sin(2 * np.pi * 440 * (1 + np.arange(num_channels)) * time)
    if np.dtype(dtype).kind == "f":
        return (wave * 0.5).astype(dtype)
    if dtype == np.uint8:
        return (wave * 60 + 128).astype(dtype)
    return (wave * np.iinfo(dtype).max / 2).astype(dtype)


def probe(data: bytes | Path, *options: str) -> Any:
    return ffprobe(data, " ".join(["-count_frames -show_streams -show_format", *options]))


def decode(data: bytes, *options: str) -> bytes:
    return ffmpeg("-i -", *options, "-", stdin=data)


def chunks_of(clip: str, frames_per_chunk: int = 7, *, arrays: Any = "numpy", **options: Any) -> list[Any]:
    """The chunks of a generated clip's pictures as they are stored; one chunk of all of them for -1."""
    reader = tricodec.io.StreamReader(generated(clip), arrays=arrays)
    reader.add_video_stream(frames_per_chunk, -1, **options)
    if frames_per_chunk < 0:
        reader.process_all_packets()
        return list(reader.pop_chunks())
    return [chunk for (chunk,) in reader.stream()]
