# SPDX-License-Identifier: Apache-2.0
"""AudioReader: samples by number and time, against the ffmpeg program, sample for sample."""

from __future__ import annotations

import io
import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import ffmpeg_samples, ffprobe, generated

CHANNELS = {"mp3_16k.mp3": 1, "u8.wav": 1, "surround.wav": 6}
CLIPS = [
    "aac.mp4", "aac_cut.mp4", "aac.ts", "aac.aac", "aac.mkv", "mp3.mp3", "mp3.mp4", "mp3_16k.mp3", "opus.ogg",
    "opus.mkv", "vorbis.ogg", "flac.flac", "flac.mkv", "s16.wav", "s24.wav", "f32.wav", "u8.wav", "s16.mov",
    "surround.wav",
]  # fmt: skip


class Pipe:
    """Bytes that can only be read in order."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def read(self, size: int) -> bytes:
        return self._file.read(size)


@pytest.mark.parametrize("dtype", ["float32", "int16"])
@pytest.mark.parametrize("name", CLIPS)
@pytest.mark.sweep(3)
def test_all_samples_are_those_of_ffmpeg(name: str, dtype: str) -> None:  # V197, V202
    expected = ffmpeg_samples(generated(name), dtype, channels=CHANNELS.get(name, 2))

    reader = tricodec.AudioReader(generated(name), dtype=dtype)

    assert expected.shape[1] > 0
    assert np.array_equal(reader[:], expected)
    assert len(reader) == expected.shape[1]


@pytest.mark.parametrize("rate", [16000, 48000, 22050, 16001])
@pytest.mark.parametrize("name", ["aac.mp4", "mp3.mp3", "opus.ogg", "s16.wav"])
@pytest.mark.sweep(3)
def test_resampled_samples_are_those_of_ffmpeg(name: str, rate: int) -> None:  # V198, V204
    expected = ffmpeg_samples(generated(name), options=f"-ar {rate}")

    assert np.array_equal(tricodec.AudioReader(generated(name), sample_rate=rate)[:], expected)


@pytest.mark.parametrize("dtype", ["float32", "int16"])
@pytest.mark.parametrize(
    ("name", "channels"), [("aac.mp4", 1), ("surround.wav", 2), ("surround.wav", 1), ("u8.wav", 2)]
)
def test_mixes_are_those_of_ffmpeg(name: str, channels: int, dtype: str) -> None:
    expected = ffmpeg_samples(generated(name), dtype, f"-ac {channels}", channels=channels)

    reader = tricodec.AudioReader(generated(name), num_channels=channels, dtype=dtype)

    assert np.array_equal(reader[:], expected)
    assert reader.channel_layout == {1: "mono", 2: "stereo"}[channels]


@pytest.mark.parametrize("rate", [None, 16000])
@pytest.mark.parametrize("name", ["aac.mp4", "mp3.mp3", "opus.mkv", "vorbis.ogg", "flac.flac", "s16.wav"])
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


@pytest.mark.parametrize("rate", [None, 44100, 8000, 16001])
@pytest.mark.parametrize("name", ["long.wav", "long.mp4"])
def test_far_jumps_give_the_samples_of_decoding_from_the_start(name: str, rate: int | None) -> None:  # V201
    whole = tricodec.AudioReader(generated(name), sample_rate=rate)[:]
    reader = tricodec.AudioReader(generated(name), sample_rate=rate)
    second = reader.sample_rate

    for start in (45 * second + 3, 2 * second, 30 * second + 17, 59 * second):
        assert np.array_equal(reader[start : start + second // 2], whole[:, start : start + second // 2])


def test_a_far_place_in_pcm_is_read_without_the_bytes_before() -> None:
    class Counting(io.BytesIO):
        num_read = 0

        def read(self, size: int | None = -1) -> bytes:
            data = super().read(size)
            self.num_read += len(data)
            return data

    file = Counting(generated("long.wav").read_bytes())
    reader = tricodec.AudioReader(file, sample_rate=8000)

    reader.read(start_s=50, end_s=50.1)

    assert file.num_read < len(file.getvalue()) / 3


def test_approximate_seeking_gives_nearly_the_same_samples() -> None:
    exact = tricodec.AudioReader(generated("long.mp4")).read(start_s=45, end_s=46)
    reader = tricodec.AudioReader(generated("long.mp4"), seek_mode="approximate")

    samples = reader.read(start_s=45, end_s=46)

    assert (samples.start, samples.pts_seconds) == (exact.start, exact.pts_seconds)
    assert np.abs(samples.data[0] - exact.data[0]).max() < 1e-3
    # The right side has noise, which the decoder makes itself.
    assert np.corrcoef(samples.data[1], exact.data[1])[0, 1] > 0.99


@pytest.mark.parametrize("name", ["aac.mp4", "aac_cut.mp4", "aac.ts", "mp3.mp3", "opus.ogg", "flac.mkv", "s16.wav"])
def test_times_are_those_of_the_decoded_frames(name: str) -> None:  # V203
    probed = ffprobe(generated(name), "-select_streams a:0 -show_entries frame=pts_time,nb_samples")["frames"]
    first = next(float(frame["pts_time"]) for frame in probed if int(frame["nb_samples"]) > 0)
    reader = tricodec.AudioReader(generated(name))

    assert reader.start_seconds == pytest.approx(first, abs=2e-6)
    samples = reader.read(start_s=first + 1, end_s=first + 1.5)
    assert samples.pts_seconds == pytest.approx(first + 1, abs=1 / reader.sample_rate)
    assert samples.start == reader.sample_at(first + 1)
    assert samples.duration_seconds == 0.5


def test_ranges_of_time_that_meet_share_no_sample_and_leave_none_out() -> None:
    reader = tricodec.AudioReader(generated("aac.mp4"), sample_rate=16000)
    cuts = [0.0, 0.1, 0.33333, 1.00003, 1.00004, 2.5]

    parts = [reader.read(start_s=a, end_s=b).data for a, b in itertools.pairwise(cuts)]

    assert np.array_equal(np.concatenate(parts, axis=1), reader.read(end_s=2.5).data)


def test_time_stamps_that_jump_move_the_times_of_later_samples(tmp_path: Path) -> None:
    # One second, then a hole of two: packets of MPEG-TS that are not there.
    data = generated("aac.ts").read_bytes()
    packets = [data[at : at + 188] for at in range(0, len(data), 188)]
    path = tmp_path / "hole.ts"
    path.write_bytes(b"".join(packets[: len(packets) // 3] + packets[2 * len(packets) // 3 :]))
    whole = tricodec.AudioReader(generated("aac.ts"))
    reader = tricodec.AudioReader(path)

    late = reader.read(start_s=whole.start_seconds + 2.6)

    assert len(reader) < len(whole) - 0.5 * whole.sample_rate
    assert abs(len(late) - len(whole.read(start_s=whole.start_seconds + 2.6))) < 0.1 * whole.sample_rate


def test_slices_and_numbers_count_as_in_a_sequence() -> None:
    reader = tricodec.AudioReader(generated("s16.wav"))
    whole = reader[:]

    assert np.array_equal(reader[-1000:], whole[:, -1000:])
    assert np.array_equal(reader[-1000:-990], whole[:, -1000:-990])
    assert np.array_equal(reader[10], whole[:, 10])
    assert np.array_equal(reader[-1], whole[:, -1])
    assert reader[10:5].shape == (2, 0)
    assert reader[10**9 :].shape == (2, 0)
    assert np.array_equal(reader[whole.shape[1] - 5 : 10**15], whole[:, -5:])
    assert sum(len(second) for second in reader) == len(reader)
    assert [len(each) for each in reader.chunks(1000, start=-2500)] == [1000, 1000, 500]
    assert [len(each) for each in reader.chunks(1000, start=5, count=1500)] == [1000, 500]


SOURCES: dict[str, Callable[[Path], Any]] = {
    "text": str,
    "bytes": Path.read_bytes,
    "file": lambda path: io.BytesIO(path.read_bytes()),
    "pipe": lambda path: Pipe(path.read_bytes()),
}


@pytest.mark.parametrize("form", SOURCES)
@pytest.mark.parametrize("name", ["aac.mp4", "mp3.mp3", "opus.ogg"])
def test_every_source_gives_the_same_samples(name: str, form: str) -> None:
    whole = tricodec.AudioReader(generated(name))[:]
    reader = tricodec.AudioReader(SOURCES[form](generated(name)))

    assert np.array_equal(reader[60000:70000], whole[:, 60000:70000])
    assert np.array_equal(reader[5000:5100], whole[:, 5000:5100])
    assert np.array_equal(reader[:], whole)


def test_streams_are_chosen_by_number() -> None:
    path = generated("movie.mp4")

    assert tricodec.AudioReader(path).stream.index == 1
    second = tricodec.AudioReader(path, stream_index=2)
    assert (second.sample_rate, second.num_channels, second.channel_layout) == (16000, 1, "mono")
    assert np.array_equal(second[:], ffmpeg_samples(path, channels=1, stream=1))


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
        ({"sample_rate": -8000}, "sample_rate is -8000"),
        ({"num_channels": 0}, "num_channels is 0"),
        ({"num_channels": 65}, "num_channels is 65"),
        ({"dtype": "uint8"}, "of sound is not one of int16, float32"),
        ({"seek_mode": "fast"}, "use 'exact' or 'approximate'"),
        ({"stream_index": 9}, "which has 3 streams"),
        ({"stream_index": 0}, "is video, not audio"),
    ],
)
def test_options_that_are_not_accepted_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tricodec.AudioReader(generated("movie.mp4"), **options)


def test_a_mix_that_libswresample_does_not_have_is_an_error_that_names_both_layouts() -> None:
    with pytest.raises(tricodec.UnsupportedError, match=r"stereo.*23 channels"):
        tricodec.AudioReader(generated("aac.mp4"), num_channels=23)


def test_a_file_without_sound_is_named_with_its_streams() -> None:
    with pytest.raises(tricodec.UnsupportedError, match=r"h264_bframes.mp4' has no audio stream.*0: video h264"):
        tricodec.AudioReader(generated("h264_bframes.mp4"))


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


def test_random_bytes_in_a_file_never_end_the_process(tmp_path: Path) -> None:
    order = random.Random(3)
    for name in ("aac.mp4", "mp3.mp3", "opus.ogg", "vorbis.ogg", "flac.flac", "s16.wav"):
        for _ in range(6):
            data = bytearray(generated(name).read_bytes())
            for _ in range(40):
                data[order.randrange(len(data))] = order.randrange(256)
            try:
                reader = tricodec.AudioReader(bytes(data), sample_rate=16000)
                assert reader[:].shape[0] == reader.num_channels
                reader[100:200]
            except (tricodec.Error, ValueError) as error:
                assert str(error)  # noqa: PT017


def test_limits_hold() -> None:
    before = tricodec.get_limits()
    try:
        tricodec.set_limits(max_output_bytes=100_000)
        reader = tricodec.AudioReader(generated("s16.wav"))
        with pytest.raises(tricodec.RefusedError, match="max_output_bytes"):
            reader[:]
        assert reader[100_000:100_010].shape == (2, 10)
    finally:
        tricodec.set_limits(max_output_bytes=before.max_output_bytes)


def test_a_closed_reader_says_so() -> None:
    with tricodec.AudioReader(generated("s16.wav")) as reader:
        pass

    assert reader.closed
    with pytest.raises(ValueError, match="closed"):
        reader[:10]


@pytest.mark.needs_torch
def test_torch_takes_the_samples_without_a_copy() -> None:
    import torch

    data = tricodec.AudioReader(generated("aac.mp4")).read(0, 1000).data

    for tensor in (torch.from_numpy(data), torch.from_dlpack(data)):
        assert tensor.data_ptr() == data.ctypes.data
        assert tuple(tensor.shape) == (2, 1000)
