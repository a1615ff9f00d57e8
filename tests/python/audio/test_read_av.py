# SPDX-License-Identifier: Apache-2.0
"""read_av: frames and the sound of the same time, in Python, DALI and Triton."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tricodec
from media import ffmpeg_samples, generated
from tricodec.triton.serve import Server

REQUESTS: dict[str, dict[str, Any]] = {
    "part": {"start": 20, "count": 10},
    "stride": {"start": 3, "stride": 7, "count": 4},
    "part_of_time": {"start_s": 0.31, "end_s": 1.13},
    "times": {"times": [0.2, 0.6, 0.61]},
}


def expected_sound(path: Any, rate: int, begin: float, end: float) -> np.ndarray:
    """The sound of a time by ffmpeg: sample k of the file is at its start time + k / rate."""
    whole = ffmpeg_samples(path, options=f"-ar {rate} -ac 1", channels=1)
    start = tricodec.AudioReader(path).start_seconds
    first, last = (int(np.floor((time - start) * rate + 0.5)) for time in (begin, end))
    padded = np.zeros((1, last - first), np.float32)
    there = whole[:, max(0, first) : max(0, last)]
    padded[:, max(0, -first) :][:, : there.shape[1]] = there
    return padded


CHOICES: dict[str, dict[str, Any]] = REQUESTS | {
    "indices": {"indices": [30, 4, 4, 17]},
    "times in any order": {"times": [0.4, 0.1, 1.0], "tolerance_s": 0.05, "policy": "nearest"},
    "fps": {"fps": 5},
    "num_frames": {"num_frames": 6},
    "rule": {"sampling": "centers", "num_frames": 8},
}


@pytest.mark.parametrize("choice", CHOICES)
def test_frames_are_chosen_as_by_decode_video_and_the_sound_spans_them(choice: str) -> None:
    path = generated("movie.mp4")
    video = tricodec.decode_video(path, **CHOICES[choice])

    clip = tricodec.read_av(path, audio_rate=16000, audio_channels=1, **CHOICES[choice])

    for name in ("frames", "pts_seconds", "indices", "asked_seconds"):
        assert np.array_equal(getattr(clip, name), getattr(video, name)), name
    begin, end = video.pts_seconds.min(), video.pts_seconds.max() + 1 / 25
    assert np.array_equal(clip.audio.data, expected_sound(path, 16000, begin, end))
    assert clip.audio.pts_seconds == pytest.approx(begin, abs=0.5 / 16000)


def test_what_lies_outside_of_the_sound_is_silence() -> None:
    reader = tricodec.AudioReader(generated("s16.wav"))
    whole = reader[:]

    samples = reader.read(start_s=-0.5, end_s=4.0, pad=True)

    assert samples.data.shape == (2, int(4.5 * 44100))
    assert samples.start == -22050
    assert samples.pts_seconds == -0.5
    assert not samples.data[:, :22050].any()
    assert np.array_equal(samples.data[:, 22050 : 22050 + whole.shape[1]], whole)
    assert not samples.data[:, 22050 + whole.shape[1] :].any()
    assert not reader.read(start_s=50, end_s=51, pad=True).data.any()
    with pytest.raises(ValueError, match="pad=True needs"):
        reader.read(start_s=1, pad=True)


def by_dali(path: Any, **arguments: Any) -> np.ndarray:
    from dali_testing import pipeline

    (sounds,) = pipeline([path], **arguments).run()[-1:]
    assert sounds.layout() == "CS"
    return np.array(sounds.at(0))


@pytest.mark.needs_dali
@pytest.mark.parametrize("request_name", REQUESTS)
def test_dali_gives_the_same_sound(request_name: str) -> None:
    path = generated("movie.mp4")
    request = REQUESTS[request_name]
    expected = tricodec.read_av(path, audio_rate=16000, audio_channels=1, **request)

    sound = by_dali(path, audio_rate=16000, audio_channels=1, **request)

    assert sound.dtype == np.float32
    assert np.array_equal(sound, expected.audio.data)


@pytest.mark.needs_dali
def test_dali_names_a_sample_without_sound_or_empties_it() -> None:
    from dali_testing import pipeline

    clips = [generated("movie.mp4"), generated("h264_bframes.mp4")]
    size = (32, 48)
    with pytest.raises(RuntimeError, match=r"Sample 1 of the batch of 2.*has no audio stream"):
        pipeline(clips, count=3, size=size, audio_rate=16000, audio_channels=1).run()

    frames, pts, sound = pipeline(clips, count=3, size=size, audio_rate=16000, audio_channels=1, on_error="empty").run()
    assert [frames.at(i).shape[0] for i in range(2)] == [3, 0]
    assert [pts.at(i).shape for i in range(2)] == [(3,), (0,)]
    assert [np.array(sound.at(i)).shape for i in range(2)] == [(1, 1920), (1, 0)]


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with Server(models=["video_decode"], parameters={"video_decode": {"workers": "1"}}) as started:
        yield started


def by_triton(server: Any, outputs: list[str] | None, **inputs: int | float | list[float]) -> dict[str, np.ndarray]:
    from triton_testing import infer, videos

    tensors = {name: np.atleast_2d(value) for name, value in inputs.items()}  # int64 or float64
    return infer(server.grpc_url, {"VIDEO": videos(generated("movie.mp4").read_bytes()), **tensors}, outputs)


@pytest.mark.needs_triton
def test_triton_gives_the_same_sound(server: Any) -> None:
    for name, request in REQUESTS.items():
        expected = tricodec.read_av(generated("movie.mp4"), audio_rate=16000, audio_channels=1, **request)
        given = {key.upper(): value for key, value in request.items()}

        answer = by_triton(server, ["FRAMES", "AUDIO"], AUDIO_RATE=16000, AUDIO_CHANNELS=1, **given)

        assert np.array_equal(answer["AUDIO"][0], expected.audio.data), name
        assert np.array_equal(answer["FRAMES"][0], expected.frames), name
