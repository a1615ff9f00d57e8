# SPDX-License-Identifier: Apache-2.0
"""plan= of DALI's operators, and the programs of the pages about DALI."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import tricodec
from dali_testing import decode
from media import REPOSITORY, generated

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
        ({"dtype": "bfloat16"}, "decode_video", "the plan has dtype bfloat16, which DALI does not have"),
        ({}, "transform", "operator is 'transform'; accepted: decode_video, read_video"),
    ],
)
def test_requests_that_dali_cannot_do_are_named(clip: Path, options: dict[str, Any], operator: str, named: str) -> None:
    import tricodec.dali

    with pytest.raises(ValueError, match=named):
        tricodec.dali.plan_arguments(tricodec.Plan(clip, **options), operator)


DOCS = REPOSITORY / "docs"
PAGES = [*sorted(DOCS.glob("reference/dali*.md")), DOCS / "howto/train_dali.md", DOCS / "howto/untrusted_data.md"]


@pytest.fixture(scope="module")
def documented() -> dict[str, Any]:
    """The names that the Python blocks of the pages define, one after another."""
    import tricodec.dali  # noqa: F401
    from nvidia.dali import fn, types

    names: dict[str, Any] = {"fn": fn, "types": types}
    for page in PAGES:
        for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
            exec(compile(block, str(page), "exec"), names)
    return names


def test_training_clips_example_reads_an_epoch(documented: dict[str, Any], tmp_path: Path) -> None:
    for directory, clip in (("cats", "h264_bframes.mp4"), ("dogs", "hevc.mp4"), ("dogs", "vp9.webm")):
        (tmp_path / directory).mkdir(exist_ok=True)
        (tmp_path / directory / clip).symlink_to(generated(clip))

    batches = documented["one_epoch"](str(tmp_path))

    # 50 frames hold three sequences of 15; 9 of them are two batches of 4 and one that is filled up.
    assert [batch[0].as_array().shape for batch in batches] == [(4, 8, 3, 112, 112)] * 3
    assert sorted(int(label) for batch in batches for label in batch[1].as_array().ravel())[:3] == [0, 0, 0]


def test_check_of_a_file_example_survives_what_the_file_does(
    documented: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no_video.mp4").write_bytes(b"no video")
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys, time\n"
        "if sys.orig_argv[-1] == 'crash.mp4': os.abort()\n"
        "if sys.orig_argv[-1] == 'hang.mp4': time.sleep(600)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    decodes = documented["decodes"]

    assert decodes(str(generated("h264_bframes.mp4")))
    assert not decodes(str(tmp_path / "no_video.mp4"))
    assert not decodes("crash.mp4")
    assert not decodes("hang.mp4", seconds=2)
