# SPDX-License-Identifier: Apache-2.0
"""Writing PNG files (ISO/IEC 15948) with nothing but zlib."""

from __future__ import annotations

import os
import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from tricodec._tricodec import OutputFile

_COLOR_TYPE = {1: 0, 3: 2}  # channels: grayscale, truecolor
_FILTER_UP = 2


def encode_png(image: npt.NDArray[Any], *, level: int = 6) -> bytes:
    """A picture as the bytes of a PNG file.

    Args:
        image: uint8, [H, W], [H, W, 1] (gray) or [H, W, 3] (RGB).
        level: zlib's, 0 (fast) to 9 (small).

    Raises:
        ValueError: for any other shape or dtype.
    """
    pixels = np.asarray(image)
    if pixels.ndim == 2:
        pixels = pixels[:, :, np.newaxis]
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] not in _COLOR_TYPE or 0 in pixels.shape:
        message = f"a PNG needs uint8 [H, W], [H, W, 1] or [H, W, 3], not {image.dtype} {list(image.shape)}"
        raise ValueError(message)
    height, width, channels = pixels.shape
    rows = np.ascontiguousarray(pixels).reshape(height, width * channels)
    filtered = np.empty((height, 1 + width * channels), np.uint8)
    filtered[:, 0] = _FILTER_UP
    filtered[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=filtered[1:, 1:])  # modulo 256, as the filter is defined

    header = struct.pack(">IIBBBBB", width, height, 8, _COLOR_TYPE[channels], 0, 0, 0)
    data = zlib.compress(filtered.tobytes(), level)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_png(path: str | os.PathLike[str], image: npt.NDArray[Any]) -> None:
    """Writes `encode_png(image)` to a file."""
    with OutputFile(path) as file:
        file.write(encode_png(image))
