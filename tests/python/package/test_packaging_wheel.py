# SPDX-License-Identifier: Apache-2.0
"""The wheel of `make wheel`: it brings what it needs, its terms too, and works where no FFmpeg is installed."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import media
import pytest

sys.path.insert(0, str(media.REPOSITORY / "tools"))

import try_wheel
from library_sources import SOURCES

pytestmark = pytest.mark.slow

# What manylinux takes for granted on every Linux (PEP 600), of what C and C++ programs use.
EVERYWHERE = re.compile(r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|z)\.so|ld-linux|linux-vdso")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, media.REPOSITORY / "tools/make_wheel.py", "--output", folder]
    subprocess.run(command, check=True)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, installed by pip, which refuses one that this machine is too old for."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "--quiet", "install", "--no-index", "--no-deps", "--target", folder, wheel]
    subprocess.run(pip, check=True)
    return folder


def test_installed_wheel_needs_nothing_that_not_every_linux_has(site: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    for native in [path for path in site.rglob("*.so*") if path.is_file()]:
        said = subprocess.run(["ldd", native], capture_output=True, text=True, check=True, env=environment).stdout
        outside = [line.strip() for line in said.splitlines() if str(site) not in line]

        assert not [line for line in outside if not EVERYWHERE.search(line)], native


def test_installed_wheel_decodes_encodes_and_compresses_with_its_own_libraries(site: Path) -> None:
    clip = media.generated("h264_bframes.mp4")

    facts = try_wheel.facts_of(platform.machine(), site, [clip])

    (ffmpeg,) = (source for source in SOURCES if source.name == "ffmpeg")
    assert f"ffmpeg: {ffmpeg.version}" in facts["build"]
    assert facts["decoded"] == {clip.name: media.ffmpeg_md5(clip)}
    assert facts["encoded"] == {"h264": 8, "hevc": 8, "av1": 8}
    assert len(facts["restored"]) == 6
    assert all(facts["restored"].values())
    assert facts["stream"] == [1, 3, 240, 320]
    codecs = re.compile(r"/lib(av|sw|x26|Svt|dav1d|vpx|opus|mp3lame|lz4|zstd|snappy|deflate|isal|hwy)")
    mapped = [path for path in facts["mapped"] if codecs.search(path)]
    assert mapped
    assert [path for path in mapped if not path.startswith(str(site))] == []
