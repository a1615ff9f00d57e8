# SPDX-License-Identifier: Apache-2.0
"""Streams with frame cropping or a conformance window, and their pictures: those of the whole stream, cut by numpy."""

from __future__ import annotations

import dataclasses
import functools
import os
from pathlib import Path

import media
import numpy as np

# Whole macroblocks, also of a field, so that nothing is cropped but what is asked for; enough for NVDEC after that.
WIDTH, HEIGHT = 256, 224
NUM_FRAMES = 6

# Left, right, top, bottom, in pixels. All formats can have the first ones: by 2 across, by 4 down for coded fields.
OF_ONE_SIDE = [(2, 0, 0, 0), (0, 2, 0, 0), (0, 0, 4, 0), (0, 0, 0, 4)]
OF_ALL = (62, 34, 8, 44)
BY_TWO_LINES = (4, 2, 2, 6)
OF_422 = (6, 4, 3, 5)
OF_444 = (13, 7, 5, 3)


@dataclasses.dataclass(frozen=True)
class Kind:
    """How a stream is coded."""

    codec: str
    pix_fmt: str
    interlaced: bool = False

    @property
    def name(self) -> str:
        """For ids of tests and names of files."""
        return f"{self.codec}-{self.pix_fmt}" + ("-interlaced" if self.interlaced else "")

    @property
    def crops(self) -> list[tuple[int, int, int, int]]:
        """Those that the format can have; one side alone where how it is coded decides, not how a sample is stored."""
        if self.interlaced or self.pix_fmt == "yuv420p":
            return [*OF_ONE_SIDE, OF_ALL]
        return (
            [OF_ALL, OF_444] if "444" in self.pix_fmt else [OF_ALL, OF_422 if "422" in self.pix_fmt else BY_TWO_LINES]
        )


KINDS = [
    *(Kind("h264", f"yuv{sampling}") for sampling in ("420p", "422p10le", "444p")),
    Kind("h264", "yuv420p", interlaced=True),
    *(Kind("hevc", f"yuv{sampling}") for sampling in ("420p", "422p", "444p10le")),
]


@functools.cache
def whole(kind: Kind) -> Path:
    """The stream before it is cropped."""
    path = media.CACHE / "cropped" / f"{kind.name}.mkv"
    if path.is_file():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    x264 = "keyint=4:bframes=2" + (":tff=1" if kind.interlaced else "")
    x265 = "keyint=4:bframes=2:pools=1:frame-threads=1:log-level=error"
    encoder = {"h264": ["libx264", "-x264-params", x264], "hevc": ["libx265", "-x265-params", x265]}[kind.codec]
    unfinished = path.with_name(f"unfinished-{os.getpid()}-{path.name}")  # another process may make the same
    media.ffmpeg(
        *("-f", "lavfi", "-i", f"testsrc2=size={WIDTH}x{HEIGHT}:rate=25", "-frames:v", str(NUM_FRAMES)),
        *("-pix_fmt", kind.pix_fmt, "-threads", "1", "-preset", "ultrafast", "-c:v", *encoder, str(unfinished)),
    )
    unfinished.replace(path)
    return path


def cropped(kind: Kind, crop: tuple[int, int, int, int], folder: Path, suffix: str = "") -> Path:
    """The stream with these offsets in its sequence parameter sets; `suffix` names a container."""
    sides = zip(("left", "right", "top", "bottom"), crop, strict=True)
    offsets = ":".join(f"crop_{side}={size}" for side, size in sides)
    path = folder / f"{kind.name}-{'-'.join(map(str, crop))}{suffix or '.' + kind.codec}"
    # By name: ffmpeg takes a picture of 256 to 511 bytes behind its length for a start code.
    annexb = "" if suffix in (".mp4", ".mkv") else f"{kind.codec}_mp4toannexb,"
    media.ffmpeg("-i", str(whole(kind)), "-c", "copy", "-bsf:v", f"{annexb}{kind.codec}_metadata={offsets}", str(path))
    return path


@functools.cache
def whole_frames(kind: Kind) -> list[bytes]:
    """The packed pictures of the stream before it is cropped, by ffmpeg."""
    frames = media.ffmpeg_frames(whole(kind))
    assert len(frames) == NUM_FRAMES
    return frames


def cut(kind: Kind, crop: tuple[int, int, int, int]) -> list[bytes]:
    """What is to be shown: each plane of each picture cut by numpy."""
    left, right, top, bottom = crop
    dtype = np.uint16 if "10" in kind.pix_fmt else np.uint8
    across = 1 if "444" in kind.pix_fmt else 2
    down = 2 if "420" in kind.pix_fmt else 1
    frames = []
    for packed in whole_frames(kind):
        samples = np.frombuffer(packed, dtype)
        shown = []
        for x, y in ((1, 1), (across, down), (across, down)):
            size = (WIDTH // x) * (HEIGHT // y)
            plane, samples = samples[:size].reshape(HEIGHT // y, WIDTH // x), samples[size:]
            shown.append(plane[top // y : (HEIGHT - bottom) // y, left // x : (WIDTH - right) // x].tobytes())
        frames.append(b"".join(shown))
    return frames


CASES = [(kind, crop) for kind in KINDS for crop in kind.crops]


def case_id(value: object) -> str:
    """For pytest.mark.parametrize."""
    if isinstance(value, Kind):
        return value.name
    assert isinstance(value, tuple)
    return "-".join(map(str, value))
