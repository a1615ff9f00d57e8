# SPDX-License-Identifier: Apache-2.0
"""Frames for vision-language models: rules beside the packages that models were trained with, and their metadata."""

from __future__ import annotations

from typing import Any

import media
import numpy as np
import pytest
import tricodec
from torchvision_wheel import load_torchvision
from tricodec_compat import sampling

TOTALS = [*range(1, 130), 300, 777, 1999, 9000]
RATES = [30.0, 25.0, 30000 / 1001, 12.5]


def chosen(rule: str, total: int, rate: float, **options: Any) -> list[int] | None:
    """None of a video that is too short."""
    try:
        return sampling.choose(total, rate, sampling=rule, **options)
    except IndexError:
        return None


@pytest.mark.needs_vlm
@pytest.mark.parametrize("options", [{}, {"fps": 1.0}, {"nframes": 9}, {"fps": 4.0, "max_frames": 32}], ids=str)
def test_qwens_rule_is_that_of_its_package(options: dict[str, Any]) -> None:
    import torch

    load_torchvision()
    from qwen_vl_utils.vision_process import smart_nframes

    ours = {{"nframes": "num_frames"}.get(name, name): value for name, value in options.items()}
    for total in TOTALS:
        for rate in RATES:
            try:
                count = smart_nframes(options, total, rate)
                expected = torch.linspace(0, total - 1, count).round().long().tolist()
            except ValueError:
                expected = None
            assert chosen("qwen", total, rate, **ours) == expected, (total, rate)


@pytest.mark.needs_vlm
@pytest.mark.parametrize(
    ("rule", "options"),
    [
        ("qwen2_vl", {}), ("qwen2_vl", {"fps": 1.0}), ("qwen3_vl", {"fps": 3.0}), ("qwen3_vl", {"num_frames": 5}),
        ("smolvlm", {}), ("smolvlm", {"fps": 2.0, "max_frames": 16}),
    ],
)  # fmt: skip
def test_rules_are_those_of_transformers(rule: str, options: dict[str, Any]) -> None:
    load_torchvision()
    import transformers
    from transformers.video_utils import VideoMetadata

    name = {
        "qwen2_vl": "Qwen2VLVideoProcessor",
        "qwen3_vl": "Qwen3VLVideoProcessor",
        "smolvlm": "SmolVLMVideoProcessor",
    }
    defaults = {"qwen2_vl": {"fps": 2.0}, "smolvlm": {"fps": 1.0, "num_frames": 64}}
    processor = getattr(transformers, name[rule])()
    theirs = {**defaults.get(rule, {}), **options}
    if "max_frames" in theirs:
        theirs["num_frames"] = theirs.pop("max_frames")
    for total in TOTALS:
        for rate in RATES:
            metadata = VideoMetadata(total_num_frames=total, fps=rate, duration=total / rate)
            try:
                expected = [int(number) for number in processor.sample_frames(metadata, **theirs)]
            except (ValueError, RuntimeError, ZeroDivisionError):
                expected = None
            got = chosen(rule, total, rate, **options)
            if expected is not None and rule == "qwen2_vl":  # it has a number too many for some totals
                expected = expected[: len(got or [])]
            assert got == expected, (total, rate)


def test_segments_are_those_of_internvls_recipe() -> None:
    size = 299 / 8
    assert sampling.choose(300, 30.0, sampling="segments", num_frames=8) == [
        int(size / 2 + np.round(size * k)) for k in range(8)
    ]


def test_qwen_counts_frames_as_its_package_does() -> None:
    assert len(sampling.choose(300, 30.0, sampling="qwen")) == 20
    assert len(sampling.choose(300, 25.0, sampling="qwen")) == 24
    assert len(sampling.choose(5, 30.0, sampling="qwen")) == 4
    with pytest.raises(IndexError, match="chooses 0 of 1 frames"):
        sampling.choose(1, 30.0, sampling="qwen")


def test_qwen2_vl_has_no_frame_past_the_end() -> None:
    """transformers gives 15 numbers here, the last one 17 of 17 frames."""
    assert sampling.choose(17, 30.0, sampling="qwen2_vl", num_frames=14)[-1] == 15


def test_qwen_takes_whole_frames_inside_of_its_bounds() -> None:
    got = sampling.choose(300, 30.0, sampling="qwen", start_s=1.01, end_s=4.99, num_frames=8)
    assert got == [31, 48, 65, 82, 98, 115, 132, 149]
    with pytest.raises(IndexError, match="leave frames 60 to 59 of 300"):
        sampling.choose(300, 30.0, sampling="qwen", start_s=2.0, end_s=1.99)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"sampling": "qwem"}, "'qwem' is not one of qwen, qwen2_vl, qwen3_vl, smolvlm, segments"),
        ({"sampling": "qwen", "nframes": 4}, 'nframes does not go with sampling "qwen", which takes fps, num_frames'),
        ({"sampling": "qwen", "num_frames": 0}, "num_frames is 0; it must be above 0"),
        ({"sampling": "qwen", "num_frames": 4, "fps": 2.0}, "leave one out"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        sampling.choose(300, 30.0, **options)


class TestSample:
    def test_frames_come_with_their_true_times_and_what_a_processor_wants(self) -> None:
        path = media.generated("h264_vfr.mkv")
        pts = media.ffprobe_times(path)

        video = sampling.sample(path, sampling="uniform", num_frames=6, size=(32, 48))

        assert video.indices.tolist() == np.linspace(0, len(pts) - 1, 6).round().tolist()
        np.testing.assert_allclose(video.pts_seconds, np.array(pts)[video.indices], atol=1e-9)
        expected = tricodec.decode_video(path, indices=video.indices, size=(32, 48), device="cpu").frames
        assert np.array_equal(tricodec.asnumpy(video.frames), expected)
        assert set(video.metadata) == {
            "total_num_frames", "fps", "width", "height", "duration", "video_backend", "frames_indices",
        }  # fmt: skip
        assert video.metadata["total_num_frames"] == len(pts)
        assert video.metadata["frames_indices"] == video.indices.tolist()
        assert video.metadata["fps"] == pytest.approx(len(pts) / video.duration)
        assert video.sampled_fps == pytest.approx(6 / video.duration)

    def test_true_times_fit_the_metadata_of_a_constant_rate(self) -> None:
        video = sampling.sample(media.generated("h264_vfr.mkv"), num_frames=6)
        told = video.metadata_with_true_times()
        assert np.allclose(np.array(told["frames_indices"]) / told["fps"], video.pts_seconds, atol=5e-4)
        assert told["frames_indices"][-1] < told["total_num_frames"]

    @pytest.mark.parametrize("rule", sampling.RULES)
    def test_a_rule_takes_a_part_of_the_video(self, rule: str) -> None:
        path = media.generated("h264_bframes.mp4")  # 50 frames, 25 a second
        options: dict[str, Any] = {"num_frames": 4} if rule == "segments" else {"fps": 4.0}
        whole = sampling.sample(path, sampling=rule, **options)
        part = sampling.sample(path, sampling=rule, start_s=0.5, end_s=1.5, size=(16, 32), **options)
        assert part.indices.min() >= 12
        assert part.indices.max() <= 38
        assert 0 < len(part) <= len(whole)
        assert part.frames.shape == (len(part), 16, 32, 3)


class TestSmartResize:
    @pytest.mark.parametrize("factor", [28, 32])
    def test_sides_are_multiples_within_the_bounds(self, factor: int) -> None:
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


def test_markers_of_time_are_the_middles_of_patches() -> None:
    times = [0.0, 0.5, 1.0, 1.5, 2.0]
    expected = ["<0.2 seconds>", "<1.2 seconds>", "<2.0 seconds>"]
    assert sampling.timestamps_text(times) == sampling.timestamps_text(np.array(times)) == expected
