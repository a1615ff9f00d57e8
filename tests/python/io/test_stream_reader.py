# SPDX-License-Identifier: Apache-2.0
"""tricodec.io.StreamReader against the ffmpeg command line: pixels, samples, chunks, time stamps, seeking."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from media import ffmpeg
from stream_testing import TESTSRC, StreamReader, all_of, movie, movie_rgb, video_reader
from tricodec.io import SourceStream, SourceVideoStream

__all__ = ["movie", "movie_rgb"]  # fixtures


@pytest.mark.parametrize(
    ("pixel_format", "channels"), [("yuv444p", 3), ("rgb24", 3), ("bgr24", 3), ("gray", 1), ("argb", 4), ("rgba", 4)]
)
def test_lavfi_frames_are_what_ffmpeg_writes(pixel_format: str, channels: int) -> None:
    reader = StreamReader(TESTSRC, format="lavfi")
    reader.add_basic_video_stream(-1, format=pixel_format)

    video = all_of(reader)

    raw = ffmpeg("-f", "lavfi", "-i", TESTSRC, "-pix_fmt", pixel_format, "-f", "rawvideo", "-")
    assert video.shape == (50, channels, 90, 160)
    assert video.dtype == np.uint8
    assert video.pts == 0.0
    assert (video if pixel_format == "yuv444p" else video.transpose(0, 2, 3, 1)).tobytes() == raw


@pytest.mark.parametrize("pixel_format", ["yuv420p", "nv12", "yuv422p", "p010le", "yuv420p10le"])
def test_chroma_is_repeated_to_full_size(pixel_format: str) -> None:
    width, height = (161, 91)
    source = f"testsrc2=rate=25:size=160x90:duration=0.12,scale={width}:{height}"
    reader = StreamReader(source, format="lavfi")
    reader.add_basic_video_stream(-1, format=pixel_format)

    video = all_of(reader)

    dtype = np.dtype(np.uint16 if "10" in pixel_format else np.uint8)
    raw = np.frombuffer(ffmpeg("-f", "lavfi", "-i", source, "-pix_fmt", pixel_format, "-f", "rawvideo", "-"), dtype)
    half_width = (width + 1) // 2
    half_height = height if pixel_format == "yuv422p" else (height + 1) // 2
    frames = raw.reshape(3, -1)
    luma, chroma = frames[:, : width * height], frames[:, width * height :]
    if pixel_format in ("nv12", "p010le"):
        chroma = chroma.reshape(3, half_height, half_width, 2).transpose(0, 3, 1, 2)
    chroma = chroma.reshape(3, 2, half_height, half_width)
    if half_height != height:
        chroma = chroma.repeat(2, axis=2)
    expected = np.concatenate(
        [luma.reshape(3, 1, height, width), chroma.repeat(2, axis=3)[:, :, :height, :width]], axis=1
    )
    assert video.dtype == (np.int16 if pixel_format == "yuv420p10le" else dtype)
    assert np.array_equal(video, expected)


@pytest.mark.parametrize(
    ("sample_format", "codec", "dtype"),
    [
        ("u8", "pcm_u8", np.uint8),
        ("s32", "pcm_s32le", np.int32),
        ("flt", "pcm_f32le", np.float32),
        ("s16p", "pcm_s16le", np.int16),
        ("dblp", "pcm_f64le", np.float64),
    ],
)
def test_samples_are_what_ffmpeg_decodes(movie: Path, sample_format: str, codec: str, dtype: Any) -> None:
    reader = StreamReader(movie)
    reader.add_basic_audio_stream(-1, format=sample_format)

    audio = all_of(reader)

    raw = ffmpeg("-i", movie, "-map", "0:a", "-c:a", codec, "-f", "data", "-")
    expected = np.frombuffer(raw, dtype).reshape(-1, 2)
    assert audio.dtype == dtype
    assert np.array_equal(audio, expected)


def test_audio_is_resampled_and_remixed_as_ffmpeg_does(movie: Path) -> None:
    reader = StreamReader(movie)
    reader.add_basic_audio_stream(-1, format="s16", sample_rate=16000, num_channels=1)

    audio = all_of(reader)

    filters = "aresample=16000,aformat=sample_fmts=s16:channel_layouts=1c"
    raw = ffmpeg("-i", movie, "-map", "0:a", "-af", filters, "-f", "s16le", "-")
    info = reader.get_out_stream_info(0)
    assert (info.sample_rate, info.num_channels, info.format) == (16000.0, 1, "s16")
    assert info.filter_description == filters
    assert np.array_equal(audio, np.frombuffer(raw, np.int16)[:, np.newaxis])


def test_streams_are_described_as_the_container_does(movie: Path) -> None:
    reader = StreamReader(str(movie))

    video, audio, subtitle = (reader.get_src_stream_info(i) for i in range(reader.num_src_streams))

    assert isinstance(video, SourceVideoStream)
    assert (video.codec, video.format, video.width, video.height) == ("h264", "yuv420p", 320, 180)
    assert (video.num_frames, video.frame_rate, video.bits_per_sample) == (125, 25.0, 8)
    assert video.codec_long_name == "H.264 / AVC / MPEG-4 AVC / MPEG-4 part 10"
    assert (audio.codec, audio.sample_rate, audio.num_channels) == ("aac", 8000.0, 2)  # type: ignore[attr-defined]
    assert audio.metadata["language"] == "eng"
    assert type(subtitle) is SourceStream
    facts = (subtitle.media_type, subtitle.codec, subtitle.format, subtitle.bit_rate, subtitle.num_frames)
    assert facts == ("subtitle", "mov_text", None, None, None)
    assert (reader.default_video_stream, reader.default_audio_stream) == (0, 1)
    assert reader.get_metadata()["title"] == "Title"


@pytest.mark.parametrize("kind", ["path", "bytes", "file"])
def test_every_kind_of_source_gives_the_same_frames(movie: Path, movie_rgb: Any, kind: str) -> None:
    source = {"path": movie, "bytes": movie.read_bytes(), "file": io.BytesIO(movie.read_bytes())}[kind]

    assert np.array_equal(all_of(video_reader(source)), movie_rgb)


def test_raw_video_is_read_with_a_format_and_its_options(tmp_path: Path) -> None:
    path = tmp_path / "frames.raw"
    ffmpeg("-f", "lavfi", "-i", TESTSRC, "-f", "rawvideo", "-pix_fmt", "yuv420p", path)

    reader = StreamReader(
        path, format="rawvideo", option={"video_size": "160x90", "pixel_format": "yuv420p", "framerate": "25"}
    )

    reader.add_video_stream(-1)
    video = all_of(reader)
    assert len(video) == 50
    luma = np.frombuffer(path.read_bytes(), np.uint8).reshape(50, -1)[:, : 160 * 90]
    assert np.array_equal(video[:, 0].reshape(50, -1), luma)


@pytest.mark.parametrize("frames_per_chunk", [1, 7, 50, 125, 200, -1])
def test_content_does_not_depend_on_the_chunk_size(movie: Path, movie_rgb: Any, frames_per_chunk: int) -> None:
    reader = video_reader(movie, frames_per_chunk)

    chunks = [chunk for (chunk,) in reader.stream()]

    sizes = [len(chunk) for chunk in chunks]
    if frames_per_chunk > 0:
        assert all(size == frames_per_chunk for size in sizes[:-1])
    assert np.array_equal(np.concatenate(chunks), movie_rgb)
    starts = np.cumsum([0, *sizes[:-1]])
    assert [chunk.pts for chunk in chunks] == pytest.approx(starts / 25)


def test_seek_refuses_what_makes_no_sense(movie: Path) -> None:
    reader = StreamReader(movie)

    for time, mode in ((-1.0, "precise"), (float("nan"), "key"), (1.0, "exact")):
        with pytest.raises(ValueError, match=r"timestamp|mode"):
            reader.seek(time, mode)


def test_outputs_share_a_decoder_and_have_filters_of_their_own(movie: Path, movie_rgb: Any) -> None:
    reader = StreamReader(movie)
    reader.add_basic_video_stream(-1)
    reader.add_basic_audio_stream(-1)
    reader.add_video_stream(-1, filter_desc="hflip,fps=5,scale=80:46,format=gray")

    reader.process_all_packets()
    video, audio, small = reader.pop_chunks()

    filtered = ffmpeg("-i", movie, "-vf", "hflip,fps=5,scale=80:46,format=gray", "-f", "rawvideo", "-")
    assert np.array_equal(video, movie_rgb)
    assert audio.shape[1] == 2
    assert small.tobytes() == filtered
    info = reader.get_out_stream_info(2)
    assert (info.width, info.height, info.frame_rate, info.format) == (80, 46, 5.0, "gray")


@pytest.mark.parametrize("threads", ["0", "1", "4"])
def test_decoder_threads_change_no_pixel(movie: Path, movie_rgb: Any, threads: str) -> None:
    assert np.array_equal(all_of(video_reader(movie, decoder_option={"threads": threads})), movie_rgb)
