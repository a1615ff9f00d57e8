# SPDX-License-Identifier: Apache-2.0
"""Memory that reading takes: what is dropped is used again, in place of fresh pages."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import media
import pytest
import tricodec

NUM_FRAMES = 40
# A 720p picture is 338 pages as 4:2:0 and 675 as RGB; a page is a fault each time it is fresh. What is left are tables
# of the codec, once a decoder and thread.
MOST_FAULTS_A_FRAME = 100


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("memory") / "720p.mp4"
    source = f"-f lavfi -i testsrc2=size=1280x720:rate=25 -frames:v {NUM_FRAMES}"
    media.ffmpeg(source, "-c:v libx264 -preset ultrafast -bf 2 -g 20 -pix_fmt yuv420p", path)
    return path


def as_they_are(reader: tricodec.FrameReader) -> None:
    for frame in reader:
        frame.to_ndarray()


def as_nv12(reader: tricodec.FrameReader) -> None:
    for frame in reader:
        frame.to_ndarray(format="nv12")


def as_rgb_batches(reader: tricodec.FrameReader) -> None:
    for start in range(0, NUM_FRAMES, 8):
        reader.batch(range(start, start + 8))


def as_float_batches(reader: tricodec.FrameReader) -> None:
    for start in range(0, NUM_FRAMES, 8):
        reader.batch(range(start, start + 8), size=(448, 448), dtype="float32", layout="CHW")


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("read", [as_they_are, as_nv12, as_rgb_batches, as_float_batches])
def test_readers_after_the_first_touch_hardly_a_fresh_page(
    clip: Path, read: Callable[[tricodec.FrameReader], None], num_workers: int
) -> None:
    later = []
    for attempt in range(6):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        with tricodec.FrameReader(clip, num_workers=num_workers) as reader:
            read(reader)
        if attempt > 0:
            later.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    # How far decoders run ahead depends on the moment: a read may be the first to hold so many pictures. Memory that is
    # never used again would show in all of them.
    assert min(later) < MOST_FAULTS_A_FRAME * NUM_FRAMES, later
