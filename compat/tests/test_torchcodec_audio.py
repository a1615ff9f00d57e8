# SPDX-License-Identifier: Apache-2.0
"""torchcodec's AudioDecoder and WavDecoder, against ffmpeg.

TRICODEC_TEST_ORIGINALS=1 runs torchcodec itself.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import media
import numpy as np
import pytest
from peer_names import ORIGINALS, torch, torchcodec

pytestmark = pytest.mark.needs_torch

_SOUND = "-f lavfi -i sine=frequency=440:sample_rate=44100:duration=2 -ac 2"
_CODECS = {
    "wav": "-c:a pcm_s16le", "flac": "-c:a flac", "m4a": "-c:a aac", "mp3": "-c:a libmp3lame", "u8.wav": "-c:a pcm_u8",
    "s24.wav": "-c:a pcm_s24le", "s32.wav": "-c:a pcm_s32le", "f32.wav": "-c:a pcm_f32le", "f64.wav": "-c:a pcm_f64le",
}  # fmt: skip


@pytest.fixture(scope="module")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("sounds")
    paths = {}
    for name, codec in _CODECS.items():
        paths[name] = folder / f"a.{name}"
        media.ffmpeg(_SOUND, codec, paths[name])
    return paths


def by_ffmpeg(path: Path, options: str = "") -> np.ndarray[Any, Any]:
    return np.frombuffer(media.ffmpeg("-i", path, *options.split(), "-f f32le -"), np.float32)


@pytest.mark.parametrize("name", _CODECS)
def test_samples_are_those_of_ffmpeg(name: str, sounds: dict[str, Path]) -> None:
    decoder = torchcodec.decoders.AudioDecoder(sounds[name])
    samples = decoder.get_all_samples()
    expected = by_ffmpeg(sounds[name]).reshape(-1, 2).T
    assert samples.data.dtype == torch.float32
    assert samples.data.shape == expected.shape
    assert np.array_equal(samples.data.numpy(), expected)
    assert samples.sample_rate == 44100
    assert samples.duration_seconds == expected.shape[1] / 44100
    assert decoder.metadata.sample_rate == 44100
    assert decoder.metadata.num_channels == 2


def test_ranges_that_meet_leave_nothing_out(sounds: dict[str, Path]) -> None:
    for name in ("wav", "flac"):
        decoder = torchcodec.decoders.AudioDecoder(sounds[name])
        whole = decoder.get_all_samples().data
        cuts = [0.0, 0.1, 0.3333333, 0.5, 1.0, 1.25, 1.7, None]
        parts = [decoder.get_samples_played_in_range(a, b) for a, b in itertools.pairwise(cuts)]
        assert torch.equal(torch.cat([part.data for part in parts], dim=1), whole)
        assert [part.pts_seconds for part in parts] == pytest.approx(cuts[:-1], abs=1e-6)
        second = decoder.get_samples_played_in_range(0.5, 1.5)
        assert second.duration_seconds == 1
        assert torch.equal(second.data, whole[:, 22050:66150])


def test_ranges_outside_the_sound(sounds: dict[str, Path]) -> None:
    decoder = torchcodec.decoders.AudioDecoder(sounds["wav"])
    whole = decoder.get_all_samples().data
    early = decoder.get_samples_played_in_range(-1, 0.5)
    assert early.pts_seconds == 0
    assert torch.equal(early.data, whole[:, :22050])
    assert torch.equal(decoder.get_samples_played_in_range(1.5, 100).data, whole[:, 66150:])
    for time in (0, 1, 100):
        nothing = decoder.get_samples_played_in_range(time, time)
        assert (nothing.data.shape, nothing.sample_rate) == ((2, 0), 44100)
    with pytest.raises(ValueError, match="Invalid start seconds"):
        decoder.get_samples_played_in_range(1, 0)
    with pytest.raises(RuntimeError, match="No audio frames were decoded"):
        decoder.get_samples_played_in_range(100, 101)


@pytest.mark.parametrize(("rate", "channels"), [(16000, None), (48000, 1), (8000, 2), (None, 1)])
def test_rates_and_channels_are_libswresamples(rate: int | None, channels: int | None, sounds: dict[str, Path]) -> None:
    decoder = torchcodec.decoders.AudioDecoder(sounds["flac"], sample_rate=rate, num_channels=channels)
    samples = decoder.get_all_samples()
    options = (f"-ar {rate} " if rate else "") + (f"-ac {channels}" if channels else "")
    expected = by_ffmpeg(sounds["flac"], options).reshape(-1, channels or 2).T
    assert samples.sample_rate == (rate or 44100)
    assert decoder.metadata.sample_rate == 44100
    assert abs(samples.data.shape[1] - expected.shape[1]) <= 1
    count = min(samples.data.shape[1], expected.shape[1])
    assert np.abs(samples.data.numpy()[:, :count] - expected[:, :count]).max() < 2e-4


def test_arguments_are_checked(sounds: dict[str, Path]) -> None:
    make = torchcodec.decoders.AudioDecoder
    with pytest.raises(RuntimeError, match="num_channels must be > 0"):
        make(sounds["wav"], num_channels=0)
    for name in ("wav", "mp3"):
        for options in ({"num_channels": 23}, {"sample_rate": 0}, {"sample_rate": -1}):
            with pytest.raises(RuntimeError, match="SwrContext" if "num_channels" in options else None):
                make(sounds[name], **options).get_all_samples()
        assert make(sounds[name], stream_index=0).stream_index == 0
        with pytest.raises(ValueError, match="is not a valid stream"):
            make(sounds[name], stream_index=1)
    with pytest.raises(ValueError, match="is not a valid stream"):
        make(sounds["wav"], stream_index=3)
    with pytest.raises(ValueError, match="not an audio stream"):
        make(media.generated("h264_audio.mp4"), stream_index=0)
    with pytest.raises(ValueError, match="best audio stream is unknown"):
        make(media.generated("h264_bframes.mp4"))
    assert make(media.generated("h264_audio.mp4")).stream_index == 1
    with pytest.raises(RuntimeError, match="Could not open input file"):
        make("/nonexistent.wav")


@pytest.mark.parametrize("name", [name for name in _CODECS if name.endswith("wav")])
def test_a_wav_decoder_gives_the_same(name: str, sounds: dict[str, Path]) -> None:
    if ORIGINALS and name == "f32.wav":
        pytest.skip("torchcodec takes the samples of the wrong place")
    wav = torchcodec.decoders.WavDecoder(sounds[name])
    decoder = torchcodec.decoders.AudioDecoder(sounds[name].read_bytes())
    assert torch.equal(wav.get_all_samples().data, decoder.get_all_samples().data)
    part = wav.get_samples_played_in_range(-1, 0.5)
    assert part.pts_seconds == 0
    assert part.data.shape == (2, 22050)
    assert wav.metadata.sample_rate == 44100
    assert wav.stream_index == 0
    with pytest.raises(RuntimeError, match="No samples to decode"):
        wav.get_samples_played_in_range(100, 101)
    with pytest.raises(ValueError, match="Invalid start seconds"):
        wav.get_samples_played_in_range(2, 1)


def test_a_wav_decoder_refuses_other_files(sounds: dict[str, Path]) -> None:
    with pytest.raises(RuntimeError, match="Missing RIFF header"):
        torchcodec.decoders.WavDecoder(sounds["m4a"])


def test_a_damaged_packet_is_an_error_of_its_range_alone(sounds: dict[str, Path]) -> None:
    data = bytearray(sounds["mp3"].read_bytes()[:20_000])
    for i in range(8_000, len(data), 7):
        data[i] ^= 0xFF
    decoder = torchcodec.decoders.AudioDecoder(bytes(data))
    with pytest.raises(RuntimeError, match="Invalid data found"):
        decoder.get_all_samples()
    assert decoder.get_samples_played_in_range(0.1, 0.2).data.shape == (2, 4410)


def test_a_wav_file_that_ends_before_the_start_says_so(sounds: dict[str, Path]) -> None:
    with pytest.raises(RuntimeError, match=r"start_seconds is too high\(10\)"):
        torchcodec.decoders.WavDecoder(sounds["wav"]).get_samples_played_in_range(10.0)
