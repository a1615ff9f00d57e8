# SPDX-License-Identifier: Apache-2.0
"""ContactSheet: small pictures of frames, which a notebook shows."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tricodec._host_arrays import asnumpy

if TYPE_CHECKING:
    import numpy.typing as npt

    from tricodec._tricodec import FrameReader

SHEET_FRAMES = 16
"""Frames of a sheet, if none are named."""


class ContactSheet:
    """Small pictures of frames in rows: `FrameReader.show` makes it.

    A notebook shows it with the number and time of each frame.

    Thread safety: safe, since it never changes.
    """

    def __init__(self, pictures: npt.NDArray[Any], captions: Sequence[str], columns: int | None = None) -> None:
        """Put pictures on a sheet.

        Args:
            pictures: uint8 RGB, [F, H, W, 3], at least one, in the memory of any device.
            captions: a text for each.
            columns: pictures a row; None makes about as many rows as columns.

        Raises:
            ValueError: there is no picture.
        """
        from tricodec._display.pictures import compose

        if len(pictures) == 0:
            raise ValueError("a contact sheet needs at least one frame; name some")
        self._pictures = asnumpy(pictures)
        self._captions = list(captions)
        self._pixels = compose(self._pictures, columns)

    @property
    def pixels(self) -> npt.NDArray[np.uint8]:
        """The sheet, uint8 RGB, [H, W, 3], in host memory."""
        return self._pixels

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sheet to a PNG file, which has its name when it is whole.

        Raises:
            ImportError: Pillow is not installed.
            OSError: the file cannot be written.
        """
        from tricodec._display.pictures import write_png

        write_png(path, self._pixels)

    def __len__(self) -> int:
        """Number of frames."""
        return len(self._pictures)

    def __repr__(self) -> str:
        height, width, _ = self._pixels.shape
        return f"<tricodec.ContactSheet of {len(self)} frames, {width}x{height} pixels>"

    def _repr_png_(self) -> bytes:
        from tricodec._display.pictures import encode_png

        return encode_png(self._pixels)

    def _repr_html_(self) -> str:
        from html import escape

        from tricodec._display.pictures import encode_png

        figures = [
            '<figure style="display:inline-block;margin:2px">'
            f'<img src="data:image/png;base64,{base64.b64encode(encode_png(picture)).decode()}">'
            f'<figcaption style="font-size:small">{escape(caption)}</figcaption></figure>'
            for picture, caption in zip(self._pictures, self._captions, strict=True)
        ]
        return "<div>" + "".join(figures) + "</div>"


def sheet_of_reader(
    reader: FrameReader, indices: Any, size: tuple[int, int] | None, columns: int | None
) -> ContactSheet:
    """The sheet of frames of a reader; without numbers of some across the video."""
    from tricodec._display.pictures import evenly_spaced, thumbnail_size

    if indices is None:
        indices = evenly_spaced(len(reader), SHEET_FRAMES)
    elif isinstance(indices, slice):
        indices = range(*indices.indices(len(reader)))
    numbers = [int(number) % len(reader) if -len(reader) <= number < 0 else int(number) for number in indices]
    if not numbers:
        raise ValueError("show() needs at least one frame; name some, or none for frames across the video")
    pictures = reader.batch(numbers, size=size or thumbnail_size(reader[numbers[0]]))
    times = reader.pts_seconds
    captions = [f"{number}: {times[number]:.3f} s" for number in numbers]
    return ContactSheet(pictures, captions, columns)


def sheet_of_batch(frames: Any, captions: Sequence[str]) -> ContactSheet:
    """The sheet of some frames of a batch, [F, H, W, C] or [F, C, H, W].

    Values that are no pixels, such as normalized ones, are stretched: the least is black and the greatest white.
    """
    from tricodec._display.pictures import THUMBNAIL_HEIGHT, evenly_spaced, to_image

    chosen = evenly_spaced(len(frames), SHEET_FRAMES)
    some = [frames[number] for number in chosen]
    array = np.stack([asnumpy(each) for each in some])
    if array.shape[-1] not in (1, 3) and array.shape[1] in (1, 3):
        array = array.transpose(0, 2, 3, 1)
    if array.ndim != 4 or array.shape[-1] not in (1, 3):
        raise ValueError(f"frames of shape {list(frames.shape)} are no pictures; a layout of HWC or CHW is")
    if array.dtype != np.uint8:
        values = array.astype(np.float32)
        least, greatest = float(values.min()), float(values.max())
        array = ((values - least) * (255 / max(greatest - least, 1e-9))).round().astype(np.uint8)
    if array.shape[-1] == 1:
        array = np.repeat(array, 3, axis=-1)
    height, width = array.shape[1:3]
    if height > THUMBNAIL_HEIGHT:
        small = (max(1, round(width * THUMBNAIL_HEIGHT / height)), THUMBNAIL_HEIGHT)
        array = np.stack([np.asarray(to_image(picture).resize(small)) for picture in array])
    return ContactSheet(array, [captions[number] for number in chosen])
