# SPDX-License-Identifier: Apache-2.0
"""Memory stays flat while each of the ways to write or read a long video handles 100,000 frames."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import media
import numpy as np
import pytest
import tricodec

FRAMES = int(os.environ.get("TRICODEC_SOAK_FRAMES", "100000"))
# Caches, pools and the codecs' own queues are full long before.
WARM = FRAMES // 10
SIZE = 64
# A leak of one of 64 x 64 pictures in a hundred frames is more, and so is one of 100 bytes a frame.
MOST_BYTES = 8 << 20


def own_bytes() -> int:
    """Memory of this process that no file stands for."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


class Watch:
    """Compares memory at the end with that after the first tenth."""

    def __init__(self) -> None:
        self.count = 0
        self.warm: int | None = None
        self.most = 0

    def add(self, frames: int) -> None:
        before, self.count = self.count, self.count + frames
        if self.warm is None and self.count >= WARM:
            gc.collect()
            self.warm = own_bytes()
        elif self.warm is not None and before // 1000 != self.count // 1000:
            self.most = max(self.most, own_bytes())

    def verify(self) -> None:
        assert self.count == FRAMES
        assert self.warm is not None
        grown = self.most - self.warm
        assert grown < MOST_BYTES, f"{grown / 2**20:.1f} MiB more after {FRAMES} frames"


def pictures() -> Iterator[np.ndarray]:
    """Moving stripes, rgb24."""
    row = np.arange(SIZE * 2, dtype=np.uint8)
    shifted = [np.ascontiguousarray(np.broadcast_to(row[k : k + SIZE, None], (SIZE, SIZE, 3))) for k in range(SIZE)]
    for number in range(FRAMES):
        yield shifted[number % SIZE]


@pytest.fixture(scope="module")
def long_movie(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """FRAMES frames with sound, made by the ffmpeg command line."""
    path = tmp_path_factory.mktemp("soak") / "long.mkv"
    seconds = FRAMES / 25
    sources = f"-f lavfi -i testsrc=s={SIZE}x{SIZE}:r=25:d={seconds} -f lavfi -i sine=r=8000:d={seconds}"
    media.ffmpeg(sources, "-c:v libx264 -preset ultrafast -g 50 -c:a pcm_s16le", path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("container", ["mp4", "mpegts"])
def test_encoder_and_muxer_are_flat(container: str, tmp_path: Path) -> None:
    watch = Watch()
    with tricodec.Muxer(tmp_path / "a.bin", format=container, fragmented=container == "mp4") as muxer:
        encoder = tricodec.Encoder(
            SIZE, SIZE, device="cpu", gop_size=50, num_b_frames=2, num_threads=2,
            global_header=muxer.wants_global_headers, options={"preset": "ultrafast"},
        )  # fmt: skip
        stream = muxer.add_stream(encoder.stream)
        for picture in pictures():
            for packet in encoder.encode(picture):
                muxer.write(packet, stream)
            watch.add(1)
        for packet in encoder.flush():
            muxer.write(packet, stream)

    watch.verify()


@pytest.mark.slow
def test_transcode_is_flat(long_movie: Path, tmp_path: Path) -> None:
    watch = Watch()

    def progress(frames: int, _seconds: float, _total: float) -> None:
        watch.add(frames - watch.count)

    result = tricodec.transcode(
        long_movie, tmp_path / "a.mkv", size=(48, 48), device="cpu", options={"preset": "ultrafast"}, progress=progress
    )

    assert result.num_frames == FRAMES
    watch.verify()
