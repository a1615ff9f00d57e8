# SPDX-License-Identifier: Apache-2.0
"""`FrameReader.batches`: the frames of `batch`, a batch at a time, decoded ahead."""

from __future__ import annotations

import gc
import io
import itertools
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import media
import numpy as np
import pytest
import tricodec
from media import ffmpeg, generated

TENSOR: dict[str, Any] = {"size": (48, 64), "dtype": "float32", "layout": "CHW"}
CLIPS = ["h264_open_gop.mkv", "h264_one_gop.mp4", "vp9.webm", "av1.mp4"]


@pytest.mark.parametrize("num_workers", [1, 3])
@pytest.mark.parametrize("name", CLIPS)
def test_batches_hold_the_frames_of_one_read(name: str, num_workers: int) -> None:
    with tricodec.FrameReader(generated(name)) as reader:
        expected = reader.batch(range(len(reader)), **TENSOR)
    with tricodec.FrameReader(generated(name), num_workers=num_workers) as reader:
        batches = list(reader.batches(7, **TENSOR))
    assert [len(batch) for batch in batches[:-1]] == [7] * (len(batches) - 1)
    assert np.array_equal(np.concatenate(batches), expected)


@pytest.mark.parametrize(("start", "stride", "count"), [(0, 1, -1), (5, 1, 20), (3, 4, -1), (-9, 2, 100), (0, 1, 0)])
@pytest.mark.parametrize("batch_size", [4, 1000])
def test_batches_follow_start_stride_and_count(start: int, stride: int, count: int, batch_size: int) -> None:
    with tricodec.FrameReader(generated("h264_bframes.mp4")) as reader:
        numbers = list(range(len(reader)))[start::stride][: None if count < 0 else count]
        batches = list(reader.batches(batch_size, start=start, stride=stride, count=count, **TENSOR))
        assert sum(len(batch) for batch in batches) == len(numbers)
        assert all(len(batch) == batch_size for batch in batches[:-1])
        if numbers:
            assert np.array_equal(np.concatenate(batches), reader.batch(numbers, **TENSOR))


def test_batches_stay_as_they_are_while_later_ones_are_made() -> None:
    with tricodec.FrameReader(generated("h264_bframes.mp4")) as reader:
        held = list(reader.batches(5, **TENSOR))
        copies = [batch.copy() for batch in held]
        for _ in reader.batches(5, **TENSOR, mean=0.5):
            pass
    gc.collect()
    assert all(np.array_equal(a, b) for a, b in zip(held, copies, strict=True))
    assert all(batch.flags.writeable and batch.flags.c_contiguous for batch in held)


def test_other_reads_are_allowed_between_batches() -> None:
    with tricodec.FrameReader(generated("h264_bframes.mp4")) as reader:
        expected = reader.batch(range(len(reader)), **TENSOR)
        batches = []
        for batch in reader.batches(6, **TENSOR):
            batches.append(batch)
            assert reader[20].index == 20
    assert np.array_equal(np.concatenate(batches), expected)


def test_an_iterator_that_is_dropped_early_leaves_the_reader_usable() -> None:
    with tricodec.FrameReader(generated("h264_bframes.mp4"), num_workers=3) as reader:
        for _ in range(5):
            iterator = reader.batches(2, **TENSOR)
            next(iterator)
            del iterator
        assert len(list(reader.batches(10, **TENSOR))) == -(-len(reader) // 10)


@pytest.mark.parametrize("codec", ["libx264", "mpeg4"])
def test_a_batch_has_the_size_of_its_own_frames(codec: str, tmp_path: Path) -> None:
    parts = []
    for size in ("96x64", "64x48"):
        part = tmp_path / f"{size}.ts"
        ffmpeg(f"-f lavfi -i testsrc2=s={size}:d=1:r=25 -c:v {codec} -g 25", part)
        parts.append(part.read_bytes())
    path = tmp_path / "both.ts"
    path.write_bytes(b"".join(parts))
    for first, shape in ((0, (64, 96, 3)), (25, (48, 64, 3))):
        with tricodec.FrameReader(path, device="cpu") as reader:
            assert reader.batch(range(first, first + 25)).shape == (25, *shape)
            assert next(reader.batches(5, start=first)).shape == (5, *shape)
        assert tricodec.decode_video(path, start=first, count=25, device="cpu").frames.shape == (25, *shape)
    with (
        tricodec.FrameReader(path, device="cpu") as reader,
        pytest.raises(tricodec.UnsupportedError, match="frame 25 is 64x48"),
    ):
        reader.batch(range(20, 30))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [({"batch_size": 0}, ValueError, "batch_size is 0"), ({"batch_size": 4, "start": 10**6}, IndexError, "1000000")],
)
def test_arguments_that_are_not_accepted_are_named(
    arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    with tricodec.FrameReader(generated("h264_bframes.mp4")) as reader, pytest.raises(error, match=words):
        list(reader.batches(**arguments))


@pytest.mark.parametrize("arrays", [1, 2], ids=["one array", "two in turn"])
def test_batches_are_written_to_arrays_of_the_callers(arrays: int) -> None:
    reader = tricodec.FrameReader(generated("h264_bframes.mp4"))
    wanted = reader.batch(slice(None), size=(30, 40), layout="CHW")
    outs = [np.empty((8, 3, 30, 40), np.uint8) for _ in range(arrays)]

    sizes = []
    for number, batch in enumerate(reader.batches(8, size=(30, 40), layout="CHW", out=outs)):
        assert np.shares_memory(batch, outs[number % arrays])
        np.testing.assert_array_equal(batch, wanted[8 * number : 8 * number + 8])
        sizes.append(len(batch))

    assert sizes == [8] * 6 + [2]


def batches_in_use(num_workers: int, side: int, kept: list[Any] | None = None) -> tuple[int, int]:
    """The most batches of 8 at a time, and those at the end, of a program that spends some time on each."""
    size_bytes = 8 * side * side * 3 * 4
    with tricodec.measure.MemoryTracker(max_events=100_000) as tracker:
        with tricodec.FrameReader(generated("h264_bframes.mp4"), device="cpu", num_workers=num_workers) as reader:
            batches = reader.batches(8, size=(side, side), dtype="float32")
            num_frames = 0
            while (batch := next(batches, None)) is not None:
                num_frames += len(batch)
                if kept is not None:
                    kept.append(batch)
                time.sleep(0.005)
                del batch
            assert num_frames == 50
        del batches, reader
        gc.collect()
    now = most = 0
    for event in tracker.events:
        if 0 <= event.size_bytes - size_bytes < 4096:
            now += {"allocate": 1, "reuse": 1, "release": -1, "free": 0}[event.action]
            most = max(most, now)
    return most, now


# A group of the first two is more than two decoders may have ready; for the last, 16 MiB a worker are three.
@pytest.mark.parametrize(("num_workers", "side", "held"), [(1, 320, {0, 1, 2}), (2, 960, {0, 1, 2}), (2, 320, {3, 4})])
def test_no_more_batches_are_held_beside_the_callers_than_decoders_work_on(
    num_workers: int, side: int, held: set[int]
) -> None:
    most, now = batches_in_use(num_workers, side)
    assert most in held
    assert now == 0


def test_batches_that_the_caller_keeps_are_not_waited_for() -> None:
    kept: list[Any] = []

    assert batches_in_use(2, 320, kept)[1] == len(kept) == 7


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
