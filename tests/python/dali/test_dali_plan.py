# SPDX-License-Identifier: Apache-2.0
"""plan= of DALI's operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tricodec
from dali_testing import decode
from media import generated

pytestmark = pytest.mark.needs_dali

REQUEST: dict[str, Any] = {
    "start": 3, "stride": 2, "count": 5, "crop": (4, 8, 90, 120), "size": (56, 80), "dtype": "float32", "layout": "CHW",
    "mean": [0.4, 0.5, 0.6], "std": 0.25,
}  # fmt: skip


@pytest.fixture(scope="module")
def clip() -> Path:
    return generated("h264_bframes.mp4")


@pytest.fixture
def saved(clip: Path, tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    tricodec.Plan(clip, **REQUEST).save(path)
    return path


def test_decode_video_takes_the_request_of_a_file_or_a_plan(clip: Path, saved: Path) -> None:
    expected = tricodec.decode_video(clip, device="cpu", **REQUEST)

    for plan in (saved, str(saved), tricodec.Plan.load(saved)):
        (decoded,) = decode([clip], plan=plan)
        assert decoded.frames.tobytes() == expected.frames.tobytes()
        assert decoded.frames.shape == expected.frames.shape
        assert decoded.pts.tolist() == expected.pts_seconds.tolist()


def test_arguments_replace_those_of_the_plan(clip: Path, saved: Path) -> None:
    expected = tricodec.decode_video(clip, device="cpu", **{**REQUEST, "start": 7, "size": (40, 40)})

    (decoded,) = decode([clip], plan=saved, start=7, size=(40, 40))

    assert decoded.frames.tobytes() == expected.frames.tobytes()


@pytest.mark.parametrize(
    ("options", "operator", "named"),
    [
        ({"start": 2}, "read_video", "the plan has start 2, which read_video does not have"),
        ({"ignore_edit_list": True}, "decode_video", "the plan has ignore_edit_list"),
        ({"dtype": "bfloat16"}, "decode_video", "the plan has dtype bfloat16, which DALI lacks"),
        ({}, "transform", "operator is 'transform'; accepted: decode_video, read_video"),
    ],
)
def test_requests_that_dali_cannot_do_are_named(clip: Path, options: dict[str, Any], operator: str, named: str) -> None:
    import tricodec.dali

    with pytest.raises(ValueError, match=named):
        tricodec.dali.plan_arguments(tricodec.Plan(clip, **options), operator)
