# SPDX-License-Identifier: Apache-2.0
"""Frames for vision-language models: the formulas of the packages that models were trained with, and their metadata."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import media
import numpy as np
import pytest
import tricodec
from tricodec import sampling

TOTALS = [*range(1, 130), 300, 777, 1999, 9000]
RATES = [30.0, 25.0, 30000 / 1001, 12.5]


def linspace(first: float, last: float, count: int) -> list[int]:
    return np.linspace(first, last, count).round().astype(int).tolist()


def float32_linspace(last: int, count: int) -> list[int]:
    """torch.linspace(0, last, count).round()"""
    step = np.float32(last) / np.float32(max(1, count - 1))
    forward = [step * np.float32(k) for k in range(count // 2)]
    backward = [np.float32(last) - step * np.float32(count - k - 1) for k in range(count // 2, count)]
    return [int(np.round(value)) for value in [*forward, *backward]]


def smart_nframes(total: int, rate: float, fps: float = 2.0, most: int | None = None) -> int:  # V178
    upper = math.floor((most or min(768, total)) / 2) * 2
    return math.floor(min(max(total / rate * fps, 4), upper, total) / 2) * 2


def qwen(total: int, rate: float, **words: Any) -> list[int]:
    if "num_frames" in words:
        count = round(words["num_frames"] / 2) * 2
    else:
        count = smart_nframes(total, rate, words.get("fps", 2.0), words.get("max_frames"))
    if not 2 <= count <= total:
        raise IndexError
    return float32_linspace(total - 1, count)


def qwen2_vl(total: int, rate: float, fps: float = 2.0) -> list[int]:  # V184
    count = smart_nframes(total, rate, fps)
    if not 1 <= count <= total:
        raise IndexError
    return [int(np.float32(k * (total / count))) for k in range(count)]


def qwen3_vl(total: int, rate: float, fps: float = 2.0) -> list[int]:  # V186
    return linspace(0, total - 1, min(max(int(total / rate * fps), 4), 768, total))


def smolvlm(total: int, rate: float, fps: float = 1.0, max_frames: int = 64) -> list[int]:  # V190
    duration = total / rate
    count = max(1, min(round(fps * duration), max_frames))
    first, last = 0, total - 1
    if duration - 2 > max_frames * fps:
        first, last = int(rate), min(int(total - rate), total - 1)
    if first >= last:
        first, last = 0, total - 1
    return np.unique(np.linspace(first, last, count, dtype=int)).tolist()


def segments(total: int, rate: float, num_frames: int) -> list[int]:  # V191
    del rate
    size = (total - 1) / num_frames
    return [int(size / 2 + np.round(size * k)) for k in range(num_frames)]


RULES: dict[str, tuple[str, dict[str, Any], Callable[..., list[int]]]] = {
    "uniform": ("uniform", {"num_frames": 8}, lambda total, _, num_frames: linspace(0, total - 1, num_frames)),
    "uniform_floor": (
        "uniform_floor",
        {"num_frames": 11},
        lambda total, _, num_frames: np.linspace(0, total - 1, num_frames, dtype=int).tolist(),
    ),
    "stride": (
        "stride",
        {"num_frames": 7},
        lambda total, _, num_frames: (np.arange(num_frames) * total // num_frames).tolist(),
    ),
    "centers": (
        "centers",
        {"num_frames": 8},
        lambda total, _, num_frames: [
            int(np.float32(total / num_frames / 2 + k * (total / num_frames))) for k in range(num_frames)
        ],
    ),
    "segments": ("segments", {"num_frames": 8}, segments),
    "qwen": ("qwen", {}, qwen),
    "qwen_1_fps": ("qwen", {"fps": 1.0}, qwen),
    "qwen_nframes": ("qwen", {"num_frames": 9}, qwen),
    "qwen_max": ("qwen", {"fps": 4.0, "max_frames": 32}, qwen),
    "qwen2_vl": ("qwen2_vl", {}, qwen2_vl),
    "qwen3_vl": ("qwen3_vl", {"fps": 3.0}, qwen3_vl),
    "smolvlm": ("smolvlm", {}, smolvlm),
    "smolvlm_bounds": ("smolvlm", {"fps": 2.0, "max_frames": 16}, smolvlm),
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_the_formula_of_its_package(name: str) -> None:  # V189
    rule, words, formula = RULES[name]
    for total in TOTALS:
        for rate in RATES:
            source_fps = total / (total / rate)  # what a reader tells
            try:
                expected: list[int] | str = formula(total, source_fps, **words)
            except IndexError:
                expected = "too short"
            try:
                got: list[int] | str = sampling.choose(total, rate, sampling=rule, **words)  # type: ignore[arg-type]
            except IndexError:
                got = "too short"
            assert got == expected, (total, rate)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("uniform", [0, 43, 85, 128, 171, 214, 256, 299]),
        ("uniform_floor", [0, 42, 85, 128, 170, 213, 256, 299]),
        ("stride", [0, 37, 75, 112, 150, 187, 225, 262]),
        ("centers", [18, 56, 93, 131, 168, 206, 243, 281]),
    ],
)
def test_eight_of_300_frames_are_those_that_the_packages_print(rule: Any, expected: list[int]) -> None:  # V207
    assert sampling.choose(300, 30.0, sampling=rule, num_frames=8) == expected


def test_qwen_counts_frames_as_its_package_does() -> None:  # V178, V207
    assert len(sampling.choose(300, 30.0, sampling="qwen")) == 20
    assert len(sampling.choose(300, 25.0, sampling="qwen")) == 24
    assert len(sampling.choose(5, 30.0, sampling="qwen")) == 4
    with pytest.raises(IndexError, match="chooses 0 of 1 frames"):
        sampling.choose(1, 30.0, sampling="qwen")


def test_qwen2_vl_has_no_frame_past_the_end() -> None:  # V185, V207
    """transformers gives 15 numbers here, the last one 17 of 17 frames."""
    assert sampling.choose(17, 30.0, sampling="qwen2_vl", num_frames=14)[-1] == 15


def test_qwen_takes_whole_frames_inside_of_its_bounds() -> None:  # V179
    got = sampling.choose(300, 30.0, sampling="qwen", start_s=1.01, end_s=4.99, num_frames=8)
    assert got == [31 + number for number in float32_linspace(149 - 31, 8)]


def test_a_key_frame_that_is_not_shown_stands_for_the_first_frame(tmp_path: Path) -> None:
    plain, path = tmp_path / "plain.mp4", tmp_path / "cut.mp4"
    media.ffmpeg("-f lavfi -i testsrc2=s=96x64:d=2:r=25 -c:v libx264 -g 100 -bf 0", plain)
    media.ffmpeg("-ss 1 -i", plain, "-c copy", path)  # an edit list hides the key frame
    with tricodec.FrameReader(path, device="cpu") as reader:
        assert len(reader) == 25
        assert reader.select(sampling="key_frames") == [0]
        assert len(tricodec.decode_video(path, sampling="key_frames").frames) == 1


def test_key_frames_are_those_from_which_decoding_can_start() -> None:
    path = media.generated("h264_bframes.mp4")
    with tricodec.FrameReader(path) as reader:
        keys = reader.key_frames
        assert reader.select(sampling="key_frames") == keys
        assert reader.select(sampling="key_frames", num_frames=2) == [keys[0], keys[-1]]
        inside = [key for key in keys if 0.5 <= reader.pts_seconds[key] < 1.2]
        assert reader.select(sampling="key_frames", start=reader.index_at(0.5), end_s=1.2) in (
            inside,
            [reader.index_at(0.5), *inside],
        )


def test_frames_around_times_end_at_the_ends_of_the_video() -> None:
    from tricodec._tricodec import select_frames

    video = {"pts_seconds": [k / 10 for k in range(20)], "end_seconds": 2.0}
    got = select_frames(**video, sampling="around", times=[1.0, 0.0, 1.9], num_frames=3, stride=2)[0].tolist()
    assert got == [8, 10, 12, 0, 0, 2, 17, 19, 19]


class TestSample:
    def test_frames_come_with_their_true_times_and_what_a_processor_wants(self) -> None:  # V157, V195, V196
        path = media.generated("h264_vfr.mkv")
        pts = media.ffprobe_times(path)

        video = sampling.sample(path, sampling="uniform", num_frames=6, size=(32, 48))

        assert video.indices.tolist() == linspace(0, len(pts) - 1, 6)
        np.testing.assert_allclose(video.pts_seconds, np.array(pts)[video.indices], atol=1e-9)
        assert np.array_equal(video.frames, tricodec.decode_video(path, indices=video.indices, size=(32, 48)).frames)
        assert set(video.metadata) == {
            "total_num_frames", "fps", "width", "height", "duration", "video_backend", "frames_indices",
        }  # fmt: skip
        assert video.metadata["total_num_frames"] == len(pts)
        assert video.metadata["frames_indices"] == video.indices.tolist()
        assert video.metadata["fps"] == pytest.approx(len(pts) / video.duration)
        assert video.sampled_fps == pytest.approx(6 / video.duration)

    def test_true_times_fit_the_metadata_of_a_constant_rate(self) -> None:  # V156
        video = sampling.sample(media.generated("h264_vfr.mkv"), num_frames=6)
        told = video.metadata_with_true_times()
        assert np.allclose(np.array(told["frames_indices"]) / told["fps"], video.pts_seconds, atol=5e-4)
        assert told["frames_indices"][-1] < told["total_num_frames"]

    def test_every_rule_has_its_word(self) -> None:
        path = media.generated("h264_bframes.mp4")
        for rule in sampling.RULES:
            words: dict[str, Any] = (
                {"num_frames": 4} if rule in ("around", "uniform", "uniform_floor", "stride") else {}
            )
            words |= {"num_frames": 4} if rule in ("centers", "segments") else {}
            words |= {"times": [0.5]} if rule == "around" else {}
            assert len(sampling.sample(path, sampling=rule, **words)) > 0, rule


class TestSmartResize:
    @pytest.mark.parametrize("factor", [28, 32])
    def test_sides_are_multiples_within_the_bounds(self, factor: int) -> None:  # V182, V183
        least, most = 128 * factor**2, 768 * factor**2
        for height, width in [(1080, 1920), (240, 320), (32, 32), (2160, 3840), (720, 405), (100, 1900)]:
            got = sampling.smart_resize(height, width, factor=factor, min_pixels=least, max_pixels=most)
            assert got[0] % factor == got[1] % factor == 0
            assert least <= got[0] * got[1] <= most

    def test_a_size_that_fits_is_rounded_only(self) -> None:
        assert sampling.smart_resize(480, 640, factor=28, min_pixels=3136, max_pixels=12845056) == (476, 644)

    def test_long_pictures_are_refused(self) -> None:
        with pytest.raises(ValueError, match="at most 1 to 200"):
            sampling.smart_resize(10, 2001)


def test_markers_of_time_are_the_middles_of_patches() -> None:  # V187
    times = [0.0, 0.5, 1.0, 1.5, 2.0]
    expected = ["<0.2 seconds>", "<1.2 seconds>", "<2.0 seconds>"]
    assert sampling.timestamps_text(times) == sampling.timestamps_text(np.array(times)) == expected


@pytest.mark.parametrize("name", ["av1_lerobot.mp4", "hevc_lerobot.mp4"])
def test_lerobots_frames_are_those_of_its_own_rule(name: str) -> None:  # V159, V161, V162, V163, V165
    """Episodes of one file: a key frame at every second frame, times as float32 from the episode's begin."""
    path = media.generated(name)
    pts = np.array(media.ffprobe_times(path))
    fps, episode = 30, 40
    for first in range(0, len(pts) - episode, episode):
        from_timestamp = first / fps
        asked = np.array([k / fps for k in range(episode)], np.float32)
        queries = from_timestamp + asked.astype(np.float64)
        by_torchcodec = [round(time * fps) for time in queries]

        with tricodec.FrameReader(path) as reader:
            got = reader.select(times=queries, tolerance_s=1e-4)
            absolute = reader.select(times=np.float32(from_timestamp) + asked, tolerance_s=1e-4)

        assert got == by_torchcodec == list(range(first, first + episode))
        assert absolute == got
        assert np.max(np.abs(pts[got] - queries)) <= 1e-4
