# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows of tricodec's objects, and what it needs for that."""

from __future__ import annotations

import io
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tricodec
from media import generated
from PIL import Image


def pixels_of(png: bytes) -> npt.NDArray[Any]:
    with Image.open(io.BytesIO(png)) as picture:
        return np.asarray(picture)


class Page(HTMLParser):
    """The texts of a page's cells, captions and figures, and the number of its pictures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.num_pictures = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.num_pictures += tag == "img"

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())


def test_a_frame_is_its_upright_picture() -> None:
    path = generated("h264_rot90.mp4")
    with tricodec.FrameReader(path) as reader:
        shown = pixels_of(reader[3]._repr_png_())

    assert np.array_equal(shown, tricodec.decode_video(path, start=3, count=1, device="cpu").frames[0])


def test_show_has_the_frames_their_numbers_and_times(tmp_path: Path) -> None:
    with tricodec.FrameReader(generated("h264_bframes.mp4")) as reader:
        sheet = reader.show([0, 25, -1], size=(18, 32), columns=3)
        expected = tricodec.asnumpy(reader.batch([0, 25, 49], size=(18, 32)))
        page = Page(sheet._repr_html_())
        sheet.save(tmp_path / "sheet.png")

        assert len(reader.show()) == 16
        assert len(reader.show(slice(0, 10, 5))) == 2
    assert page.num_pictures == 3
    assert page.texts == ["0: 0.000 s", "25: 1.000 s", "49: 1.960 s"]
    assert np.array_equal(sheet.pixels[4:22, 4 + 36 : 4 + 36 + 32], expected[1])
    assert np.array_equal(pixels_of((tmp_path / "sheet.png").read_bytes()), sheet.pixels)
    assert np.array_equal(pixels_of(sheet._repr_png_()), sheet.pixels)


@pytest.mark.parametrize(
    "options", [{}, {"layout": "CHW"}, {"dtype": "float32", "mean": [0.5] * 3, "std": [0.2] * 3}, {"color": "gray"}]
)
def test_a_batch_shows_its_frames(options: dict[str, Any]) -> None:
    video = tricodec.decode_video(generated("h264_bframes.mp4"), indices=[0, 30], size=(18, 32), **options)

    page = Page(video._repr_html_() or "")

    assert page.num_pictures == 2
    assert page.texts == ["0: 0.000 s", "30: 1.200 s"]


def test_readers_and_probes_are_tables() -> None:
    path = generated("h264_audio.mp4")
    probe = Page(tricodec.probe(path)._repr_html_()).texts
    with tricodec.FrameReader(path) as reader:
        table = Page(reader._repr_html_()).texts
        engine = reader.engine
    closed = Page(reader._repr_html_()).texts

    assert {"h264", "aac", "320x180 yuv420p", "48000 Hz"} <= set(probe)
    assert engine in table[0]
    assert "aac" not in table
    assert "closed" in closed


def test_names_of_files_are_no_markup(tmp_path: Path) -> None:
    path = tmp_path / "<b>a.mp4"
    path.write_bytes(generated("h264_bframes.mp4").read_bytes())

    assert "<b>" not in tricodec.probe(path)._repr_html_()


@pytest.mark.parametrize(
    ("missing", "package", "call"),
    [
        ("PIL", "pillow", "tricodec.FrameReader(sys.argv[1])[0]._repr_png_()"),
        ("rich", "rich", "cli.main(['probe', '--debug', sys.argv[1]])"),
        ("argcomplete", "argcomplete", "cli.main(['completion', '--debug', 'bash'])"),
    ],
)
def test_a_missing_package_is_named_with_its_remedy(missing: str, package: str, call: str) -> None:
    code = f"import sys; sys.modules['{missing}'] = None\nimport tricodec\nfrom tricodec import cli\n{call}"
    command = [sys.executable, "-c", code, str(generated("h264_bframes.mp4"))]

    result = subprocess.run(command, capture_output=True, text=True, check=False)

    assert result.stderr.splitlines()[-1].startswith("ImportError: ")
    assert result.stderr.splitlines()[-1].endswith(f"run: pip install {package}")


def test_plans_and_profiles_have_a_bar_for_each_time() -> None:
    path = generated("h264_bframes.mp4")
    plan = tricodec.Plan(path, count=4, size=(18, 32), tune=True, workers=1)
    with tricodec.Profiler() as profiler:
        plan.read(path)

    html = profiler._repr_html_()
    assert {"decode", "transform"} <= set(Page(html).texts)
    assert html.count("linear-gradient") >= len(profiler.stages)
    html = plan._repr_html_()
    assert plan.choices.engine in Page(html).texts
    assert html.count("linear-gradient") == len(plan.measurements)
    assert "nothing measured" in tricodec.Profiler()._repr_html_()
