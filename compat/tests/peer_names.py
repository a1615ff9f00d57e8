# SPDX-License-Identifier: Apache-2.0
"""The packages that tricodec has the names of, and torch; None where torch is missing.

With TRICODEC_TEST_ORIGINALS=1 the originals are tested, which shows that the tests are right.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from pathlib import Path
from typing import Any

import media
import numpy as np
import tricodec

try:
    import torch
except ImportError:  # the tests carry the mark needs_torch
    torch = None  # type: ignore[assignment]

ORIGINALS = os.environ.get("TRICODEC_TEST_ORIGINALS", "") not in ("", "0")


def _torchcodec() -> Any:
    if torch is None:
        return None
    if ORIGINALS:
        import torchcodec
    else:
        from tricodec_compat import torchcodec
    return torchcodec


def _decord() -> Any:
    if ORIGINALS:
        import decord
    else:
        from tricodec_compat import decord
    return decord


torchcodec = _torchcodec()
decord = _decord()


@functools.cache
def _same_ffmpeg() -> bool:
    """Whether the ffmpeg command is of the version that decodes here."""
    build = re.search(r"^libavcodec: (\d+\.\d+)", tricodec.build_info(), re.MULTILINE)
    shown = re.search(r"libavcodec\s+(\d+)\.\s*(\d+)", media.ffmpeg("-version").decode())
    assert build is not None
    assert shown is not None
    return build[1] == f"{shown[1]}.{shown[2]}"


def assert_same_pixels(pixels: Any, expected: np.ndarray[Any, Any], bound: int = 0) -> None:
    """Equal, or within `bound`, where the ffmpeg command has the libraries that decode here; else within 3 of 255."""
    actual = pixels.numpy() if hasattr(pixels, "numpy") else np.asarray(pixels)
    assert actual.shape == expected.shape
    if not _same_ffmpeg():
        bound = 3 * (257 if expected.dtype == np.uint16 else 1)
    assert np.abs(actual.astype(np.int64) - expected).max(initial=0) <= bound


def ffmpeg_rgb(path: Path, *, filters: str = "", deep: bool = False) -> np.ndarray[Any, Any]:
    """Every frame of the first video as ffmpeg converts it to rgb24 or rgb48, [N, H, W, 3], not rotated."""
    stream = media.ffprobe(path, "-select_streams v:0 -show_entries stream=width,height")["streams"][0]
    height, width = stream["height"], stream["width"]
    sized = re.search(r"scale=(\d+):(\d+)", filters)
    if sized is not None:
        width, height = int(sized[1]), int(sized[2])
    options = ("-vf", filters) if filters else ()
    frames = media.ffmpeg_frames(path, "rgb48le" if deep else "rgb24", output_options=options)
    data = np.frombuffer(b"".join(frames), np.uint16 if deep else np.uint8)
    return data.reshape(-1, height, width, 3)


def digest(tensor: Any) -> str:
    """An MD5 of the elements in order."""
    return hashlib.md5(np.ascontiguousarray(tensor).tobytes(), usedforsecurity=False).hexdigest()
