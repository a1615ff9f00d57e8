# SPDX-License-Identifier: Apache-2.0
"""`tricodec frames --preview`: pictures in a terminal."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable
from pathlib import Path

import media
import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image
from tricodec._display.terminal import preview, way_of

Run = Callable[..., tuple[int, str, str]]

PICTURE = np.zeros((13, 20, 3), np.uint8)
PICTURE[:7, 10:] = (255, 0, 0)
PICTURE[7:, :10] = (0, 51, 255)


def from_kitty(text: str) -> npt.NDArray[np.uint8]:
    """What a terminal shows of kitty's graphics protocol with PNG data."""
    parts = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", text)
    assert [dict(pair.split("=") for pair in keys.split(","))["m"] for keys, _ in parts][-1] == "0"
    assert "a=T,f=100" in parts[0][0]
    with Image.open(io.BytesIO(base64.b64decode("".join(data for _, data in parts)))) as picture:
        return np.asarray(picture)


def from_sixel(text: str) -> npt.NDArray[np.uint8]:
    """What a terminal shows of sixels (DEC STD 070): bands of six rows, a character for a column of them."""
    body = re.fullmatch(r'\x1bPq"1;1;(\d+);(\d+)(.*)\x1b\\\n', text, re.DOTALL)
    assert body is not None
    picture = np.zeros((int(body[2]), int(body[1]), 3), np.uint8)
    colors: dict[int, list[int]] = {}
    color, top, column = 0, 0, 0
    for number, definition, control, character in re.findall(r"#(\d+)(;2;\d+;\d+;\d+)?|([$-])|([?-~])", body[3]):
        if number:
            color = int(number)
            if definition:
                colors[color] = [round(int(value) * 255 / 100) for value in definition.split(";")[2:]]
        elif control:
            top, column = top + 6 * (control == "-"), 0
        else:
            for row in range(6):
                if (ord(character) - 63) >> row & 1:
                    picture[top + row, column] = colors[color]
            column += 1
    return picture


def from_blocks(text: str) -> npt.NDArray[np.uint8]:
    """What a terminal shows of half blocks with colors in front and behind."""
    rows: list[list[list[int]]] = []
    for line in text.rstrip("\n").split("\n"):
        cells = re.findall(r"\x1b\[38;2;(\d+);(\d+);(\d+);48;2;(\d+);(\d+);(\d+)m▀", line)
        rows += [[list(map(int, cell[:3])) for cell in cells], [list(map(int, cell[3:])) for cell in cells]]
    return np.array(rows, np.uint8)


@pytest.mark.parametrize(("way", "shown"), [("kitty", from_kitty), ("sixel", from_sixel), ("blocks", from_blocks)])
def test_a_terminal_shows_the_picture(way: str, shown: Callable[[str], npt.NDArray[np.uint8]]) -> None:
    assert np.array_equal(shown(preview(PICTURE, way, 80))[:13], PICTURE)


def test_a_wide_picture_is_made_as_wide_as_the_terminal() -> None:
    assert from_blocks(preview(np.zeros((50, 200, 3), np.uint8), "blocks", 40)).shape == (10, 40, 3)


@pytest.mark.parametrize(
    ("environment", "way"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "foot"}, "sixel"),
        ({"TERM": "xterm-256color"}, "blocks"),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/tmux"}, "blocks"),
        ({"TERM": "xterm-256color", "TRICODEC_PREVIEW": "sixel"}, "sixel"),
    ],
)
def test_the_terminal_decides(environment: dict[str, str], way: str) -> None:
    assert way_of(environment) == way


def test_a_terminal_without_colors_gets_no_escape_sequences(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)

    status, out, err = run("frames", media.generated("h264_bframes.mp4"), "--preview", "--count", 1)

    assert (status, out) == (1, "")
    assert "write them with --contact-sheet FILE" in err


def test_preview_shows_a_contact_sheet(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRICODEC_PREVIEW", "kitty")
    monkeypatch.setenv("COLUMNS", "200")
    clip = media.generated("h264_bframes.mp4")

    status, out, _ = run("frames", clip, "--preview", "--size", "32x18")
    run("frames", clip, "--contact-sheet", tmp_path / "sheet.png", "--size", "32x18")

    assert status == 0
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert np.array_equal(from_kitty(out), np.asarray(sheet))
