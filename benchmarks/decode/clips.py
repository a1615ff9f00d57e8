# SPDX-License-Identifier: Apache-2.0
"""The clips of the benchmarks: made by the ffmpeg command line with fixed recipes, kept in build/bench-media.

The picture content is real footage where the shared clips are there, and ffmpeg's test source with noise elsewhere; the
results file says which, with the SHA-256 of every clip.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from benchmarks.environment import ROOT

CACHE = Path(os.environ.get("TRICODEC_BENCH_CACHE") or ROOT / "build" / "bench-media")
_REAL = "jellyfish_1080p.mkv"
_RATE = 30


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How one clip is made.

    Attributes:
        suffix: of the file, which names the container.
        size: (width, height).
        num_frames: how many.
        encoder: ffmpeg's arguments after the picture content.
        why: what the clip stands for.
    """

    suffix: str
    size: tuple[int, int]
    num_frames: int
    encoder: str
    why: str


def _x264(gop: int, crf: int = 18, preset: str = "medium") -> str:
    return f"-c:v libx264 -preset {preset} -crf {crf} -g {gop} -keyint_min {gop} -sc_threshold 0 -bf 3"


_X265 = "-c:v libx265 -preset fast -crf 20 -x265-params keyint=30:min-keyint=30:scenecut=0:open-gop=1:log-level=error"
_AV1 = "-c:v libsvtav1 -preset 8 -crf 32 -g 30"
_VP9 = "-c:v libvpx-vp9 -deadline realtime -cpu-used 6 -row-mt 1 -b:v 8M -g 30"
_FULL_HD = (1920, 1080)
_HD = (1280, 720)

RECIPES: dict[str, Recipe] = {
    "h264_1080p": Recipe("mp4", _FULL_HD, 300, _x264(60), "the chief clip: closed groups of 60 frames, 3 B-frames"),
    "h264_1080p_gop30": Recipe("mp4", _FULL_HD, 300, _x264(30), "a key frame a second"),
    "hevc_1080p": Recipe("mp4", _FULL_HD, 120, f"{_X265} -tag:v hvc1", "open groups: leading frames at every seek"),
    "av1_1080p": Recipe("mp4", _FULL_HD, 120, _AV1, "AV1 by SVT-AV1"),
    "vp9_1080p": Recipe("webm", _FULL_HD, 120, _VP9, "VP9, what DALI decodes on a CPU"),
    "h264_720p": Recipe("mp4", _HD, 240, _x264(60), "720p"),
    "hevc_720p": Recipe("mp4", _HD, 120, f"{_X265} -tag:v hvc1", "720p, open groups"),
    "av1_720p": Recipe("mp4", _HD, 120, _AV1, "720p by SVT-AV1"),
    "tiny": Recipe("mp4", (320, 180), 60, _x264(30, 28, "veryfast"), "proves that a benchmark starts"),
}


def real_footage() -> Path | None:
    """The shared clip that the content is taken from, or None."""
    named = os.environ.get("TRICODEC_SHARED_CLIPS")
    folders = [Path(named)] if named else [ROOT / "shared" / "clips", ROOT.parent / "shared" / "clips"]
    return next((folder / _REAL for folder in folders if (folder / _REAL).is_file()), None)


def content() -> str:
    """What the clips show, in words for the results file."""
    real = real_footage()
    return f"{_REAL}, SHA-256 {sha256(real)}" if real else "ffmpeg's testsrc2 with noise"


def _source(recipe: Recipe) -> list[str]:
    width, height = recipe.size
    real = real_footage()
    if real is None or recipe.size < _HD:
        # The weight of the noise was chosen so that 1080p H.264 costs about as much to decode as the real footage.
        pattern = f"testsrc2=size={width}x{height}:rate={_RATE},noise=alls=4:allf=t"
        return ["-f", "lavfi", "-i", pattern]
    filters = f"setpts=N/{_RATE}/TB" + ("" if recipe.size == _FULL_HD else f",scale={width}:{height}:flags=bicubic")
    return ["-stream_loop", "-1", "-i", str(real), "-map", "0:v:0", "-vf", filters, "-r", str(_RATE)]


def _command(recipe: Recipe) -> list[str]:
    encode = ["-frames:v", str(recipe.num_frames), *recipe.encoder.split(), "-pix_fmt", "yuv420p"]
    return ["ffmpeg", "-nostdin", "-v", "error", "-y", *_source(recipe), *encode, "-fflags", "+bitexact"]


def _key(recipe: Recipe) -> str:
    version = subprocess.run(["ffmpeg", "-version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]
    parts = [version, content(), *(part for part in _command(recipe) if part != str(real_footage()))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def clip(name: str) -> Path:
    """The clip of that name, made on first use.

    Raises:
        KeyError: if no recipe has the name.
        subprocess.CalledProcessError: if ffmpeg fails.
    """
    recipe = RECIPES.get(name)
    if recipe is None:
        message = f"no clip is called {name!r}; accepted: {', '.join(RECIPES)}"
        raise KeyError(message)
    path = CACHE / f"{name}-{_key(recipe)}.{recipe.suffix}"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"unfinished-{os.getpid()}-{path.name}")
        subprocess.run([*_command(recipe), str(unfinished)], check=True)
        unfinished.replace(path)
    return path


def clip_in(folder: Path, name: str) -> Path:
    """The clip in a folder, which may come from another machine; made there if it is missing."""
    path = folder / f"{name}.{RECIPES[name].suffix}"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(clip(name), path)
    return path


@functools.cache
def sha256(path: Path) -> str:
    """Of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def facts(name: str) -> str:
    """What the results file says of a clip."""
    recipe = RECIPES[name]
    path = clip(name)
    width, height = recipe.size
    said = f"{width}x{height}, {recipe.num_frames} frames, {path.stat().st_size} bytes, SHA-256 {sha256(path)}"
    return f"{said}, {recipe.encoder}"
