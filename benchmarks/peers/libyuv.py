# SPDX-License-Identifier: Apache-2.0
"""libyuv's conversion to RGB, called through ctypes: a limit for Transform."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable

import numpy as np

from peers import Job, contender
from peers.pyav import first_frames

_PATH = ctypes.util.find_library("yuv")
if _PATH is None:
    _MESSAGE = "no libyuv is installed (Debian: libyuv0)"
    raise ImportError(_MESSAGE)
_LIBRARY = ctypes.CDLL(_PATH)
# RAW is libyuv's name for the byte order R, G, B.
_TO_RGB = _LIBRARY.I420ToRAW
_TO_RGB.argtypes = [ctypes.c_void_p, ctypes.c_int] * 4 + [ctypes.c_int, ctypes.c_int]


def versions() -> dict[str, str]:
    """Of what does the work."""
    return {"libyuv": _PATH}


@contender("transform_rgb", "libyuv")
def transform_rgb(job: Job) -> Callable[[], int]:
    """Its fastest kernel to RGB, 8 bits of precision in the matrix."""
    pictures = [
        [np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size) for plane in frame.planes]
        for frame in first_frames(job)
    ]
    out = np.empty((len(pictures), job.height, job.width, 3), np.uint8)

    def once() -> int:
        for planes, slot in zip(pictures, out, strict=True):
            sources = [part for plane in planes for part in (plane.ctypes.data, plane.strides[0])]
            _TO_RGB(*sources, slot.ctypes.data, slot.strides[0], job.width, job.height)
        return len(pictures)

    return once
