# SPDX-License-Identifier: Apache-2.0
"""Sound that is written: encode_audio, AudioEncoder, sound in encode_video and transcode, `tricodec audio`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tricodec
from media import ffmpeg_samples, ffprobe, generated
from tricodec.cli import main


def tones(rate: int = 44100, seconds: float = 1.0, channels: int = 2) -> npt.NDArray[np.float32]:
    time = np.arange(int(rate * seconds)) / rate
    return np.stack([0.4 * np.sin(2 * np.pi * (300 + 200 * n) * time) for n in range(channels)]).astype(np.float32)


def saved(tmp_path: Path, data: bytes, name: str) -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def distance(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    """Root of the mean squared difference where both have samples."""
    length = min(a.shape[1], b.shape[1])
    return float(np.sqrt(np.mean((a[:, :length].astype(np.float64) - b[:, :length]) ** 2)))


@pytest.mark.parametrize(("container", "bound"), [("wav", 2e-5), ("flac", 2e-5), ("mkv", 5e-2), ("ogg", 5e-2)])
def test_encoded_sound_is_what_ffmpeg_decodes(tmp_path: Path, container: str, bound: float) -> None:
    sound = tones()

    path = saved(tmp_path, tricodec.encode_audio(sound, 44100, container=container), f"x.{container}")

    assert distance(ffmpeg_samples(path), sound) < bound
    assert np.array_equal(tricodec.AudioReader(path)[:], ffmpeg_samples(path))


@pytest.mark.parametrize(
    ("codec", "container", "name"),
    [("aac", "mp4", "aac"), ("opus", "mkv", "opus"), ("mp3", "mp3", "mp3"), ("vorbis", "ogg", "vorbis"),
     ("pcm_s24le", "wav", "pcm_s24le"), ("flac", "mkv", "flac"), ("libopus", "ogg", "opus")],
)  # fmt: skip
def test_codecs_are_chosen_by_name(tmp_path: Path, codec: str, container: str, name: str) -> None:
    sound = tones(48000)

    path = saved(tmp_path, tricodec.encode_audio(sound, 48000, codec=codec, container=container), f"x.{container}")

    [stream] = ffprobe(path, "-show_entries stream=codec_name,sample_rate,channels")["streams"]
    assert (stream["codec_name"], stream["sample_rate"], stream["channels"]) == (name, "48000", 2)
    assert distance(tricodec.AudioReader(path)[:], sound) < 5e-2


def test_int16_goes_into_wav_unchanged(tmp_path: Path) -> None:
    sound = np.random.default_rng(5).integers(-32768, 32768, (3, 5000), dtype=np.int16)

    path = saved(tmp_path, tricodec.encode_audio(sound, 8000), "x.wav")

    assert np.array_equal(tricodec.AudioReader(path, dtype="int16")[:], sound)
    assert np.array_equal(ffmpeg_samples(path, "int16", channels=3), sound)


@pytest.mark.parametrize(
    ("sound", "options", "error", "message"),
    [
        (np.zeros((2, 10)), {}, ValueError, "float64"),
        (np.zeros((2, 3, 10), np.float32), {}, ValueError, r"\[channels, samples\]"),
        (np.zeros((70, 10), np.float32), {}, ValueError, "1 to 64 channels"),
        (np.zeros((1, 10), np.float32), {"codec": "nothing"}, ValueError, "nothing"),
        (np.zeros((1, 10), np.float32), {"codec": "libmp3lame", "sample_rate": 12345}, ValueError, "12345"),
        (np.zeros((1, 10), np.float32), {"container": "nothing"}, ValueError, "unknown"),
    ],
)
def test_sound_that_cannot_be_encoded_is_named(sound: Any, options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        tricodec.encode_audio(sound, 44100, **options)


@pytest.mark.parametrize("container", ["mp4", "mkv", "ts", "mov"])
def test_a_video_gets_sound_from_its_first_frame_on(tmp_path: Path, container: str) -> None:
    frames = tricodec.decode_video(generated("movie.mp4"), count=50).frames
    sound = tones(44100, 2)

    data = tricodec.encode_video(frames, frame_rate=25, container=container, audio=sound, audio_rate=44100)
    path = saved(tmp_path, data, f"x.{container}")

    assert [stream.kind for stream in tricodec.probe(path).streams] == ["video", "audio"]
    clip = tricodec.read_av(path)
    assert len(clip.frames) == 50
    assert distance(clip.audio.data, sound) < 0.03
    if container in ("mp4", "mov"):
        assert np.array_equal(tricodec.AudioReader(path)[:], ffmpeg_samples(path))


@pytest.mark.parametrize("num_workers", [1, 2])
def test_transcode_copies_the_sound_packet_by_packet(tmp_path: Path, num_workers: int) -> None:
    path = tmp_path / "copy.mp4"

    result = tricodec.transcode(generated("movie.mp4"), path, size=(48, 80), num_workers=num_workers)

    assert result.num_audio_packets > 0
    for stream in (0, 1):
        channels = 2 - stream
        expected = ffmpeg_samples(generated("movie.mp4"), channels=channels, stream=stream)
        assert np.array_equal(ffmpeg_samples(path, channels=channels, stream=stream), expected)


def test_transcode_encodes_the_sound_exactly_of_the_range(tmp_path: Path) -> None:
    path = tmp_path / "range.mkv"
    source = ffmpeg_samples(generated("movie.mp4"), "int16", "-ar 16000 -ac 1", channels=1)

    result = tricodec.transcode(
        generated("movie.mp4"), path, start=1.0, end=2.0, audio_codec="flac", audio_rate=16000, audio_channels=1
    )

    clip = tricodec.read_av(path)
    assert result.num_audio_packets > 0
    assert len(clip) == 25
    sound = tricodec.AudioReader(path)
    assert (sound.stream.codec_name, sound.sample_rate, len(sound)) == ("flac", 16000, 16000)
    assert sound.start_seconds == pytest.approx(0, abs=1e-3)
    edge = 50  # the filter of the new rate begins with the range
    assert distance(sound[edge:-edge], source[:, 16000 + edge : 32000 - edge] / 32768) < 1e-4
    assert len(tricodec.probe(path).streams) == 3


def test_the_command_writes_the_samples_that_ffmpeg_writes(tmp_path: Path) -> None:
    path = tmp_path / "x.wav"

    status = main(["audio", str(generated("movie.mp4")), "-o", str(path), "--rate", "16000", "--channels", "1"])

    assert status == 0
    expected = ffmpeg_samples(generated("movie.mp4"), "int16", "-ar 16000 -ac 1", channels=1)
    assert np.array_equal(tricodec.AudioReader(path, dtype="int16")[:], expected)
