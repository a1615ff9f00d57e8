# SPDX-License-Identifier: Apache-2.0
"""torchcodec's Frame, FrameBatch and AudioSamples, and its samplers."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import media
import pytest
from peer_names import ORIGINALS, torch, torchcodec

pytestmark = pytest.mark.needs_torch


def batch(*leading: int) -> Any:
    times = torch.arange(float(torch.Size(leading).numel()), dtype=torch.float64).reshape(leading)
    return torchcodec.FrameBatch(torch.zeros(*leading, 3, 4, 5), times, times + 0.5)


def test_results_check_their_shapes() -> None:
    with pytest.raises(ValueError, match="data must be 3-dimensional"):
        torchcodec.Frame(torch.zeros(2, 2), 0, 1)
    with pytest.raises(ValueError, match="data must be at least 3-dimensional"):
        torchcodec.FrameBatch(torch.zeros(2, 2), torch.zeros(2), torch.zeros(2))
    with pytest.raises(ValueError, match="leading dimensions of the inputs do not match"):
        torchcodec.FrameBatch(torch.zeros(2, 3, 4, 5), torch.zeros(3), torch.zeros(2))
    with pytest.raises(ValueError, match="data must be 2-dimensional"):
        torchcodec.AudioSamples(torch.zeros(2), 0, 1, 8000)


def test_batches_are_indexed_together() -> None:
    clips = batch(4, 6)
    assert len(clips) == 4
    for key, leading in ((1, (6,)), (slice(1, 3), (2, 6)), (torch.tensor([0, 3]), (2, 6)), (([0, 1], [2, 3]), (2,))):
        part = clips[key]
        assert isinstance(part, torchcodec.FrameBatch)
        assert part.data.shape == (*leading, 3, 4, 5)
        assert torch.equal(part.pts_seconds, clips.pts_seconds[key])
    one = clips[0][0]
    assert isinstance(one, torchcodec.FrameBatch)
    assert one.pts_seconds.shape == ()
    assert [part.data.shape for part in clips] == [(6, 3, 4, 5)] * 4


def test_results_unpack_print_and_pickle() -> None:
    samples = torchcodec.AudioSamples(torch.zeros(2, 9), torch.tensor(1.0), 2.0, 8000.0)
    data, pts, duration, rate = samples
    assert (data.shape, pts, duration, rate) == ((2, 9), 1.0, 2.0, 8000)
    assert "data (shape): torch.Size([2, 9])" in repr(samples)
    for result in (samples, batch(3), torchcodec.Frame(torch.zeros(3, 4, 5), 1, 2)):
        copy = pickle.loads(pickle.dumps(result))
        assert type(copy) is type(result)
        assert torch.equal(copy.data, result.data)


class Recorder:
    """What samplers need of a decoder, with frames that say their number or time."""

    def __init__(self, num_frames: int = 100, fps: float | None = 10.0) -> None:
        self.num_frames = num_frames
        self.metadata = SimpleNamespace(
            begin_stream_seconds=0.0, end_stream_seconds=None if fps is None else num_frames / fps, average_fps=fps
        )

    def __len__(self) -> int:
        return self.num_frames

    def _frames(self, values: list[float]) -> Any:
        times = torch.tensor([float(value) for value in values], dtype=torch.float64)
        return torchcodec.FrameBatch(torch.zeros(len(values), 3, 2, 2), times, torch.zeros_like(times))

    def get_frames_at(self, indices: list[int]) -> Any:
        return self._frames(indices)

    def get_frames_played_at(self, seconds: list[float]) -> Any:
        return self._frames(seconds)


def sampled(name: str, reader: Any | None = None, **options: Any) -> list[list[float]]:
    found = getattr(torchcodec.samplers, name)(Recorder() if reader is None else reader, **options)
    assert found.data.ndim == 5
    return found.pts_seconds.tolist()


@pytest.mark.parametrize(
    ("policy", "clip"), [("repeat_last", [95, 97, 99, 99, 99]), ("wrap", [95, 97, 99, 95, 97]), ("error", None)]
)
def test_policies_make_clips_whole(policy: str, clip: list[int] | None) -> None:
    options: dict[str, Any] = {
        "num_frames_per_clip": 5, "num_indices_between_frames": 2, "sampling_range_start": 95,
        "sampling_range_end": 96, "policy": policy,
    }  # fmt: skip
    for name in ("clips_at_random_indices", "clips_at_regular_indices"):
        if clip is None:
            with pytest.raises(ValueError, match="beyond the number of frames"):
                sampled(name, **options)
        else:
            assert sampled(name, **options) == [clip]


def test_clips_at_regular_places_of_a_real_video() -> None:
    reader = torchcodec.decoders.VideoDecoder(media.generated("h264_bframes.mp4"))  # 50 frames at 25 a second
    found = torchcodec.samplers.clips_at_regular_indices(
        reader, num_clips=4, num_frames_per_clip=3, num_indices_between_frames=2
    )
    assert found.data.shape == (4, 3, 3, 180, 320)
    assert (found.pts_seconds * 25).round().tolist() == [[0, 2, 4], [15, 17, 19], [30, 32, 34], [45, 47, 49]]
    assert torch.equal(found.data[2, 1], reader[32])
    by_time = torchcodec.samplers.clips_at_regular_timestamps(
        reader, seconds_between_clip_starts=0.5, num_frames_per_clip=2, seconds_between_frames=0.1
    )
    assert torch.allclose(
        by_time.pts_seconds, torch.tensor([[0.0, 0.08], [0.48, 0.6], [1, 1.08], [1.48, 1.6]]).double()
    )


def test_random_clips_are_torchs_random_numbers() -> None:
    torch.manual_seed(11)
    found = sampled("clips_at_random_indices", num_clips=5, num_frames_per_clip=2)
    torch.manual_seed(11)
    starts = torch.randint(0, 99, (5,)).tolist()
    assert found == [[start, start + 1] for start in starts]
    torch.manual_seed(11)
    times = sampled("clips_at_random_timestamps", num_clips=5)
    torch.manual_seed(11)
    assert times == [[time] for time in (torch.rand(5, dtype=torch.float64) * 10).tolist()]
    torch.manual_seed(11)
    assert all(
        90 <= clip[0] < 99
        for clip in sampled("clips_at_random_indices", num_clips=50, sampling_range_start=-10, sampling_range_end=-1)
    )


def test_more_clips_than_starts_repeat() -> None:
    assert sampled("clips_at_regular_indices", num_clips=4, sampling_range_start=98) == [[98], [98], [98], [99]]
    assert sampled("clips_at_regular_indices", num_clips=2, num_frames_per_clip=3, sampling_range_end=1000) == [
        [0, 1, 2], [99, 99, 99],
    ]  # fmt: skip
    assert len(sampled("clips_at_regular_timestamps", seconds_between_clip_starts=0.1)) == 100


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("clips_at_random_indices", {"num_frames_per_clip": 0}, r"num_frames_per_clip \(0\) must be strictly positive"),
        ("clips_at_random_indices", {"num_clips": 0}, r"num_clips \(0\) must be > 0"),
        ("clips_at_random_indices", {"num_indices_between_frames": 0}, "must be strictly positive"),
        ("clips_at_random_indices", {"policy": "x"}, "Invalid policy"),
        ("clips_at_random_indices", {"sampling_range_start": 1000}, r"sampling_range_start \(1000\) must be smaller"),
        ("clips_at_regular_indices", {"sampling_range_start": 5, "sampling_range_end": 5}, "must be smaller than"),
        pytest.param(
            "clips_at_regular_indices",
            {"sampling_range_start": -101},
            r"\(-101\) must be greater than or equal to -100",
            marks=pytest.mark.skipif(ORIGINALS, reason="torchcodec 0.17 accepts it"),
        ),
        (
            "clips_at_regular_indices",
            {"num_frames_per_clip": 10, "sampling_range_start": 92},
            "We determined that sampling_range_end should",
        ),
        ("clips_at_random_timestamps", {"sampling_range_start": -1}, "must be at least 0"),
        ("clips_at_random_timestamps", {"sampling_range_start": 10}, "must be smaller than"),
        ("clips_at_random_timestamps", {"sampling_range_end": 0}, "must be at least 0"),
        ("clips_at_regular_timestamps", {"seconds_between_clip_starts": -1}, r"\(-1\) must be > 0"),
    ],
)
def test_samplers_check_their_arguments(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        sampled(name, **options)


def test_samplers_by_time_need_a_rate_and_an_end() -> None:
    reader = Recorder(fps=None)
    with pytest.raises(ValueError, match="Could not infer average fps"):
        sampled("clips_at_random_timestamps", reader)
    reader.metadata.average_fps = 10.0
    with pytest.raises(ValueError, match="Could not infer stream end"):
        sampled("clips_at_random_timestamps", reader)
