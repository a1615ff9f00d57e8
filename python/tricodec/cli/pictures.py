# SPDX-License-Identifier: Apache-2.0
"""Pictures that commands write: PNG files (ISO/IEC 15948) with zlib only, and contact sheets of many frames."""

from __future__ import annotations

import math
import os
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import tricodec
from tricodec._tricodec import OutputFile

_COLOR_TYPE = {1: 0, 3: 2}  # channels: grayscale, truecolor
_FILTER_UP = 2


def encode_png(image: npt.NDArray[Any], *, level: int = 6) -> bytes:
    """A picture as the bytes of a PNG file.

    Args:
        image: uint8, [H, W], [H, W, 1] (gray) or [H, W, 3] (RGB).
        level: zlib's level, 0 (fast) to 9 (small).

    Raises:
        ValueError: the picture has another shape or dtype.
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


_GAP = 4
_BACKGROUND = 24
_THUMBNAIL_HEIGHT = 144


def thumbnail_size(frame: tricodec.Frame, height: int = _THUMBNAIL_HEIGHT) -> tuple[int, int]:
    """(height, width) in pixels of a small picture with the proportions of the displayed frame."""
    ratio = frame.width / frame.height * float(frame.sample_aspect_ratio or 1)
    if frame.rotation % 180:
        ratio = 1 / ratio
    return height, max(1, round(height * ratio))


def evenly_spaced(num_frames: int, count: int) -> list[int]:
    """At most `count` frame numbers, each in the middle of its part of the video."""
    count = min(count, num_frames)
    return [(2 * part + 1) * num_frames // (2 * count) for part in range(count)]


def compose(pictures: Sequence[npt.NDArray[Any]], columns: int | None = None) -> npt.NDArray[Any]:
    """Puts pictures of one size into rows, left to right, with gaps.

    Args:
        pictures: uint8 [H, W, 3] each, at least one.
        columns: pictures a row; None makes about as many rows as columns.

    Returns:
        uint8 [H', W', 3].
    """
    columns = columns or math.ceil(math.sqrt(len(pictures)))
    columns = min(columns, len(pictures))
    rows = math.ceil(len(pictures) / columns)
    height, width, _ = pictures[0].shape
    sheet = np.full((_GAP + rows * (height + _GAP), _GAP + columns * (width + _GAP), 3), _BACKGROUND, np.uint8)
    for number, picture in enumerate(pictures):
        top = _GAP + number // columns * (height + _GAP)
        left = _GAP + number % columns * (width + _GAP)
        sheet[top : top + height, left : left + width] = picture
    return sheet
