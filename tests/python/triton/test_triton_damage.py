# SPDX-License-Identifier: Apache-2.0
"""What the Triton models' tasks give of a file that decodes to fewer frames than its packets promise, 29 of 30.

And of frames that share packets, and of sizes that change.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable

import damaged_clips
import numpy as np
import pytest
import tricodec
from tricodec.triton_backend.models.decode_task import DecodeTask, StreamTask
from tricodec.triton_backend.runtime.block import Outcome
from tricodec.triton_backend.runtime.settings import Settings

PROMISED = 30
LEFT = 29
SETTINGS = Settings(device="cpu")


@pytest.fixture(scope="module")
def shortened() -> bytes:
    return damaged_clips.without_frame_15()


def outcomes(task: DecodeTask, data: bytes, *, in_process: bool) -> list[Outcome]:
    """What a slot without a process gives, or what a worker process writes into memory."""
    found = []
    with task.open(data, SETTINGS, 2) as jobs:
        for job in jobs:
            if not in_process:
                found.append(job.outcome())
                continue
            memory = mmap.mmap(-1, job.block.total_bytes)
            job.write(memory)
            found.append(job.block.read(memory)[0])
    return found


@pytest.mark.parametrize("in_process", [False, True])
@pytest.mark.parametrize("start", [0, 11, -15])
def test_a_decode_task_gives_the_frames_that_are_left(start: int, in_process: bool, shortened: bytes) -> None:
    (decoded,) = outcomes(DecodeTask(words={"start": start}), shortened, in_process=in_process)

    expected = tricodec.decode_video(shortened, start=start, device="cpu")
    frames, pts = decoded.arrays
    assert np.array_equal(frames, expected.frames)
    assert np.array_equal(pts, expected.pts_seconds)
    assert decoded.facts["num_damaged_packets"] == expected.num_damaged_packets > 0


@pytest.mark.parametrize("in_process", [False, True])
@pytest.mark.parametrize("chunk", [7, 29, 30])
def test_a_stream_task_gives_the_frames_that_are_left(chunk: int, in_process: bool, shortened: bytes) -> None:
    chunks = outcomes(StreamTask(chunk=chunk), shortened, in_process=in_process)

    expected = tricodec.decode_video(shortened, device="cpu")
    assert np.array_equal(np.concatenate([each.arrays[0] for each in chunks]), expected.frames)
    assert np.array_equal(np.concatenate([each.arrays[1] for each in chunks]), expected.pts_seconds)


@pytest.mark.parametrize("in_process", [False, True])
def test_a_decode_task_raises_for_a_count_that_is_not_there(in_process: bool, shortened: bytes) -> None:
    with pytest.raises(IndexError, match=f"has {LEFT} frames"):
        outcomes(DecodeTask(words={"count": PROMISED}), shortened, in_process=in_process)


@pytest.mark.parametrize("in_process", [False, True])
@pytest.mark.parametrize("make", [damaged_clips.av1_in_28_packets, damaged_clips.of_two_sizes])
def test_tasks_give_all_frames_of_a_file_whose_packets_or_sizes_change(
    make: Callable[[], bytes], in_process: bool
) -> None:
    expected = tricodec.decode_video(make(), device="cpu", size=(36, 64))
    size = {"size": (36, 64)}

    for task in (DecodeTask(transform=size), StreamTask(transform=size, chunk=7)):
        answers = outcomes(task, make(), in_process=in_process)

        assert np.array_equal(np.concatenate([each.arrays[0] for each in answers]), expected.frames)
        assert np.array_equal(np.concatenate([each.arrays[1] for each in answers]), expected.pts_seconds)


@pytest.mark.parametrize("in_process", [False, True])
@pytest.mark.parametrize("task", [DecodeTask(), StreamTask(chunk=7)])
def test_frames_of_two_sizes_without_a_size_are_refused(task: DecodeTask, in_process: bool) -> None:
    with pytest.raises(tricodec.UnsupportedError, match="size="):
        outcomes(task, damaged_clips.of_two_sizes(), in_process=in_process)
