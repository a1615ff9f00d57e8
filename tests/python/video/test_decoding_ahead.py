# SPDX-License-Identifier: Apache-2.0
"""The caller works on one frame while the next ones are decoded."""

from __future__ import annotations

import io
import itertools
import subprocess
import sys
import threading
from pathlib import Path

import media
import pytest
import tricodec

GROUP = 12
NUM_GROUPS = 4
PATIENCE = 60.0  # seconds until a thread that never comes fails the test
BUFFER = 1 << 16  # what one read of the library takes


class WatchedFile(io.FileIO):
    """A file that knows which threads read it, and whether a place was reached."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.threads: set[int] = set()
        self.wanted_end = -1
        self.reached_wanted_end = threading.Event()

    def read(self, size: int | None = -1) -> bytes:
        self.threads.add(threading.get_ident())
        data = super().read(size)
        if 0 <= self.wanted_end <= self.tell():
            self.reached_wanted_end.set()
        return data


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four groups of twelve pictures, each group of several buffers."""
    path = tmp_path_factory.mktemp("ahead") / "noise.mp4"
    source = f"-f lavfi -i testsrc2=size=320x180,noise=alls=60:all_seed=1 -frames:v {GROUP * NUM_GROUPS}"
    codec = "-pix_fmt yuv420p -c:v libx264 -preset ultrafast -qp 1 -bf 0 -sc_threshold 0 -movflags +faststart"
    media.ffmpeg(source, codec, f"-g {GROUP} -keyint_min {GROUP}", path)
    return path


def starts_of_groups(clip: Path) -> list[int]:
    with tricodec.Demuxer(clip) as demuxer:
        return [packet.pos for packet in demuxer if packet.key]


def test_later_frames_are_decoded_while_the_caller_holds_one(clip: Path) -> None:
    starts = starts_of_groups(clip)
    assert len(starts) == NUM_GROUPS
    assert all(after - before > 3 * BUFFER for before, after in itertools.pairwise(starts))
    file = WatchedFile(clip)
    with tricodec.FrameReader(file, num_workers=2, device="cpu") as reader:
        assert len(reader) == GROUP * NUM_GROUPS
        file.wanted_end = starts[2]
        frames = iter(reader)
        held = next(frames)

        assert file.reached_wanted_end.wait(PATIENCE)  # no frame is asked for meanwhile
        assert held.index == 0
        assert [frame.index for frame in frames] == list(range(1, GROUP * NUM_GROUPS))
    file.close()


def test_one_worker_decodes_on_the_callers_thread_only(clip: Path) -> None:
    file = WatchedFile(clip)
    with tricodec.FrameReader(file, num_workers=1, device="cpu") as reader:
        assert [frame.index for frame in reader] == list(range(GROUP * NUM_GROUPS))
    file.close()

    assert file.threads == {threading.get_ident()}


# The decoders of each iterator fill its memory bound and wait. A process of its own can be ended if it hangs.
SCRIPT = """
import sys, time, tricodec
tricodec.set_limits(max_buffered_bytes=1 << 20)
iterators = [iter(tricodec.FrameReader(sys.argv[1], num_workers=64, device="cpu")) for _ in range(6)]
for each in iterators:
    assert next(each).index == 0
    used = -1.0
    while time.process_time() > used + 0.005:
        used = time.process_time()
        time.sleep(0.05)
"""


def test_any_number_of_iterators_may_wait_for_their_consumer_at_once(tmp_path: Path) -> None:
    options = "-frames:v 1536 -pix_fmt yuv420p -c:v libx264 -preset ultrafast -g 2 -keyint_min 2"
    media.ffmpeg("-f lavfi -i color=size=32x32:rate=30", options, tmp_path / "tiny.mp4")

    subprocess.run([sys.executable, "-c", SCRIPT, tmp_path / "tiny.mp4"], check=True, timeout=PATIENCE)
