# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows of tricodec's objects, and what it needs for that."""

from __future__ import annotations

import io
import subprocess
import sys
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


def test_a_frame_is_its_upright_picture() -> None:
    path = generated("h264_rot90.mp4")
    with tricodec.FrameReader(path) as reader:
        shown = pixels_of(reader[3]._repr_png_())

    assert np.array_equal(shown, tricodec.decode_video(path, start=3, count=1, device="cpu").frames[0])


def test_show_has_the_frames() -> None:
    with tricodec.FrameReader(generated("h264_bframes.mp4")) as reader:
        shown = np.asarray(reader.show([0, 25, -1], size=(18, 32), columns=3))
        expected = tricodec.asnumpy(reader.batch([0, 25, 49], size=(18, 32)))

        assert reader.show(slice(0, 10, 5), size=(18, 32)).size == (4 + 2 * 36, 4 + 22)
        assert reader.show(size=(18, 32)).size == (4 + 4 * 36, 4 + 4 * 22), "16 frames across the video"
    assert np.array_equal(shown[4:22, 4 + 36 : 4 + 36 + 32], expected[1])


@pytest.mark.parametrize("options", [{}, {"color": "gray"}])
def test_a_batch_of_pictures_shows_its_frames(options: dict[str, Any]) -> None:
    video = tricodec.decode_video(generated("h264_bframes.mp4"), indices=[0, 30], size=(18, 32), **options)

    shown = pixels_of(video._repr_png_() or b"")

    assert np.array_equal(
        shown[4:22, 4 + 36 : 4 + 36 + 32], np.broadcast_to(tricodec.asnumpy(video.frames[1]), (18, 32, 3))
    )


@pytest.mark.parametrize("options", [{"dtype": "float16"}, {"layout": "CHW"}, {"layout": "HWC8"}])
def test_a_batch_of_other_numbers_shows_its_text(options: dict[str, Any]) -> None:
    assert tricodec.decode_video(generated("h264_bframes.mp4"), count=1, **options)._repr_png_() is None


def test_readers_and_probes_are_tables() -> None:
    path = generated("h264_audio.mp4")
    probe = tricodec.probe(path)._repr_html_()
    with tricodec.FrameReader(path) as reader:
        table = reader._repr_html_()
        engine = reader.engine

    assert all(text in probe for text in ("h264", "aac", "320x180 yuv420p", "48000 Hz"))
    assert engine in table.splitlines()[0]
    assert "aac" not in table
    assert "closed" in reader._repr_html_()


def test_names_of_files_are_no_markup(tmp_path: Path) -> None:
    path = tmp_path / "<b>a.mp4"
    path.write_bytes(generated("h264_bframes.mp4").read_bytes())

    assert "<b>" not in tricodec.probe(path)._repr_html_()


@pytest.mark.parametrize(
    ("missing", "package", "call"),
    [
        ("PIL", "pillow", "tricodec.FrameReader(sys.argv[1])[0]._repr_png_()"),
        ("argcomplete", "argcomplete", "cli.main(['completion', '--debug', 'bash'])"),
    ],
)
def test_a_missing_package_is_named_with_its_remedy(missing: str, package: str, call: str) -> None:
    code = f"import sys; sys.modules['{missing}'] = None\nimport tricodec\nfrom tricodec import cli\n{call}"
    command = [sys.executable, "-c", code, str(generated("h264_bframes.mp4"))]

    result = subprocess.run(command, capture_output=True, text=True, check=False)

    assert result.stderr.splitlines()[-1].startswith("ImportError: ")
    assert result.stderr.splitlines()[-1].endswith(f"run: pip install {package}")


def test_a_profile_is_a_table() -> None:
    with tricodec.Profiler() as profiler:
        tricodec.decode_video(generated("h264_bframes.mp4"), count=4, device="cpu")

    assert "decode" in profiler._repr_html_()
