# SPDX-License-Identifier: Apache-2.0
"""encode_video(): an array of frames to a file, and back."""

from __future__ import annotations

import concurrent.futures
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import ffprobe_times, generated

FAST: dict[str, Any] = {"preset": "ultrafast", "crf": 18}


def clip(count: int = 6, **options: Any) -> np.ndarray:
    return tricodec.decode_video(generated("h264_bframes.mp4"), device="cpu", count=count, **options).frames


def test_the_way_back_gives_the_frames_and_times() -> None:
    video = tricodec.decode_video(generated("h264_vfr.mkv"), count=10, color="yuv", layout="CHW")

    file = tricodec.encode_video(
        video.frames, video.pts_seconds, color="yuv", layout="CHW", pixel_format="yuv444p", options={"qp": 0}
    )

    again = tricodec.decode_video(file, color="yuv", layout="CHW")
    np.testing.assert_array_equal(again.frames, video.frames)
    assert np.allclose(again.pts_seconds, video.pts_seconds - video.pts_seconds[0], atol=2e-5)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (29.97, Fraction(30000, 1001)),
        (12.5, Fraction(25, 2)),
        (1 / 3, Fraction(1, 3)),
        ((24000, 1001), Fraction(24000, 1001)),
    ],
)
def test_the_frame_rate_is_what_was_meant(given: Any, told: Fraction, tmp_path: Path) -> None:
    path = tmp_path / "made.mkv"
    path.write_bytes(tricodec.encode_video(clip(4, size=(16, 16)), container="mkv", frame_rate=given, **FAST))

    assert np.allclose(ffprobe_times(path), [float(number / told) for number in range(4)], atol=1e-3)
    assert float(tricodec.probe(path).video.average_frame_rate) == pytest.approx(float(told), rel=1e-4)


@pytest.mark.parametrize("container", ["mp4", "mov", "mkv", "ts", "raw"])
def test_the_same_call_gives_the_same_bytes_from_any_thread(container: str) -> None:
    frames = clip(4)
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        files = set(threads.map(lambda _: tricodec.encode_video(frames, container=container, **FAST), range(4)))

    assert len(files) == 1


@pytest.mark.parametrize(
    ("frames", "options", "kind", "text"),
    [
        (np.zeros((0, 16, 16, 3), np.uint8), {}, ValueError, r"0 pictures \(uint8 \[0, 16, 16, 3\]"),
        (np.zeros((2, 16, 16, 3), np.float32), {}, TypeError, "float32.*undo a normalization"),
        (np.zeros((2, 24, 16), np.uint8), {"format": "p010le"}, ValueError, "samples of p010le are uint16"),
        (np.zeros((2, 16, 16), np.uint8), {}, ValueError, r"accepted are \[H, W, 3\], and sequences \[F, H, W, 3\]"),
        (np.zeros((2, 15, 16, 3), np.uint8), {}, ValueError, "16x15 cannot be encoded"),
        (np.zeros((2, 16, 16, 3), np.uint8), {"pts_seconds": [0]}, ValueError, "1 times for 2 pictures"),
        (np.zeros((2, 16, 16, 3), np.uint8), {"pts_seconds": [1, 1]}, ValueError, "not after that of the one before"),
        (np.zeros((2, 16, 16, 3), np.uint8), {"container": "webm"}, tricodec.UnsupportedError, "cannot contain h264"),
        ("no array", {}, TypeError, "dtype <U8"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_what_cannot_be_encoded_is_refused_with_the_remedy(frames: Any, options: Any, kind: Any, text: str) -> None:
    with pytest.raises(kind, match=text):
        tricodec.encode_video(frames, **options)


@pytest.mark.parametrize(
    ("codec", "most"), [("h264", 51), ("hevc", 51), ("av1", 63), ("vp9", 63)],
)  # fmt: skip
@pytest.mark.parametrize("crf", [99, -5, 63.5, float("nan")])
def test_a_quality_past_the_encoders_range_is_one_sentence(codec: str, most: int, crf: float) -> None:
    frames = np.zeros((5, 64, 64, 3), np.uint8)
    with pytest.raises(ValueError, match=rf"crf is {crf:g}; lib\S+ takes 0 to {most}: a smaller value gives a better"):
        tricodec.encode_video(frames, codec=codec, crf=crf, device="cpu")
    assert tricodec.encode_video(frames, codec=codec, crf=most, device="cpu")


def test_the_sample_clip_is_made_once_with_a_frame_for_each_time_and_with_sound(tmp_path: Path) -> None:
    path = tricodec.sample_video(tmp_path / "a.mp4")
    made = Path(path).stat().st_mtime_ns
    assert tricodec.sample_video(path) == path
    assert Path(path).stat().st_mtime_ns == made
    video = tricodec.decode_video(path, device="cpu", size=(36, 64))
    assert len(video.frames) == 132
    assert tricodec.AudioReader(path).sample_rate == 48_000
    assert video.frames[66].mean() > 2 * video.frames[0].mean()  # noon and midnight
