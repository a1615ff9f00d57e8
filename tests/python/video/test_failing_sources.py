# SPDX-License-Identifier: Apache-2.0
"""A read() of a source that raises once, as by Ctrl-C or a network that is away, is no damage of the file."""

from __future__ import annotations

import io
from pathlib import Path

import media
import numpy as np
import pytest
import tricodec

GOP, NUM_FRAMES = 10, 120


class FailsOnce(io.BytesIO):
    """Its read() raises once, `left` calls after that was set."""

    left = -1

    def read(self, size: int | None = -1, /) -> bytes:
        self.left -= 1
        if self.left == 0:
            raise OSError(5, "the network was away")
        return super().read(size)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Noise in short GOPs: a read of 32 KB has some pictures."""
    path = Path(tmp_path_factory.mktemp("failing")) / "a.mp4"
    noise = "color=gray:size=96x96:rate=30,noise=c0s=100:c0f=t+u:all_seed=5"
    options = f"-c:v libx264 -preset ultrafast -bf 0 -qp 20 -g {GOP} -keyint_min {GOP} -sc_threshold 0"
    media.ffmpeg("-f", "lavfi", "-i", noise, "-frames:v", str(NUM_FRAMES), *options.split(), path)
    return path.read_bytes()


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("num_reads", [2, 5, 8])
def test_after_an_error_of_its_source_a_reader_gives_the_same_frames(
    num_reads: int, num_workers: int, clip: bytes
) -> None:
    frames = tricodec.FrameReader(clip, device="cpu").batch()
    for start in range(0, NUM_FRAMES, GOP):
        source = FailsOnce(clip)
        reader = tricodec.FrameReader(source, device="cpu", num_workers=num_workers)
        assert len(reader) == NUM_FRAMES
        source.left = num_reads
        with pytest.raises(OSError, match="the network was away"):
            reader.batch()

        assert np.array_equal(reader.batch(start=start, count=GOP), frames[start : start + GOP])
        assert reader.issues == []
