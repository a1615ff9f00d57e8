# SPDX-License-Identifier: Apache-2.0
"""FrameReader as Python sees it: what may be asked for and how, lifetimes, threads; ffmpeg gives the frames."""

from __future__ import annotations

import functools
import gc
import io
import threading
import weakref
from typing import Any

import numpy as np
import pytest
import tricodec
from media import ffmpeg_framemd5, generated
from programs import run_threads

PATH_NAME = "h264_bframes.mp4"


@pytest.fixture(scope="module")
def expected() -> list[str]:
    return ffmpeg_framemd5(generated(PATH_NAME))


@pytest.fixture
def reader() -> tricodec.FrameReader:
    return tricodec.FrameReader(generated(PATH_NAME))


def md5s(frames: Any) -> list[str]:
    return [frame.md5() for frame in frames]


@pytest.mark.parametrize("index", [7, -1, np.uint8(3)], ids=repr)
def test_an_integer_gives_one_frame(reader: tricodec.FrameReader, expected: list[str], index: int) -> None:
    frame = reader[index]

    assert frame.md5() == expected[index]
    assert frame.index == int(index) % 50


@pytest.mark.parametrize(
    "where",
    [slice(10, 20), slice(40, None, 3), slice(None, None, -7), slice(20, 10), slice(45, 1000)],
    ids=str,
)
def test_a_slice_gives_what_a_list_would(reader: tricodec.FrameReader, expected: list[str], where: slice) -> None:
    frames = reader[where]

    assert isinstance(frames, list)
    assert md5s(frames) == expected[where]


@pytest.mark.parametrize(
    "indices",
    [[3, 3, 1], range(4, 40, 9), [], np.array([7, 2, -3]), np.arange(20, dtype=np.int16)[::-6]],
    ids=repr,
)
def test_integers_in_a_sequence_or_array_give_a_list(
    reader: tricodec.FrameReader, expected: list[str], indices: Any
) -> None:
    wanted = [expected[int(index)] for index in indices]

    assert md5s(reader[indices]) == wanted
    assert md5s(reader.frames(indices)) == wanted


@pytest.mark.parametrize(
    "index",
    [True, 1.0, "3", [True, False], [0.5], np.array([0.5]), np.array([True, False]), np.array([[1, 2]])],
    ids=repr,
)
def test_what_is_no_frame_number_is_a_type_error(reader: tricodec.FrameReader, index: Any) -> None:
    with pytest.raises(TypeError, match="frame"):
        reader[index]


@pytest.mark.parametrize("index", [50, -51, [0, 50], np.array([2**64 - 1], np.uint64)], ids=repr)
def test_a_number_past_the_end_is_an_index_error(reader: tricodec.FrameReader, index: Any) -> None:
    with pytest.raises(IndexError):
        reader[index]


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({}, slice(None)),
        ({"start": 10}, slice(10, None)),
        ({"start": -10, "stride": 3}, slice(-10, None, 3)),
        ({"start": 5, "stride": 4, "count": 6}, slice(5, 29, 4)),
        ({"count": 0}, slice(0)),
    ],
)
def test_iterate_and_select_mean_the_same_frames(
    reader: tricodec.FrameReader, expected: list[str], options: dict[str, int], where: slice
) -> None:
    assert reader.select(**options) == list(range(50))[where]
    assert md5s(reader.iterate(**options)) == expected[where]


def test_at_gives_the_frame_on_screen(reader: tricodec.FrameReader) -> None:
    times = reader.pts_seconds

    assert reader.index_at(0) == 0
    for i in (1, 13, 48):
        assert reader.index_at(times[i]) == i
        assert reader.index_at((times[i] + times[i + 1]) / 2) == i
        assert reader.at(times[i] + 0.001).index == i
    for seconds in (-0.5, times[-1] + 10):
        with pytest.raises(IndexError):
            reader.at(seconds)


def test_batch_is_the_transform_of_each_frame(reader: tricodec.FrameReader) -> None:
    transform = tricodec.Transform(size=(40, 60), dtype="float32", layout="CHW", mean=0.5, std=(0.1, 0.2, 0.3))
    indices = [7, 7, 0, -1]
    single = np.stack([transform(reader[i]) for i in indices])

    batch = reader.batch(indices, transform)

    assert batch.shape == (4, 3, 40, 60)
    assert batch.dtype == np.float32
    assert batch.flags.writeable
    assert batch.flags.c_contiguous
    assert batch.tobytes() == single.tobytes()
    assert reader.batch(indices, **transform.options).tobytes() == single.tobytes()


def test_threads_on_one_reader_take_turns(reader: tricodec.FrameReader, expected: list[str]) -> None:
    failures: list[Any] = []

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        try:
            for i in random.integers(0, 50, 25):
                if reader[i].md5() != expected[i]:
                    failures.append(i)
        except Exception as error:
            failures.append(error)

    run_threads([functools.partial(work, seed) for seed in range(4)])

    assert failures == []


def test_closing_while_other_threads_read_is_an_error_for_them_and_no_crash() -> None:
    reader = tricodec.FrameReader(generated(PATH_NAME))
    started = threading.Barrier(4)
    outcomes: list[str] = []

    def work() -> None:
        started.wait()
        try:
            while True:
                reader[::5]
        except ValueError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    started.wait()
    reader[0]
    reader.close()
    for thread in threads:
        thread.join()

    assert len(outcomes) == 3
    assert all("closed" in outcome for outcome in outcomes)


def test_a_closed_reader_says_so_and_its_frames_stay() -> None:
    with tricodec.FrameReader(generated(PATH_NAME)) as reader:
        frame = reader[5]
        before = frame.md5()
    reader.close()

    assert reader.closed
    assert frame.md5() == before
    assert reader.stream.width == 320
    assert "closed" in repr(reader)
    for use in (lambda: reader[0], lambda: len(reader), lambda: next(iter(reader)), lambda: reader.pts_seconds):
        with pytest.raises(ValueError, match="this FrameReader is closed"):
            use()


def test_a_reader_is_freed_with_its_source() -> None:
    class Source(io.BytesIO):
        pass

    source = Source(generated(PATH_NAME).read_bytes())
    gone = weakref.ref(source)
    reader = tricodec.FrameReader(source)
    iterator = iter(reader)
    next(iterator)
    reader[30]
    del source, reader
    gc.collect()
    assert gone() is not None, "the iterator still reads from it"
    del iterator
    gc.collect()

    assert gone() is None
