# SPDX-License-Identifier: Apache-2.0
"""tricodec.io.StreamWriter: what it writes, read by ffprobe, the ffmpeg command line and PyAV."""

from __future__ import annotations

import io
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stream_testing import RATE, decode, generate, probe, sine
from tricodec.io import StreamWriter, ffmpeg_utils


class Output:
    """A destination of either kind, and what was written to it."""

    def __init__(self, kind: str, folder: Path, format: str) -> None:
        self.path = folder / f"out.{'ts' if format == 'mpegts' else format}"
        self.file = io.BytesIO()
        self.is_path = kind == "path"
        self.format = {"mkv": "matroska"}.get(format, format)

    def writer(self) -> StreamWriter:
        return StreamWriter(self.path) if self.is_path else StreamWriter(self.file, format=self.format)

    def bytes(self) -> bytes:
        return self.path.read_bytes() if self.is_path else self.file.getvalue()


@pytest.fixture(params=["path", "file-like"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("pixel_format", ["gray8", "rgb24", "yuv444p", "rgb48le"])
def test_raw_video_of_the_same_format_is_exact(pixel_format: str, kind: str, tmp_path: Path) -> None:
    output = Output(kind, tmp_path, "nut")
    video = generate(pixel_format, "65x47")

    writer = output.writer()
    writer.add_video_stream(RATE, 65, 47, pixel_format, encoder="rawvideo")
    with writer.open():
        writer.write_video_chunk(0, video)

    raw = decode(output.bytes(), "-f", "rawvideo")
    assert raw == (video if pixel_format == "yuv444p" else video.transpose(0, 2, 3, 1)).tobytes()


@pytest.mark.parametrize(
    ("format", "encoder", "codec", "pixel_format"),
    [
        ("mp4", None, "h264", "yuv420p"),
        ("mkv", "libx265", "hevc", "yuv420p"),
        ("webm", "libvpx-vp9", "vp9", "yuv420p"),
        ("mpegts", "mpeg2video", "mpeg2video", "yuv420p"),
        ("mov", "png", "png", "rgb24"),
        ("gif", None, "gif", "bgra"),
    ],
)
def test_encoders_and_containers_give_what_ffprobe_expects(
    format: str, encoder: str | None, codec: str, pixel_format: str, kind: str, tmp_path: Path
) -> None:
    if encoder is not None and encoder not in ffmpeg_utils.get_video_encoders():
        pytest.skip(f"this FFmpeg has no {encoder}")
    output = Output(kind, tmp_path, format)
    rate = 25

    writer = output.writer()
    writer.add_video_stream(rate, 64, 48, encoder=encoder)
    with writer.open():
        writer.write_video_chunk(0, generate(rate=rate))

    (stream,) = probe(output.bytes())["streams"]
    assert (stream["codec_name"], stream["width"], stream["height"]) == (codec, 64, 48)
    assert stream["pix_fmt"] == pixel_format
    assert int(stream["nb_read_frames"]) == 10


@pytest.mark.parametrize("rate", [30000 / 1001, 5000 / 167, 24, 12.5])
def test_frame_rates_are_kept_exactly(rate: float, tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    writer = StreamWriter(path)
    writer.add_video_stream(rate, 64, 48)

    with writer.open():
        writer.write_video_chunk(0, generate(rate=rate))

    (stream,) = probe(path)["streams"]
    expected = Fraction(rate).limit_denominator(1001)
    assert Fraction(stream["avg_frame_rate"]) == expected
    assert float(Fraction(stream["r_frame_rate"])) == pytest.approx(rate, rel=1e-6)


@pytest.mark.parametrize(
    ("format", "dtype", "encoder", "raw"),
    [
        ("u8", np.uint8, "pcm_u8", "u8"),
        ("s16", np.int16, "pcm_s16le", "s16le"),
        ("flt", np.float32, "pcm_f32le", "f32le"),
    ],
)
def test_samples_in_a_wave_file_are_exact(
    format: str, dtype: Any, encoder: str, raw: str, kind: str, tmp_path: Path
) -> None:
    output = Output(kind, tmp_path, "wav")
    audio = sine(40000, 2, dtype=dtype)

    writer = output.writer()
    writer.add_audio_stream(16000, 2, format, encoder=encoder)
    with writer.open():
        writer.write_audio_chunk(0, audio[:20001])
        writer.write_audio_chunk(0, np.asfortranarray(audio[20001:]))

    assert decode(output.bytes(), "-f", raw, "-c:a", encoder) == audio.tobytes()


@pytest.mark.parametrize(
    ("format", "encoder", "codec", "rate"),
    [("mp4", "aac", "aac", 16000), ("ogg", "libopus", "opus", 48000), ("mkv", "vorbis", "vorbis", 16000)],
)
def test_audio_is_converted_to_what_the_encoder_takes(
    format: str, encoder: str | None, codec: str, rate: int, kind: str, tmp_path: Path
) -> None:
    if encoder is not None and encoder not in ffmpeg_utils.get_audio_encoders():
        pytest.skip(f"this FFmpeg has no {encoder}")
    output = Output(kind, tmp_path, format)
    audio = sine(16000, 2)

    writer = output.writer()
    writer.add_audio_stream(16000, 2, "flt", encoder=encoder)
    with writer.open():
        writer.write_audio_chunk(0, audio)

    (stream,) = probe(output.bytes())["streams"]
    assert (stream["codec_name"], int(stream["sample_rate"]), stream["channels"]) == (codec, rate, 2)
    decoded = np.frombuffer(decode(output.bytes(), "-f", "f32le", "-ar", "16000"), np.float32).reshape(-1, 2)
    assert len(decoded) >= 16000
    spectrum = np.abs(np.fft.rfft(decoded[2000:14000, 0]))
    assert np.argmax(spectrum) * 16000 / 12000 == pytest.approx(440, abs=2)


def test_video_and_audio_share_a_file(kind: str, tmp_path: Path) -> None:
    output = Output(kind, tmp_path, "mp4")
    video, audio = generate(rate=25, frames=25), sine(16000, 1)

    writer = output.writer()
    writer.set_metadata({"title": "first", "comment": "gone"})
    writer.set_metadata({"title": "second"})
    writer.add_audio_stream(16000, 1)
    writer.add_video_stream(25, 64, 48)
    with writer.open():
        for i in range(5):
            writer.write_video_chunk(1, video[5 * i : 5 * i + 5])
            writer.write_audio_chunk(0, audio[3200 * i : 3200 * i + 3200])

    result = probe(output.bytes())
    assert [stream["codec_type"] for stream in result["streams"]] == ["audio", "video"]
    assert all(float(stream["duration"]) == pytest.approx(1.0, abs=0.07) for stream in result["streams"])
    assert result["format"]["tags"]["title"] == "second"
    assert "comment" not in result["format"]["tags"]


def test_encoder_options_give_what_the_ffmpeg_command_line_gives() -> None:
    """The same encoder with the same settings: the same bytes of video."""
    video = generate("yuv444p")
    file = io.BytesIO()
    writer = StreamWriter(file, format="h264")
    options = {"preset": "fast", "crf": "30", "threads": "1"}
    writer.add_video_stream(
        RATE, 64, 48, "yuv444p", encoder="libx264", encoder_format="yuv444p", encoder_option=options
    )

    with writer.open():
        writer.write_video_chunk(0, video)

    settings = "-c:v libx264 -preset fast -crf 30 -threads 1 -f h264"
    command = f"ffmpeg -v error -f rawvideo -pix_fmt yuv444p -s 64x48 -r 30000/1001 -i - {settings} -".split()
    expected = subprocess.run(command, input=video.tobytes(), capture_output=True, check=True).stdout
    ours = decode(file.getvalue(), "-f", "rawvideo")
    assert ours == decode(expected, "-f", "rawvideo")
    assert abs(len(file.getvalue()) - len(expected)) < 200  # the settings that x264 writes into the stream
