# SPDX-License-Identifier: Apache-2.0
"""The options that select frames: numbers, times, rates and parts, against ffprobe's times and plain numpy."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import forked
import media
import numpy as np
import pytest
import tricodec
from tricodec._tricodec import select_frames

NTSC = Fraction(30000, 1001)


def constant(num_frames: int, rate: float | Fraction = 30, begin: float = 0.0) -> dict[str, Any]:
    """Times of a video of constant rate, as a container with fine ticks gives them."""
    times = [begin + float(Fraction(k) / Fraction(rate)) for k in range(num_frames)]
    return {"pts_seconds": times, "end_seconds": begin + float(Fraction(num_frames) / Fraction(rate))}


def num_videos() -> int:
    return sum(isinstance(each, tricodec.DecodedVideo) for each in gc.get_objects())


def numbers(video: dict[str, Any], **words: Any) -> list[int]:
    return select_frames(**video, **words)[0].tolist()


@pytest.fixture(scope="module", params=["h264_vfr.mkv", "h264_bframes.mp4", "av1.mp4"])
def clip(request: pytest.FixtureRequest) -> Path:
    return media.generated(request.param)


class TestTimes:
    def test_nearest_frames_and_those_on_screen_are_numpys(self, clip: Path) -> None:
        pts = np.array(media.ffprobe_times(clip))
        times = np.random.default_rng(3).uniform(pts[0], pts[-1], 200)

        with tricodec.FrameReader(clip) as reader:
            nearest, on_screen = reader.select(times=times), reader.select(times=times, policy="on_screen")

        assert nearest == [int(np.argmin(np.abs(pts - t))) for t in times]
        assert on_screen == [int(np.nonzero(pts <= t)[0][-1]) for t in times]

    @pytest.mark.parametrize("policy", ["nearest", "on_screen", "exact"])
    @pytest.mark.parametrize("rate", [30, NTSC, 50, 60, Fraction(24000, 1001)])
    def test_a_float32_of_a_frames_time_means_that_frame(self, policy: str, rate: Fraction) -> None:  # V162
        video = constant(950, rate, begin=400.0)

        as_float32 = np.array(video["pts_seconds"], np.float32)

        assert numbers(video, times=as_float32, policy=policy) == list(range(950))
        below = as_float32.astype(np.float64) < np.array(video["pts_seconds"])
        assert below.sum() > 100  # which plain comparison takes for the frame before

    def test_order_and_repeats_are_kept_and_pixels_are_those_of_the_frames(self, clip: Path) -> None:
        with tricodec.FrameReader(clip) as reader:
            pts = reader.pts_seconds
            times = pts[[7, 2, 2, 11, 0]]
            frames = list(reader.iterate(times=times))
            video = tricodec.decode_video(reader, times=times)

            assert [frame.index for frame in frames] == [7, 2, 2, 11, 0]
            assert np.array_equal(video.frames, reader.batch([7, 2, 2, 11, 0]))
            assert video.indices is not None
            assert video.indices.tolist() == [7, 2, 2, 11, 0]
            assert np.array_equal(video.pts_seconds, times)

    def test_ties_go_to_the_earlier_frame(self) -> None:  # V163, V167
        assert numbers({"pts_seconds": [0.0, 0.5, 1.0], "end_seconds": 1.5}, times=[0.25, 0.75]) == [0, 1]

    def test_the_first_time_out_of_tolerance_is_named_with_its_nearest_frame(self) -> None:  # V159, V170
        video = constant(100)
        with pytest.raises(
            IndexError, match=r"time 2 is 1\.01 s, and the nearest frame is 30 at 1 s.*tolerance_s is 0\.001 s"
        ):
            numbers(video, times=[0.5, 1.0, 1.01, 1.02], tolerance_s=0.001)
        assert numbers(video, times=[0.5, 1.0005], tolerance_s=0.001) == [15, 30]

    def test_times_outside_need_a_tolerance(self) -> None:
        video = constant(30, begin=5.0)
        with pytest.raises(IndexError, match=r"time 0 is 4\.99 s, and the nearest frame is 0 at 5 s.*from 5 s to 6 s"):
            numbers(video, times=[4.99])
        with pytest.raises(IndexError, match="time 0 is 6 s"):
            numbers(video, times=[6.0], policy="on_screen")
        assert numbers(video, times=[4.99, 6.0], tolerance_s=0.05) == [0, 29]

    def test_exact_takes_no_other_time(self) -> None:
        with pytest.raises(IndexError, match=r"time 1 is 0\.51 s, and the nearest frame is 15 at 0\.5 s"):
            numbers(constant(30), times=[0.5, 0.51], policy="exact")

    @pytest.mark.parametrize("value", [float("nan"), float("inf")])
    def test_a_time_that_is_no_number_is_refused(self, value: float) -> None:
        with pytest.raises(ValueError, match="time 1 is"):
            numbers(constant(30), times=[0.0, value])


class TestRatesAndParts:
    @pytest.mark.parametrize("fps", [5, 15, 24, 29.97, 30, 60])
    def test_a_rate_takes_the_frame_on_screen_at_each_instant(self, fps: float) -> None:
        video = constant(90, 30)
        got, asked = select_frames(**video, fps=fps)

        assert got.tolist() == [int(Fraction(k) * 30 / Fraction(str(fps))) for k in range(len(got))]
        np.testing.assert_allclose(asked, np.arange(len(got)) / fps)
        assert len(got) == -(-90 * 1000 // round(fps * 1000) * 1000 // 30000) or len(got) == int(
            np.ceil(3 * fps - 1e-6)
        )

    def test_a_rate_of_float32_means_its_decimal(self) -> None:
        video = constant(3000, NTSC)
        assert numbers(video, fps=np.float32(29.97)) == numbers(video, fps=29.97)
        assert numbers(video, fps=Fraction(30000, 1001)) == list(range(3000))

    def test_ticks_of_a_millisecond_lose_no_frame(self) -> None:
        times = [round(k / 30, 3) for k in range(300)]
        assert numbers({"pts_seconds": times, "end_seconds": 10.0, "tick_seconds": 0.001}, fps=30) == list(range(300))

    def test_a_short_video_gives_one_frame_at_a_low_rate(self) -> None:
        assert numbers(constant(3), fps=0.5) == [0]

    def test_parts_hold_the_frames_on_screen(self) -> None:
        video = constant(300)
        assert numbers(video, start_s=1.01, end_s=1.2) == [30, 31, 32, 33, 34, 35]
        assert numbers(video, start_s=1.0, end_s=1.1) == [30, 31, 32]
        assert numbers(video, start_s=9.9) == [297, 298, 299]
        assert numbers(video, start_s=-3.0, end_s=0.05) == [0, 1]
        assert numbers(video, start_s=2.0, stride=10, count=3) == [60, 70, 80]
        assert numbers(video, start=30, end_s=1.1) == [30, 31, 32]

    def test_parts_go_with_rates_and_numbers_of_frames(self) -> None:
        video = constant(300)
        assert numbers(video, start_s=2.0, end_s=3.0, fps=5) == [60, 66, 72, 78, 84]
        assert numbers(video, start_s=2.0, fps=10, count=3) == [60, 63, 66]
        assert numbers(video, num_frames=8) == np.linspace(0, 299, 8).round().astype(int).tolist()
        assert (
            numbers(video, start_s=1.0, end_s=2.0, num_frames=4) == np.linspace(30, 59, 4).round().astype(int).tolist()
        )

    def test_bounds_of_a_rate_spread_the_frames_evenly(self) -> None:
        video = constant(300)
        assert numbers(video, fps=2, max_frames=7) == np.linspace(0, 299, 7).round().astype(int).tolist()
        assert numbers(video, fps=0.1, min_frames=4) == np.linspace(0, 299, 4).round().astype(int).tolist()
        assert numbers(video, fps=2, min_frames=4, max_frames=64) == list(range(0, 300, 15))

    def test_more_instants_than_there_are_is_an_error(self) -> None:
        with pytest.raises(IndexError, match="count is 11, and there are 10 instants"):
            numbers(constant(30), fps=10, count=11)

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            ({"fps": 2, "num_frames": 8}, "num_frames does not go with fps"),
            ({"times": [0.0], "start": 3}, "start does not go with times"),
            ({"indices": [1], "count": 3}, "count does not go with indices, which takes no other option"),
            ({"start": 1, "start_s": 1.0}, "start and start_s are both given"),
            ({"count": 1, "end_s": 1.0}, "count and end_s are both given"),
            ({"tolerance_s": 0.1}, "tolerance_s is given without the option that it belongs to"),
            ({"times": [0.0], "policy": "exact", "tolerance_s": 0.1}, "has no tolerance"),
            ({"fps": 0}, "fps is 0"),
            ({"fps": float("nan")}, "fps is nan"),
            ({"num_frames": 0}, "num_frames is 0"),
            ({"policy": "closest", "times": [0.0]}, "policy 'closest' is not one of nearest, on_screen, exact"),
            ({"sampling": "random"}, "sampling 'random' is not one of uniform"),
            ({"sampling": "uniform"}, 'sampling "uniform" needs num_frames'),
            ({"fps": 2, "min_frames": 9, "max_frames": 8}, "min_frames must not be more"),
        ],
    )  # fmt: skip
    def test_words_that_contradict_each_other_are_named(self, words: dict[str, Any], text: str) -> None:
        with pytest.raises(ValueError, match=text):
            tricodec.decode_video("is not opened", **words)

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            ({"start_s": 10.0}, "start_s is 10 s; the video shows frames from 0 s to 10 s"),
            ({"start_s": 2.0, "end_s": 1.0}, "end_s is 1 s, and the frames begin at 2 s"),
            ({"indices": [3, 300]}, "frame 300 was asked for; the video has 300 frames"),
        ],
    )
    def test_what_the_video_has_not_is_named(self, words: dict[str, Any], text: str) -> None:
        with pytest.raises(IndexError, match=text):
            numbers(constant(300), **words)

    def test_a_rate_beyond_all_limits_takes_no_memory(self) -> None:
        with pytest.raises(tricodec.RefusedError, match="at most"):
            numbers(constant(300), fps=1e12)


REQUESTS: dict[str, dict[str, Any]] = {
    "indices": {"indices": [5, 1, 1, -1]},
    "times": {"times": [0.9, 0.1, 0.1], "tolerance_s": 0.05},
    "fps": {"fps": 7, "start_s": 0.2, "end_s": 0.9},
    "num_frames": {"num_frames": 5},
    "part": {"start_s": 0.3, "end_s": 0.8, "stride": 2},
}


@pytest.mark.parametrize("name", REQUESTS)
class TestEveryCallTakesTheWords:
    def test_iterators_and_batches_give_the_same_frames(self, name: str) -> None:
        words = REQUESTS[name]
        path = media.generated("h264_bframes.mp4")
        expected = tricodec.decode_video(path, **words)
        assert expected.indices is not None

        with tricodec.FrameReader(path) as reader:
            indices = reader.select(**words)
            assert expected.indices.tolist() == indices
            assert np.array_equal(reader.batch(indices), expected.frames)
            assert np.array_equal(reader.batch(**words), expected.frames)
            assert np.array_equal(np.concatenate(list(reader.batches(2, **words))), expected.frames)
            assert [frame.index for frame in reader.iterate(**words)] == indices
            assert tricodec.measure.memory_required(reader, **words).host_bytes >= expected.frames.nbytes
            assert tricodec.measure.memory_required(reader, batch_size=2, **words).host_bytes > 0

    def test_a_plan_keeps_them(self, name: str, tmp_path: Path) -> None:
        words = REQUESTS[name]
        path = media.generated("h264_bframes.mp4")
        expected = tricodec.decode_video(path, **words, size=(32, 48))

        tricodec.Plan(path, **words, size=(32, 48), device="cpu").save(tmp_path / "plan.json")
        plan = tricodec.Plan.load(tmp_path / "plan.json")

        assert np.array_equal(plan.read(path).frames, expected.frames)
        with plan.context() as context:
            assert np.array_equal(np.concatenate(list(context.batches(path))), expected.frames)


def test_a_selection_goes_on_after_a_fork(clip: Path) -> None:
    program = (
        forked.PRELUDE
        + """
reader = tricodec.FrameReader(sys.argv[1], device="cpu")
expected = reader.select(fps=13)
frames = reader.iterate(fps=13)
begun = [next(frames).index for _ in range(10)]
def work():
    assert begun + [frame.index for frame in frames] == expected
in_children(work)
work()
"""
    )
    subprocess.run([sys.executable, "-c", program, clip], check=True, timeout=120)


class TestReadMany:
    def test_files_come_in_order_each_with_its_own_words(self) -> None:
        names = ["h264_bframes.mp4", "av1.mp4", "h264_vfr.mkv"] * 3
        requests = [(media.generated(name), {"times": [0.1 * k, 0.5]}) for k, name in enumerate(names)]

        many = tricodec.read_many(requests, size=(32, 48), workers=3)

        for (path, words), video in zip(requests, many, strict=True):
            alone = tricodec.decode_video(path, size=(32, 48), **words)
            assert np.array_equal(video.frames, alone.frames)
            assert np.array_equal(video.pts_seconds, alone.pts_seconds)

    def test_the_first_source_that_fails_is_named_and_its_error_keeps_no_frames(self, tmp_path: Path) -> None:
        good = media.generated("h264_bframes.mp4")
        gc.disable()
        before = num_videos()
        with contextlib.suppress(tricodec.MediaNotFoundError):
            tricodec.read_many([good, tmp_path / "absent.mp4", good], count=1, workers=2)
        assert num_videos() == before
        gc.enable()
        with pytest.raises(tricodec.MediaNotFoundError) as caught:
            tricodec.read_many([good, tmp_path / "absent.mp4", good], count=1, workers=2)
        if hasattr(caught.value, "__notes__"):
            assert "source 1 of read_many" in caught.value.__notes__[0]

    def test_open_readers_stay_open(self) -> None:
        with tricodec.FrameReader(media.generated("h264_bframes.mp4")) as reader:
            (video,) = tricodec.read_many([reader], num_frames=3)
            assert len(video) == 3
            assert not reader.closed

    def test_no_sources_give_no_videos(self) -> None:
        assert tricodec.read_many([]) == []


def test_a_reader_tells_its_facts() -> None:
    path = media.generated("h264_rot90.mp4")
    with tricodec.FrameReader(path) as reader:
        frames = tricodec.decode_video(path).frames
        assert reader.shape == frames.shape
        assert (reader.num_frames, reader.height, reader.width) == frames.shape[:3]
        pts = media.ffprobe_times(path)
        assert reader.duration == pytest.approx(len(pts) / reader.fps)
        assert reader.fps == pytest.approx((len(pts) - 1) / (pts[-1] - pts[0]))
