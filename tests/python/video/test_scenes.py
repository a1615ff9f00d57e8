# SPDX-License-Identifier: Apache-2.0
"""tricodec.video.scenes: the default threshold finds the cuts that ffmpeg's scene filter finds, and no others."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from media import ffmpeg
from tricodec.video.scenes import scene_cuts

SOURCES = ("testsrc2", "smptebars", "mandelbrot", "color=c=gray", "rgbtestsrc", "color=c=navy", "testsrc")


def ffmpegs_cuts(path: Path, least: float) -> list[float]:
    """The times of the frames that ``select=gt(scene,least)`` lets through, in seconds."""
    filters = f"select=gt(scene\\,{least}),showinfo"
    command = ["ffmpeg", "-nostdin", "-i", path, "-an", "-vf", filters, "-f", "null", "-"]
    log = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return [float(time) for time in re.findall(r"pts_time:([\d.]+)", log)]


def test_the_joints_of_different_pictures_are_cuts(tmp_path: Path) -> None:
    path = tmp_path / "joined.mp4"
    parts = [
        f"{source}{':' if '=' in source else '='}s=160x120:r=25,trim=end_frame={20 + i}[v{i}]"
        for i, source in enumerate(SOURCES)
    ]
    joined = "".join(f"[v{i}]" for i in range(len(SOURCES)))
    graph = ";".join([*parts, f"{joined}concat=n={len(SOURCES)}:v=1,format=yuv420p"])
    ffmpeg("-filter_complex", graph, "-c:v libx264 -crf 20", path)

    cuts = scene_cuts(path, device="cpu")

    joints = [sum(range(20, 20 + i)) for i in range(1, len(SOURCES))]
    # A mandelbrot begins with one picture of another kind.
    assert [number for number in cuts.frames.tolist() if number != joints[1] + 1] == joints
    assert set(ffmpegs_cuts(path, 0.4)) <= set(cuts.seconds.tolist())
