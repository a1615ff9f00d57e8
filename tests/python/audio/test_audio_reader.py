# SPDX-License-Identifier: Apache-2.0
"""AudioReader: samples by number and time, against the ffmpeg program, in threads and forked children too."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from file_likes import ReadOnly
from forked import PRELUDE
from media import ffmpeg_samples, generated
from preloaded import with_tricodec

CHANNELS = {"mp3_16k.mp3": 1, "u8.wav": 1, "surround.wav": 6}

CLIPS = [
    "aac.mp4",
    "aac_cut.mp4",
    "aac.ts",
    "mp3.mp3",
    "mp3_16k.mp3",
    "opus.ogg",
    "vorbis.ogg",
    "flac.flac",
    "s24.wav",
    "s16.mov",
    "surround.wav",
]


@pytest.mark.parametrize("dtype", ["float32", "int16"])
@pytest.mark.parametrize("name", CLIPS)
def test_all_samples_are_those_of_ffmpeg(name: str, dtype: str) -> None:  # V197, V202
    expected = ffmpeg_samples(generated(name), dtype, channels=CHANNELS.get(name, 2))

    reader = tricodec.AudioReader(generated(name), dtype=dtype)

    assert expected.shape[1] > 0
    assert np.array_equal(reader[:], expected)
    assert len(reader) == expected.shape[1]


@pytest.mark.parametrize("rate", [16000, 16001])
@pytest.mark.parametrize("name", ["aac.mp4", "mp3.mp3", "opus.ogg"])
def test_resampled_samples_are_those_of_ffmpeg(name: str, rate: int) -> None:  # V198, V204
    expected = ffmpeg_samples(generated(name), options=f"-ar {rate}")

    assert np.array_equal(tricodec.AudioReader(generated(name), sample_rate=rate)[:], expected)


@pytest.mark.parametrize("dtype", ["float32", "int16"])
@pytest.mark.parametrize(("name", "channels"), [("aac.mp4", 1), ("surround.wav", 2)])
def test_mixes_are_those_of_ffmpeg(name: str, channels: int, dtype: str) -> None:
    expected = ffmpeg_samples(generated(name), dtype, f"-ac {channels}", channels=channels)

    reader = tricodec.AudioReader(generated(name), num_channels=channels, dtype=dtype)

    assert np.array_equal(reader[:], expected)
    assert reader.channel_layout == {1: "mono", 2: "stereo"}[channels]


@pytest.mark.parametrize("rate", [None, 16000])
@pytest.mark.parametrize("name", ["aac.mp4", "mp3.mp3", "vorbis.ogg"])
def test_reads_give_the_same_samples_however_they_are_cut(name: str, rate: int | None) -> None:  # V78, V199, V200
    whole = tricodec.AudioReader(generated(name), sample_rate=rate)[:]
    reader = tricodec.AudioReader(generated(name), sample_rate=rate)
    order = random.Random(7)

    for _ in range(30):
        start = order.randrange(whole.shape[1])
        stop = min(whole.shape[1], start + order.choice([0, 1, 1000, 30000]))
        assert np.array_equal(reader[start:stop], whole[:, start:stop])
    for size in (777, 20000):
        chunks = [samples.data for samples in reader.chunks(size)]
        assert np.array_equal(np.concatenate(chunks, axis=1), whole)
        assert {chunk.shape[1] for chunk in chunks[:-1]} == {size}


@pytest.mark.parametrize("rate", [None, 8000])
@pytest.mark.parametrize("name", ["long.wav", "long.mp4"])
def test_far_jumps_give_the_samples_of_decoding_from_the_start(name: str, rate: int | None) -> None:  # V201
    whole = tricodec.AudioReader(generated(name), sample_rate=rate)[:]
    reader = tricodec.AudioReader(generated(name), sample_rate=rate)
    second = reader.sample_rate

    for start in (45 * second + 3, 2 * second, 30 * second + 17, 59 * second):
        assert np.array_equal(reader[start : start + second // 2], whole[:, start : start + second // 2])


SOURCES: dict[str, Callable[[Path], Any]] = {
    "text": str,
    "bytes": Path.read_bytes,
    "file": lambda path: io.BytesIO(path.read_bytes()),
    "pipe": lambda path: ReadOnly(path.read_bytes()),
}


@pytest.mark.parametrize("form", SOURCES)
@pytest.mark.parametrize("name", ["aac.mp4", "mp3.mp3", "opus.ogg"])
def test_every_source_gives_the_same_samples(name: str, form: str) -> None:
    whole = tricodec.AudioReader(generated(name))[:]
    reader = tricodec.AudioReader(SOURCES[form](generated(name)))

    assert np.array_equal(reader[60000:70000], whole[:, 60000:70000])
    assert np.array_equal(reader[5000:5100], whole[:, 5000:5100])
    assert np.array_equal(reader[:], whole)


def test_facts_are_those_of_the_file_and_of_the_result() -> None:
    reader = tricodec.AudioReader(generated("aac.mp4"), sample_rate=16000, num_channels=1, dtype=np.int16)

    assert (reader.sample_rate, reader.num_channels, reader.dtype) == (16000, 1, np.dtype(np.int16))
    stream = reader.stream
    assert (stream.codec_name, stream.sample_rate, stream.num_channels) == ("aac", 44100, 2)
    assert (stream.channel_layout, stream.sample_format) == ("stereo", "fltp")
    assert reader.duration_seconds == pytest.approx(3, abs=0.05)
    assert "aac at 16000 Hz, mono, int16" in repr(reader)
    assert "int16 [1, 16] at 16000 Hz" in repr(reader.read(0, 16))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_rate": 0}, "sample_rate is 0"),
        ({"num_channels": 65}, "num_channels is 65"),
        ({"dtype": "uint8"}, "of sound is not one of int16, float32"),
        ({"stream_index": 9}, "which has 3 streams"),
    ],
)
def test_options_that_are_not_accepted_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tricodec.AudioReader(generated("movie.mp4"), **options)


def test_places_that_are_not_there_are_index_errors() -> None:
    reader = tricodec.AudioReader(generated("s16.wav"))

    with pytest.raises(IndexError, match="132300 samples"):
        reader.read(10**7)
    with pytest.raises(IndexError, match="132300 samples"):
        reader[132300]
    with pytest.raises(IndexError, match="132300 samples"):
        reader[-132301]
    with pytest.raises(IndexError, match=r"from 0 s to 3 s"):
        reader.read(start_s=99)
    with pytest.raises(ValueError, match="end_s must be later"):
        reader.read(start_s=2, end_s=1)
    with pytest.raises(ValueError, match="either start and count"):
        reader.read(5, start_s=1)
    with pytest.raises(ValueError, match="pass sample_rate= to resample"):
        reader[::2]
    assert reader.read(start_s=1, end_s=1).data.shape == (2, 0)


def test_damaged_packets_are_left_out_as_ffmpeg_does_and_reported(tmp_path: Path) -> None:
    data = bytearray(generated("flac.flac").read_bytes())
    data[len(data) // 2 : len(data) // 2 + 400] = bytes(400)
    path = tmp_path / "damaged.flac"
    path.write_bytes(data)
    expected = ffmpeg_samples(path)
    reader = tricodec.AudioReader(path)

    samples = reader[:]

    assert np.array_equal(samples, expected)
    assert reader.num_damaged_packets == len(reader.issues) >= 1
    assert reader[:1000].shape == (2, 1000)
    assert reader.num_damaged_packets == len(reader.issues)


def test_a_file_that_was_cut_short_gives_what_there_is_and_says_so(tmp_path: Path) -> None:
    whole = generated("opus.mkv").read_bytes()
    path = tmp_path / "cut.mkv"
    path.write_bytes(whole[: len(whole) * 2 // 3])
    reader = tricodec.AudioReader(path)

    assert 0 < len(reader) < len(tricodec.AudioReader(generated("opus.mkv")))
    assert reader.issues[-1].message.startswith("it ends early")
    assert np.array_equal(reader[:], ffmpeg_samples(path))


def run(program: str) -> str:
    result = with_tricodec().run_code(PRELUDE + program)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.parametrize("name", ["aac.mp4", "s16.wav"])
def test_readers_made_before_a_fork_give_the_same_samples_in_children(name: str) -> None:
    path = str(generated(name))
    run(f"""
whole = tricodec.AudioReader({path!r})[:]
reader = tricodec.AudioReader({path!r})
first = reader[:20000]
def work():
    assert np.array_equal(reader[20000:90000], whole[:, 20000:90000])
    assert np.array_equal(reader[:], whole)
in_children(work, 3)
assert np.array_equal(reader[:], whole)
""")
