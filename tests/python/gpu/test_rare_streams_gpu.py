# SPDX-License-Identifier: Apache-2.0
"""Rare but valid streams on a GPU: exact cropping, VP9's pictures shown again, H.264 pictures of very many slices."""

from __future__ import annotations

from pathlib import Path

import cropped_clips
import media
import pytest
import tricodec
from cropped_clips import Kind

# What every NVDEC decodes; the others go to the CPU, which test_cropping.py is about.
KINDS = [
    Kind("h264", "yuv420p"),
    Kind("h264", "yuv420p", interlaced=True),
    Kind("hevc", "yuv420p"),
    Kind("hevc", "yuv420p10le"),
    Kind("hevc", "yuv444p"),
]
CROPS = [(kind, crop) for kind, crop in cropped_clips.CASES if kind in KINDS]


def expect_the_cpus_frames(path: Path, device: str) -> tricodec.FrameReader:
    """Reads in order and at random, and returns the reader."""
    with tricodec.FrameReader(path, device="cpu") as reader:
        expected = list(reader)
    on_gpu = tricodec.FrameReader(path, device=device)

    frames = list(on_gpu)

    sizes = [(frame.width, frame.height, frame.pts, frame.key, frame.picture_type) for frame in frames]
    assert sizes == [(frame.width, frame.height, frame.pts, frame.key, frame.picture_type) for frame in expected]
    for found, wanted in zip(frames, expected, strict=True):
        assert found.md5() == wanted.convert(found.format).md5(), wanted.index
    for i in (len(frames) // 2, 1, len(frames) - 1):
        assert on_gpu[i].md5() == expected[i].convert(on_gpu[i].format).md5(), i
    assert not on_gpu.issues
    return on_gpu


@pytest.mark.parametrize(("kind", "crop"), CROPS, ids=cropped_clips.case_id)
def test_cropped_pictures_are_the_cpus(kind: Kind, crop: tuple[int, int, int, int], tmp_path: Path) -> None:
    reader = expect_the_cpus_frames(cropped_clips.cropped(kind, crop, tmp_path), "cuda")

    assert reader.device == "cuda:0"


@pytest.mark.parametrize("name", ["vp9_shown_again.ivf", "vp9_shown_again.webm"])
def test_pictures_of_vp9_that_are_shown_again_are_the_cpus(name: str) -> None:
    reader = expect_the_cpus_frames(media.generated(name), "cuda")

    assert reader.device == "cuda:0"


# Size, macroblocks a slice, and the slices of a picture that follow from them.
SLICES = [
    ("320x192", 1, 240),
    ("320x192", 2, 120),
    ("640x352", 1, 880),
    ("640x352", 4, 220),
    ("1280x720", 1, 3600),
    ("1280x720", 8, 450),
    ("1920x1088", 1, 8160),
    ("1920x1088", 4, 2040),
    ("1920x1088", 120, 68),
]


def sliced(size: str, macroblocks: int, folder: Path, *, first: str = "") -> Path:
    """A clip of slices of so many macroblocks, after `first`, the options of pictures that come before it."""
    encode = f"-f lavfi -i testsrc2=size={size}:rate=25 -threads 1"
    codec = "-pix_fmt yuv420p -c:v libx264 -preset ultrafast -f h264 -x264-params"
    parts = [f"-frames:v 12 {codec} keyint=6:bframes=2:slice-max-mbs={macroblocks}"]
    if first:
        parts.insert(0, f"-frames:v 80 {codec} {first}")
    path = folder / f"sliced-{size}-{macroblocks}.h264"
    path.write_bytes(b"".join(media.ffmpeg(encode, options, "-") for options in parts))
    return path


@pytest.mark.parametrize(("size", "macroblocks", "num_slices"), SLICES)
def test_pictures_of_many_slices_are_the_cpus(size: str, macroblocks: int, num_slices: int, tmp_path: Path) -> None:
    """Run with -s to see how many slices this driver takes: past that the CPU decodes."""
    reader = expect_the_cpus_frames(sliced(size, macroblocks, tmp_path), "auto")

    print(f"{size}, {num_slices} slices a picture: {reader.engine}")


@pytest.mark.parametrize("keyint", [12, 250])
def test_the_cpu_takes_over_at_pictures_of_too_many_slices_wherever_they_are(keyint: int, tmp_path: Path) -> None:
    path = sliced("1280x720", 1, tmp_path, first=f"keyint={keyint}:bframes=2")

    reader = expect_the_cpus_frames(path, "auto")

    print(f"3600 slices after 80 pictures of one: {reader.engine}")
