# SPDX-License-Identifier: Apache-2.0
"""Pictures that are shown or written by Pillow: frames, and sheets of many frames."""

from __future__ import annotations

import io
import math
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from tricodec._tricodec import DeviceArray, Frame, FrameReader, OutputFile, Transform
from tricodec.show import needed

_GAP = 4
_BACKGROUND = 24
THUMBNAIL_HEIGHT = 144
SHEET_FRAMES = 16
_MOST_PIXELS = 1 << 20
_LARGEST_SHEET = 1600


def to_image(picture: Any) -> Any:
    """An array of NumPy or DeviceArray, uint8, [H, W], [H, W, 1] (gray) or [H, W, 3] (RGB), as a picture of Pillow."""
    pixels = _in_host_memory(picture)
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    is_rgb = pixels.ndim == 3 and pixels.shape[2] == 3
    if pixels.dtype != np.uint8 or 0 in pixels.shape or not (is_rgb or pixels.ndim == 2):
        message = f"a picture is uint8 [H, W], [H, W, 1] or [H, W, 3], not {picture.dtype} {list(picture.shape)}"
        raise ValueError(message)
    return needed("PIL.Image", "pillow", "pictures").fromarray(np.ascontiguousarray(pixels))


def encode_png(picture: Any) -> bytes:
    """A picture, as in `to_image`, as the bytes of a PNG file."""
    file = io.BytesIO()
    to_image(picture).save(file, "png")
    return file.getvalue()


def write_png(path: str | os.PathLike[str], picture: Any) -> None:
    """Writes a picture, as in `to_image`, to a PNG file."""
    data = encode_png(picture)
    with OutputFile(path) as file:
        file.write(data)


def thumbnail_size(frame: Frame, height: int = THUMBNAIL_HEIGHT) -> tuple[int, int]:
    """(height, width) in pixels of a small picture with the proportions of the displayed frame."""
    ratio = frame.width / frame.height * float(frame.sample_aspect_ratio or 1)
    if frame.rotation % 180:
        ratio = 1 / ratio
    return height, max(1, round(height * ratio))


def evenly_spaced(num_frames: int, count: int) -> list[int]:
    """At most `count` frame numbers, each in the middle of its part of the video."""
    count = min(count, num_frames)
    return [(2 * part + 1) * num_frames // (2 * count) for part in range(count)]


def compose(pictures: Any, columns: int | None = None) -> npt.NDArray[Any]:
    """Puts pictures [F, H, W, 3] into rows, with gaps: [H', W', 3], by default about as many rows as columns."""
    pictures = _in_host_memory(pictures)
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


def show(reader: FrameReader, indices: Any, size: tuple[int, int] | None, columns: int | None) -> Any:
    """A sheet of frames of a reader, as a picture of Pillow; without numbers of some across the video."""
    if indices is None:
        indices = evenly_spaced(len(reader), SHEET_FRAMES)
    elif isinstance(indices, slice):
        indices = range(*indices.indices(len(reader)))
    if len(indices) == 0:
        raise ValueError("show() needs at least one frame; name some, or none for frames across the video")
    return to_image(compose(reader.batch(indices, size=size or thumbnail_size(reader[indices[0]])), columns))


def png_of_frame(frame: Frame) -> bytes:
    """The frame as it is displayed, made smaller if it has more than a million pixels, as a PNG file."""
    size = None
    if frame.width * frame.height > _MOST_PIXELS:
        size = thumbnail_size(frame, round(frame.height * (_MOST_PIXELS / (frame.width * frame.height)) ** 0.5))
    return encode_png(Transform(size=size)(frame))


def png_of_batch(frames: Any) -> bytes | None:
    """Some frames across a batch as one PNG file; None unless they are uint8 [F, H, W, 3] or [F, H, W, 1]."""
    if len(frames) == 0 or str(frames.dtype) != "uint8" or frames.shape[-1] not in (1, 3):
        return None
    some = np.stack([_in_host_memory(frames[number]) for number in evenly_spaced(len(frames), SHEET_FRAMES)])
    sheet = to_image(compose(some))
    sheet.thumbnail((_LARGEST_SHEET, _LARGEST_SHEET))
    return encode_png(np.asarray(sheet))


def _in_host_memory(array: Any) -> Any:
    return array.numpy() if isinstance(array, DeviceArray) else array
