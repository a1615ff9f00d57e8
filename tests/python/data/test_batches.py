# SPDX-License-Identifier: Apache-2.0
"""`tricodec.data.ClipBatches`: read ahead, in order, each clip once, continued where it was."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from itertools import islice
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tricodec
from media import copied, indexed
from tricodec.data import ClipBatches, ClipSampler
from tricodec.data._batches import ReadAhead

NAMES = ("h264_16x16.mp4", "h264_bframes.mp4", "hevc_open_gop.mkv", "vp9.webm")
SIZE = (48, 64)


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> tricodec.data.Dataset:
    index = indexed(copied(NAMES, tmp_path_factory.mktemp("videos")))
    return tricodec.data.Dataset(index, clip_length=4, stride=2, step=3, size=SIZE)


def numbers(batches: Any) -> list[list[int]]:
    return [[int(number) for number in batch["clip"]] for batch in batches]


def read_ahead(batches: Iterator[list[int]], read: Any, clip_bytes: int, **options: int) -> ReadAhead:
    """Reads clips that `read` gives, each of a video of its own, without memory for batches."""
    dataset: Any = SimpleNamespace(_read=read, _groups=lambda clip: (clip, 0, 0), _clip_bytes=lambda clip: clip_bytes)
    memory: Any = SimpleNamespace(of=lambda clips: None)
    return ReadAhead(dataset, memory, batches, **options)


def flat(batches: list[list[int]]) -> list[int]:
    return [number for batch in batches for number in batch]


@pytest.mark.parametrize("read_ahead_bytes", [0, 1 << 18, 1 << 30])
def test_batches_are_those_of_the_sampler_with_the_frames_of_the_clips(
    clips: tricodec.data.Dataset, read_ahead_bytes: int
) -> None:
    batches = ClipBatches(clips, 3, seed=4, rank=1, num_ranks=2, read_ahead_bytes=read_ahead_bytes)
    sampler = ClipSampler(clips, 3, seed=4, rank=1, num_ranks=2)
    assert len(batches) == len(sampler)
    for batch, expected in zip(batches, sampler, strict=True):
        assert batch["clip"].tolist() == expected
        assert batch["frames"].shape == (len(expected), 4, *SIZE, 3)
        for place, number in enumerate(expected):
            clip = clips[number]
            np.testing.assert_array_equal(batch["frames"][place], clip["frames"])
            np.testing.assert_array_equal(batch["pts_seconds"][place], clip["pts_seconds"])
            assert (batch["video"][place], batch["start"][place]) == (clip["video"], clip["start"])
    assert batches.epoch == sampler.epoch == 1


@pytest.mark.parametrize(("max_bytes", "most"), [(0, 1), (40, 4), (10_000, 20)])
def test_no_more_batches_are_read_ahead_than_the_bound_holds(max_bytes: int, most: int) -> None:
    taken = []

    def order() -> Iterator[list[int]]:
        for number in range(20):
            taken.append(number)
            yield [number]

    ahead = read_ahead(order(), lambda row, clips, outs: list(clips), 10, num_threads=2, max_bytes=max_bytes)
    for given, _ in enumerate(ahead):
        assert len(taken) <= given + 1 + most
    assert len(taken) == 20
    ahead.close()


def test_an_error_of_a_thread_is_raised_after_the_batches_before_it() -> None:
    before = threading.Event()

    def read(row: int, clips: Any, outs: Any) -> list[int]:
        if row == 1:
            before.wait(60)
            raise ValueError("damaged")
        return list(clips)

    ahead = read_ahead(iter([[0], [1], [2]]), read, 1, num_threads=1, max_bytes=100)
    assert next(ahead) == ([0], None)
    before.set()
    with pytest.raises(ValueError, match="damaged"):
        next(ahead)
    ahead.close()


def test_a_state_counts_the_batches_that_were_given_out_whatever_is_read_ahead(clips: tricodec.data.Dataset) -> None:
    for read_ahead_bytes in (0, 1 << 30):
        batches = ClipBatches(clips, 4, seed=1, read_ahead_bytes=read_ahead_bytes)
        given = numbers(islice(batches, 3))
        state = json.loads(json.dumps(batches.state_dict()))
        again = ClipBatches(clips, 2, seed=9)
        again.load_state_dict(state)
        rest = numbers(again)
        assert sorted(flat(given + rest)) == list(range(len(clips)))
        assert (state["num_clips_done"], again.epoch) == (12, 1)


def test_an_iteration_that_was_left_is_continued_by_the_next(clips: tricodec.data.Dataset) -> None:
    expected = list(ClipSampler(clips, 4, seed=1))
    batches = ClipBatches(clips, 4, seed=1)
    first = next(iter(batches))["clip"].tolist()
    assert [first, *numbers(batches)] == expected
    assert batches.epoch == 1
    second = numbers(batches)
    assert sorted(flat(second)) == sorted(flat(expected))
    assert second != expected


def test_no_thread_stays_when_an_iteration_is_left(clips: tricodec.data.Dataset) -> None:
    batches = iter(ClipBatches(clips, 2, num_threads=3))
    next(batches)
    assert 1 <= len(threads()) <= 3
    batches.close()  # type: ignore[attr-defined]
    assert not threads()


def threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("tricodec-read-ahead")]


def test_batches_that_a_program_keeps_stay_as_they_are(clips: tricodec.data.Dataset) -> None:
    parts = [
        (int(batch["clip"][-1]), batch["frames"][-1, 2:]) for batch in ClipBatches(clips, 5, read_ahead_bytes=1 << 16)
    ]
    for number, frames in parts:
        np.testing.assert_array_equal(frames, clips[number]["frames"][2:])


@pytest.mark.parametrize("options", [{"read_ahead_bytes": -1}, {"num_threads": -2}])
def test_wrong_numbers_are_refused(clips: tricodec.data.Dataset, options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="expected 0 or more"):
        ClipBatches(clips, 2, **options)
