# SPDX-License-Identifier: Apache-2.0
"""Pictures in a terminal: kitty's graphics, sixels, or half blocks of color.

Without a terminal, and in one that is not known, half blocks are taken, which every terminal with colors shows.
"""

from __future__ import annotations

import base64
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tricodec._display.pictures import encode_png, to_image

WAYS = ("kitty", "sixel", "blocks")
_KITTY_CHUNK = 4096  # the most bytes of base64 in one escape sequence of kitty's protocol
_SIXEL_COLORS = 256
_CELL_PIXELS = 10  # width of a character, as most terminals have it


def way_of(environment: Mapping[str, str]) -> str:
    """The best of `WAYS` for a terminal by its environment variables; TRICODEC_PREVIEW names one itself.

    Raises:
        ValueError: TRICODEC_PREVIEW names none of them.
    """
    asked = environment.get("TRICODEC_PREVIEW", "")
    if asked:
        if asked not in WAYS:
            raise ValueError(f"TRICODEC_PREVIEW={asked} is not one of {', '.join(WAYS)}")
        return asked
    terminal, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "")
    if environment.get("TMUX") or terminal.startswith(("screen", "tmux")):
        return "blocks"  # which hand no other pictures on
    if "kitty" in terminal or "KITTY_WINDOW_ID" in environment or program in ("WezTerm", "ghostty"):
        return "kitty"
    if "sixel" in terminal or terminal in ("foot", "mlterm", "yaft-256color") or program in ("mintty", "iTerm.app"):
        return "sixel"
    return "blocks"


def preview(picture: npt.NDArray[Any], way: str | None = None, columns: int | None = None) -> str:
    """The escape sequences that show a picture, with a newline at the end.

    Args:
        picture: uint8, [H, W, 3].
        way: one of `WAYS`; None is `way_of` the environment.
        columns: characters of a line; None is the terminal's. A wider picture is made smaller.
    """
    way = way or (way_of(os.environ) if sys.stdout.isatty() or "TRICODEC_PREVIEW" in os.environ else "blocks")
    columns = columns or shutil.get_terminal_size().columns
    most = columns if way == "blocks" else columns * _CELL_PIXELS
    height, width = picture.shape[:2]
    if width > most:
        image = to_image(picture).resize((most, max(1, round(height * most / width))))
        picture = np.asarray(image)
    show = {"kitty": _kitty, "sixel": _sixel, "blocks": _blocks}[way]
    return "".join(show(picture)) + "\n"


def _kitty(picture: npt.NDArray[Any]) -> Iterator[str]:
    data = base64.b64encode(encode_png(picture)).decode()
    chunks = [data[start : start + _KITTY_CHUNK] for start in range(0, len(data), _KITTY_CHUNK)]
    for number, chunk in enumerate(chunks):
        first = "a=T,f=100," if number == 0 else ""
        yield f"\x1b_G{first}m={int(number < len(chunks) - 1)};{chunk}\x1b\\"


def _sixel(picture: npt.NDArray[Any]) -> Iterator[str]:
    """Bands of six rows: for each color of a band a line of characters, and a bit for each row of it."""
    image = to_image(picture).quantize(_SIXEL_COLORS)
    colors = np.frombuffer(image.getpalette("RGB") and bytes(image.getpalette("RGB")), np.uint8).reshape(-1, 3)
    pixels = np.asarray(image)
    yield f'\x1bPq"1;1;{pixels.shape[1]};{pixels.shape[0]}'
    for number, color in enumerate(colors):
        red, green, blue = (round(int(value) * 100 / 255) for value in color)
        yield f"#{number};2;{red};{green};{blue}"
    weights = 1 << np.arange(6)
    for top in range(0, pixels.shape[0], 6):
        band = pixels[top : top + 6]
        for number in np.unique(band):
            bits = ((band == number) * weights[: len(band), np.newaxis]).sum(axis=0)
            yield f"#{number}" + "".join(map(chr, (bits + 63).tolist())) + "$"
        yield "-"
    yield "\x1b\\"


def _blocks(picture: npt.NDArray[Any]) -> Iterator[str]:
    """Two rows of pixels in a line: the upper one is the color of a half block, the lower one that behind it."""
    if picture.shape[0] % 2:
        picture = np.concatenate([picture, np.zeros_like(picture[:1])])
    lines = []
    for upper, lower in zip(picture[::2].tolist(), picture[1::2].tolist(), strict=True):
        cells = [
            f"\x1b[38;2;{';'.join(map(str, top))};48;2;{';'.join(map(str, bottom))}m\u2580"
            for top, bottom in zip(upper, lower, strict=True)
        ]
        lines.append("".join(cells) + "\x1b[0m")
    yield "\n".join(lines)
