# SPDX-License-Identifier: Apache-2.0
"""WorkerPool: requests of plans and functions on threads with a context each; errors, order, bounds."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from programs import printed_by


@pytest.fixture(scope="module")
def plan() -> tricodec.Plan:
    return tricodec.Plan(generated("h264_bframes.mp4"), count=4, size=(56, 80), workers=2)


def expected(path: Path, start: int = 0) -> Any:
    return tricodec.decode_video(path, start=start, count=4, size=(56, 80)).frames


def test_a_plan_gives_the_frames_of_decode_video_in_order(plan: tricodec.Plan) -> None:
    clips = [generated(name) for name in ("h264_bframes.mp4", "hevc.mp4", "vp9.webm")] * 3

    with tricodec.WorkerPool(plan) as pool:
        assert pool.workers == 2
        started = pool.submit(clips[0], start=9)
        videos = list(pool.map(clips))

    np.testing.assert_array_equal(started.result().frames, expected(clips[0], 9))
    for clip, video in zip(clips, videos, strict=True):
        np.testing.assert_array_equal(video.frames, expected(clip))


def test_errors_keep_their_types_and_concern_one_request(plan: tricodec.Plan, tmp_path: Path) -> None:
    clip = generated("h264_bframes.mp4")
    text = tmp_path / "text.mp4"
    text.write_text("no video")

    with tricodec.WorkerPool(plan, 2) as pool:
        futures = [pool.submit(path) for path in (clip, tmp_path / "absent.mp4", text, clip)]
        late = pool.submit(clip, start=1000)

        np.testing.assert_array_equal(futures[0].result().frames, futures[3].result().frames)
        with pytest.raises(tricodec.MediaNotFoundError):
            futures[1].result()
        with pytest.raises(tricodec.CorruptDataError):
            futures[2].result()
        with pytest.raises(IndexError):
            late.result()


def test_each_worker_has_a_context_of_its_own_which_it_closes() -> None:
    made: list[Context] = []

    class Context:
        def __init__(self) -> None:
            self.threads: set[int] = set()
            self.closed_by = 0
            made.append(self)

        def close(self) -> None:
            self.closed_by = threading.get_ident()

    both = threading.Barrier(2)

    def work(context: Context, number: int, *, factor: int) -> int:
        both.wait(20)  # two requests at a time, so on two workers
        context.threads.add(threading.get_ident())
        return number * factor

    with tricodec.WorkerPool(work, 2, context=Context) as pool:
        futures = [pool.submit(number, factor=3) for number in range(8)]
        assert [future.result(timeout=20) for future in futures] == [0, 3, 6, 9, 12, 15, 18, 21]

    assert len(made) == 2
    threads = [context.threads for context in made]
    assert all(len(found) == 1 for found in threads)
    assert threads[0] != threads[1]
    assert all({context.closed_by} == context.threads for context in made)


def test_a_blocked_worker_delays_no_other() -> None:
    released = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert released.wait(20)
        return item

    with tricodec.WorkerPool(work, 2) as pool:
        blocked = pool.submit(0)
        assert [pool.submit(item).result(timeout=20) for item in range(1, 6)] == [1, 2, 3, 4, 5]
        assert not blocked.done()
        released.set()

    assert blocked.result() == 0


def test_map_takes_items_as_results_are_taken() -> None:
    taken: list[int] = []

    def items() -> Any:
        for item in range(100):
            taken.append(item)
            yield item

    with tricodec.WorkerPool(lambda item: 10 * item, 2) as pool:
        results = pool.map(items())
        first = [next(results) for _ in range(3)]
        results.close()

    assert first == [0, 10, 20]
    assert len(taken) <= 3 + 2 * 2


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        ((3,), TypeError, "work of WorkerPool is 3; expected a tricodec.Plan or a function"),
        ((print, -1), ValueError, "workers of WorkerPool is -1"),
    ],
)
def test_arguments_that_are_not_accepted_are_named(
    arguments: tuple[Any, ...], error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named):
        tricodec.WorkerPool(*arguments)


def test_ctrl_c_interrupts_what_waits_for_a_result_and_a_forked_child_makes_its_own() -> None:
    printed = printed_by("""
        import os, signal, threading
        import tricodec
        released, entered = threading.Event(), threading.Event()
        def work(item):
            if item == 0:
                entered.set()
                released.wait(20)
            return item
        pool = tricodec.WorkerPool(work, 1)
        child = os.fork()
        if not child:
            try:
                pool.submit(1)
            except tricodec.UnsupportedError as error:
                print(str(error).rpartition("; ")[2], flush=True)
            pool.close()
            os._exit(0)
        os.waitpid(child, 0)
        future = pool.submit(0)
        entered.wait(20)
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            future.result()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        released.set()
        print(future.result(), pool.submit(2).result())
    """)

    assert printed == "make a WorkerPool in the child\ninterrupted\n0 2\n"
