# SPDX-License-Identifier: Apache-2.0
"""Plan: reads are those of decode_video, choices are measured, files fit one machine, contexts are of one thread."""

from __future__ import annotations

import logging
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import generated
from programs import printed_by

FLOATS = {"size": (56, 80), "dtype": "float32", "layout": "CHW", "mean": (0.4, 0.5, 0.6), "std": 0.25}
REQUESTS: list[dict[str, Any]] = [
    {},
    {"start": 3, "stride": 4, "count": 5, "size": (56, 80)},
    {"start": -6, "crop": (2, 4, 90, 120), "color": "gray", "num_workers": 1},
    {"count": 7, **FLOATS},
    {"count": 0},
]


@pytest.fixture(scope="module")
def clip() -> Path:
    return generated("h264_bframes.mp4")


@pytest.fixture(scope="module")
def tuned(clip: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[tricodec.Plan, Path, float]:
    """A tuned plan, its file, and the processor seconds that tuning took."""
    began = time.process_time()
    plan = tricodec.Plan(clip, size=(56, 80), tune=True)
    seconds = time.process_time() - began
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    plan.save(path)
    return plan, path, seconds


def assert_same(video: tricodec.DecodedVideo, expected: tricodec.DecodedVideo) -> None:
    np.testing.assert_array_equal(video.frames, expected.frames)
    np.testing.assert_array_equal(video.pts_seconds, expected.pts_seconds)


@pytest.mark.parametrize("request_", REQUESTS)
def test_read_returns_what_decode_video_returns(clip: Path, tmp_path: Path, request_: dict[str, Any]) -> None:
    expected = tricodec.decode_video(clip, **request_)
    plan = tricodec.Plan(clip, **request_)
    plan.save(tmp_path / "plan.json")
    again = tricodec.Plan.load(tmp_path / "plan.json")

    assert again == plan
    assert_same(plan.read(clip), expected)
    assert_same(again.read(clip.read_bytes()), expected)
    with again.context() as context:
        assert_same(context.read(clip), expected)


def test_frames_of_a_call_replace_those_of_the_request(clip: Path) -> None:
    plan = tricodec.Plan(clip, start=2, stride=2, count=3, size=(56, 80))
    out = np.empty((4, 56, 80, 3), np.uint8)

    video = plan.read(clip, start=5, count=4, out=out)

    assert video.frames is out
    assert_same(video, tricodec.decode_video(clip, start=5, stride=2, count=4, size=(56, 80)))


def test_a_plan_states_what_it_was_compiled_to(clip: Path) -> None:
    plan = tricodec.Plan(clip, device="cpu", count=4, workers=3, num_workers=1, **FLOATS)

    assert plan.choices.engine == "libavcodec h264"
    assert f"image_engine: {plan.choices.instruction_set}" in tricodec.build_info()
    assert (plan.workers, plan.num_workers, plan.batch_size) == (3, 1, 32)
    assert plan.choices.frame_shape == (3, 56, 80)
    assert plan.choices.frame_bytes == 3 * 56 * 80 * 4
    assert plan.sample == str(clip.resolve())
    assert (plan.tuned, plan.measurements) == ("", ())
    assert repr(plan).endswith("workers 3, num_workers 1, batch_size 32, not tuned>")


def test_tuning_takes_a_choice_that_it_measured_to_be_fast(
    clip: Path, tuned: tuple[tricodec.Plan, Path, float]
) -> None:
    plan = tuned[0]
    reads = {(m.workers, m.num_workers): m.seconds for m in plan.measurements if not m.batch_size}
    batches = {m.batch_size: m.seconds for m in plan.measurements if m.batch_size}

    assert plan.tuned == "throughput"
    assert next(iter(reads)) == (tricodec.Plan(clip).workers, 0), (
        "of equal candidates the first wins: that of the rules"
    )
    assert reads[plan.workers, plan.num_workers] <= 1.03 * min(reads.values())
    assert batches[plan.batch_size] <= 1.03 * min(batches.values())
    assert {8, 16, 32} == set(batches)


def test_tuning_leaves_what_the_request_fixes(clip: Path) -> None:
    plan = tricodec.Plan(clip, count=2, workers=2, num_workers=1, batch_size=5, tune=True)

    assert (plan.workers, plan.num_workers, plan.batch_size) == (2, 1, 5)


@pytest.fixture(scope="module")
def foreign(clip: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Plans of a process that is another machine: it has one core, and no SIMD. By where their sample is."""
    folder = tmp_path_factory.mktemp("foreign")
    plans = {"recorded": folder / "recorded.json", "lost": folder / "lost.json"}
    printed_by(
        """
        import os, pathlib, sys
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        import tricodec
        for sample, path in zip([sys.argv[1], pathlib.Path(sys.argv[1]).read_bytes()], sys.argv[2:]):
            plan = tricodec.Plan(sample, size=(56, 80), count=4, device="cpu", num_workers=1, workers=1, tune=True)
            plan.save(path)
        """,
        clip,
        *plans.values(),
        TRICODEC_DISABLE_CPU_FEATURES="avx512,avx2,sse4,neon",
    )
    return {**plans, "given": plans["lost"]}


@pytest.mark.needs_highway
def test_a_plan_of_another_machine_is_an_error_that_names_the_fields(foreign: dict[str, Path]) -> None:
    with pytest.raises(tricodec.UnsupportedError) as raised:
        tricodec.Plan.load(foreign["recorded"])

    text = str(raised.value)
    assert "instruction_set is 'scalar (TRICODEC_DISABLE_CPU_FEATURES)' in the plan and " in text
    assert "load it with strict=False" in text
    assert "libavcodec" not in text
    if (cores := len(os.sched_getaffinity(0))) > 1:
        assert f"cores is '1' in the plan and '{cores}' here" in text


@pytest.mark.needs_highway
@pytest.mark.parametrize("sample", ["recorded", "given", "lost"])
def test_a_plan_of_another_machine_is_made_again_on_demand(
    clip: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, foreign: dict[str, Path], sample: str
) -> None:
    with caplog.at_level(logging.WARNING, "tricodec"):
        plan = tricodec.Plan.load(foreign[sample], strict=False, sample=clip if sample == "given" else None)

    assert "instruction_set is 'scalar" in caplog.text
    here = tricodec.Plan(clip, size=(56, 80), count=4, device="cpu")
    assert plan.machine == here.machine
    assert plan.choices.instruction_set == here.choices.instruction_set
    assert plan.choices.engine == (here.choices.engine if sample != "lost" else "an engine that the first read chooses")
    assert plan.choices.frame_shape == here.choices.frame_shape
    assert plan.tuned == ("" if sample == "lost" else "throughput")
    assert_same(plan.read(clip), tricodec.decode_video(clip, size=(56, 80), count=4))
    plan.save(tmp_path / "again.json")
    assert tricodec.Plan.load(tmp_path / "again.json") == plan


def test_a_changed_file_is_refused(tuned: tuple[tricodec.Plan, Path, float], tmp_path: Path) -> None:
    text = tuned[1].read_text()
    changed = tmp_path / "plan.json"

    for old, new in (('"stream_index": -1', '"stream_index": 0'), ('"workers": ', '"workers": 1')):
        assert old in text
        changed.write_text(text.replace(old, new, 1))
        with pytest.raises(tricodec.CorruptDataError, match="was changed after it was saved"):
            tricodec.Plan.load(changed)


class Blocking:
    """A source that waits in its first read until the test lets it continue."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._position = 0
        self.entered = threading.Event()
        self.may_continue = threading.Event()

    def read(self, size: int) -> memoryview:
        self.entered.set()
        assert self.may_continue.wait(20)
        part = self._data[self._position : self._position + size]
        self._position += len(part)
        return part

    def seek(self, offset: int, whence: int) -> int:
        self._position = offset + (0, self._position, len(self._data))[whence]
        return self._position


def test_a_context_in_two_threads_is_an_error_that_harms_no_read(clip: Path) -> None:
    plan = tricodec.Plan(clip, count=4, size=(56, 80))
    source = Blocking(clip.read_bytes())
    context = plan.context()
    read: list[tricodec.DecodedVideo] = []
    thread = threading.Thread(target=lambda: read.append(context.read(source)))
    thread.start()
    assert source.entered.wait(20)

    for misuse in (lambda: context.read(clip), lambda: next(context.batches(clip)), context.close):
        with pytest.raises(RuntimeError, match="in use by another thread; give each thread a plan"):
            misuse()
    source.may_continue.set()
    thread.join(20)

    expected = tricodec.decode_video(clip, count=4, size=(56, 80))
    assert_same(read[0], expected)
    assert_same(context.read(clip), expected)


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        ({"workers": -1}, ValueError, "workers of Plan is -1; expected a whole number of at least 0"),
        ({"tune": "speed"}, ValueError, "tune of Plan is 'speed'; expected True, False, 'throughput' or 'latency'"),
        ({"siez": (1, 2)}, TypeError, "siez"),
        ({"stride": 0}, ValueError, "stride"),
        ({"start": 1000}, IndexError, "1000"),
        ({"times": object()}, TypeError, "times must be a number, or numbers"),
        ({"times": np.array([0.1])}, TypeError, "a plan selects frames by"),
    ],
)
def test_arguments_that_are_not_accepted_are_named(
    clip: Path, arguments: dict[str, Any], error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named):
        tricodec.Plan(clip, **arguments)
