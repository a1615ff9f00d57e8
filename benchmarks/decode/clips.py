# SPDX-License-Identifier: Apache-2.0
"""The clips of the CPU's suites: made by the ffmpeg command line with fixed recipes, kept in build/bench-media.

They show real footage where the shared clips are there, and ffmpeg's test source with noise elsewhere.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.results import ROOT, Case

FOLDER = Path(os.environ.get("TRICODEC_BENCH_CACHE") or ROOT / "build" / "bench-media")
_REAL = "jellyfish_1080p.mkv"


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a clip is made: its size, its number of frames, ffmpeg's arguments for the encoder, and the container."""

    width: int
    height: int
    num_frames: int
    encoder: str
    suffix: str = "mp4"


_H264 = "-c:v libx264 -preset medium -crf 18 -g 60 -keyint_min 60 -sc_threshold 0 -bf 3"
_HEVC = (
    "-c:v libx265 -preset fast -crf 20 -tag:v hvc1 "
    "-x265-params keyint=30:min-keyint=30:scenecut=0:open-gop=1:log-level=error"
)
_AV1 = "-c:v libsvtav1 -preset 8 -crf 32 -g 30"
_VP9 = "-c:v libvpx-vp9 -deadline realtime -cpu-used 6 -row-mt 1 -b:v 8M -g 30"
RECIPES = {
    "h264_1080p": Recipe(1920, 1080, 300, _H264),
    "hevc_1080p": Recipe(1920, 1080, 120, _HEVC),
    "av1_1080p": Recipe(1920, 1080, 120, _AV1),
    "vp9_1080p": Recipe(1920, 1080, 120, _VP9, "webm"),
    "h264_720p": Recipe(1280, 720, 240, _H264),
    "h264_720p_groups_of_16": Recipe(1280, 720, 128, _H264.replace("60", "16")),
    "hevc_720p": Recipe(1280, 720, 120, _HEVC),
    "av1_720p": Recipe(1280, 720, 120, _AV1),
    "tiny": Recipe(320, 180, 60, "-c:v libx264 -preset veryfast -g 30"),
}


def ffmpeg(*arguments: str) -> None:
    """Runs the command line.

    Raises:
        subprocess.CalledProcessError: ffmpeg fails.
    """
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *arguments], check=True)


def _source(recipe: Recipe) -> list[str]:
    folder = Path(os.environ.get("TRICODEC_SHARED_CLIPS") or ROOT / "shared" / "clips")
    if recipe.height < 720 or not (folder / _REAL).is_file():
        # With this noise 1080p H.264 costs about as much to decode as the real footage.
        pattern = f"testsrc2=size={recipe.width}x{recipe.height}:rate=30,noise=alls=4:allf=t"
        return ["-f", "lavfi", "-i", pattern]
    filters = f"setpts=N/30/TB,scale={recipe.width}:{recipe.height}:flags=bicubic"
    return ["-stream_loop", "-1", "-i", str(folder / _REAL), "-map", "0:v:0", "-vf", filters, "-r", "30"]


def clip(name: str) -> Path:
    """The clip of that name, made on first use."""
    recipe = RECIPES[name]
    path = FOLDER / f"{name}.{recipe.suffix}"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"unfinished-{os.getpid()}-{path.name}")
        encode = ["-frames:v", str(recipe.num_frames), *recipe.encoder.split(), "-pix_fmt", "yuv420p"]
        ffmpeg(*_source(recipe), *encode, "-fflags", "+bitexact", str(unfinished))
        unfinished.replace(path)
    return path


def description(name: str) -> str:
    """What a results file says of a clip."""
    recipe = RECIPES[name]
    data = clip(name).read_bytes()
    facts = f"{recipe.width}x{recipe.height}, {recipe.num_frames} frames, {len(data)} bytes"
    return f"{facts}, SHA-256 {hashlib.sha256(data).hexdigest()}, {recipe.encoder}"


def facts(cases: Sequence[Case]) -> dict[str, str]:
    """Makes the clips of cases, and says what they are."""
    return {f"clip {name}": description(name) for name in dict.fromkeys(case.input for case in cases)}
