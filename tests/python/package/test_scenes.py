# SPDX-License-Identifier: Apache-2.0
"""tricodec.scenes: the default threshold finds the cuts that ffmpeg's scene filter finds, and no others."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from media import SHARED_CLIPS
from tricodec.scenes import scene_cuts


def ffmpegs_cuts(path: Path, least: float) -> list[float]:
    """The times of the frames that ``select=gt(scene,least)`` lets through, in seconds."""
    filters = f"select=gt(scene\\,{least}),showinfo"
    command = ["ffmpeg", "-nostdin", "-i", path, "-an", "-vf", filters, "-f", "null", "-"]
    log = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return [float(time) for time in re.findall(r"pts_time:([\d.]+)", log)]


@pytest.mark.skipif(SHARED_CLIPS is None, reason="there are no shared clips")
@pytest.mark.parametrize(
    ("name", "softer"),
    [
("bikes.mp4", [3.04]),
("bbb_642x642_vp9.webm", []),
],
)  # fmt: skip
def test_the_cuts_of_real_clips_are_ffmpegs_and_a_softer_one(name: str, softer: list[float]) -> None:
    assert SHARED_CLIPS is not None
    path = SHARED_CLIPS / name
    found = scene_cuts(path, device="cpu").seconds.tolist()

    expected = sorted([*ffmpegs_cuts(path, 0.3), *softer])
    assert len(found) == len(expected)
    assert found == pytest.approx(expected, abs=0.08)
