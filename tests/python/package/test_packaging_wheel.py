# SPDX-License-Identifier: Apache-2.0
"""The wheel of `make wheel`: it brings what it needs, its terms too, and works where no FFmpeg is installed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import media
import pytest

pytestmark = pytest.mark.slow

# What manylinux takes for granted on every Linux (PEP 600), of what C and C++ programs use.
EVERYWHERE = re.compile(r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|z)\.so|ld-linux|linux-vdso")
CLIPS = ["h264_bframes.mp4", "hevc.mp4", "av1.mp4", "vp9_odd.webm"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, installed by pip, which refuses one that this machine is too old for."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [media.REPOSITORY / "tools/make_wheel.sh", sys.executable]
    made = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "--quiet", "install", "--target", folder]
    subprocess.run([*pip, media.REPOSITORY / made.split()[-1]], check=True)
    return folder


def test_installed_wheel_needs_nothing_that_not_every_linux_has(site: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    for native in [path for path in (site / "tricodec").rglob("*.so*") if path.is_file()]:
        said = subprocess.run(["ldd", native], capture_output=True, text=True, check=True, env=environment).stdout
        outside = [line.strip() for line in said.splitlines() if str(site) not in line]

        assert not [line for line in outside if not EVERYWHERE.search(line)], native
    assert {"ffmpeg", "dav1d", "x264", "zstd"} <= {path.name for path in (site / "tricodec/licenses").iterdir()}


def test_installed_wheel_decodes_as_ffmpeg_does(site: Path) -> None:
    clips = [media.generated(name) for name in CLIPS]
    command = [sys.executable, "-S", media.REPOSITORY / "tools/try_wheel.py", *clips]
    environment = {"PATH": "/nowhere", "PYTHONPATH": str(site)}
    said = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout

    assert json.loads(said)["decoded"] == {str(clip): media.ffmpeg_md5(clip) for clip in clips}
