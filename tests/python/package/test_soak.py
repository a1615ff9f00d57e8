# SPDX-License-Identifier: Apache-2.0
"""Memory stays flat while every clip is opened, read, searched and closed for minutes."""

from __future__ import annotations

import gc
import itertools
import os
import time
from pathlib import Path

import media
import pytest
import tricodec
from media_recipes import RECIPES
from programs import resident_bytes

MINUTES = float(os.environ.get("TRICODEC_SOAK_MINUTES", "10"))
UNREADABLE = ("truncated.mp4", "audio_only.m4a")


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def use(path: Path) -> None:
    with tricodec.FrameReader(path) as reader:
        for _ in itertools.islice(reader, 40):
            pass
        count = len(reader)
        _ = reader[count // 2], reader[-1]
        reader.batch([0, count - 1, count // 3], size=(64, 64), dtype="float32")
    demuxer = tricodec.Demuxer(path.read_bytes(), annexb=True)
    for packet in itertools.islice(demuxer, 20):
        assert len(packet) == packet.data.nbytes


@pytest.mark.slow
def test_ten_minutes_over_all_clips_end_with_flat_memory() -> None:
    paths = [media.generated(name) for name in RECIPES if name not in UNREADABLE] + [
        clip.path for clip in media.manifest()
    ]
    for path in paths:  # caches, pools and FFmpeg's tables fill once
        use(path)
    gc.collect()
    started_with, files = resident_bytes(), open_files()

    deadline = time.monotonic() + 60 * MINUTES
    rounds = 0
    while time.monotonic() < deadline:
        for path in paths:
            use(path)
            if time.monotonic() > deadline:
                break
        rounds += 1

    gc.collect()
    grown = resident_bytes() - started_with
    # The first round's peak may lie below the later ones'; a leak of one small frame a clip and round is more.
    assert grown < 64 << 20, f"{grown / 2**20:.0f} MiB more after {rounds} rounds"
    assert open_files() <= files
