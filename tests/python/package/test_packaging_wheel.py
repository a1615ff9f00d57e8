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


# What each extra is for, in one line.
EXTRAS = {
    "cli": "import tricodec.show, PIL, rich, argcomplete",
    "compat": "import tricodec_compat",
    "nvcomp": "from nvidia import nvcomp; nvcomp.Codec(algorithm='LZ4', device='cpu').encode(b'bytes')",
    "dali": "import nvidia.dali",
    "triton": "import tricodec.triton.client, tritonclient.grpc, pytriton",
    "data": "import tricodec.data, pyarrow",
    "remote": "import tricodec.remote, fsspec, obstore",
    "ray": "import tricodec.data.ray, ray.data",
    "all": "import nvidia.dali, tricodec.triton.client, tritonclient.grpc, tricodec.data.ray, tricodec_compat, PIL",
}


@pytest.fixture(scope="module")
def wheel() -> Path:
    """The wheel of tricodec, beside those of the other distributions."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [media.REPOSITORY / "tools/make_wheel.sh", sys.executable]
    made = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    path = media.REPOSITORY / made.split()[-1]
    pip = [sys.executable, "-m", "pip", "--quiet", "wheel", "--no-build-isolation", "--no-deps"]
    sources = [media.REPOSITORY / folder for folder in ("compat", "packaging/nvcomp")]
    subprocess.run([*pip, "--wheel-dir", path.parent, *sources], check=True)
    return path


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, installed by pip, which refuses one that this machine is too old for."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, "-m", "pip", "--quiet", "install", "--target", folder, wheel], check=True)
    return folder


@pytest.mark.parametrize("extra", EXTRAS)
def test_extra_brings_what_it_is_for(wheel: Path, extra: str, tmp_path: Path) -> None:
    python = tmp_path / "bin/python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path], check=True)
    pip = [python, "-m", "pip", "--quiet", "install", "--find-links", wheel.parent, f"{wheel}[{extra}]"]
    subprocess.run(pip, check=True)

    subprocess.run([python, "-W", "ignore", "-c", EXTRAS[extra]], check=True, cwd=tmp_path, env={"PATH": "/nowhere"})


def test_installed_wheel_needs_nothing_that_not_every_linux_has(site: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    assert not {"PyNvVideoCodec", "nvidia"} & {path.name for path in site.iterdir()}
    for native in [path for path in (site / "tricodec").rglob("*.so*") if path.is_file()]:
        said = subprocess.run(["ldd", native], capture_output=True, text=True, check=True, env=environment).stdout
        outside = [line.strip() for line in said.splitlines() if str(site) not in line]

        assert not [line for line in outside if not EVERYWHERE.search(line)], native
    assert {"ffmpeg", "dav1d", "x264", "zstd"} <= {path.name for path in (site / "tricodec/licenses").iterdir()}


def test_pypi_shows_a_readme_whose_links_lead_somewhere(site: Path) -> None:
    (metadata,) = site.glob("tricodec-*.dist-info/METADATA")
    assert re.findall(r"\]\((?!https?:|#)[^)]*", metadata.read_text()) == []


def test_installed_wheel_decodes_as_ffmpeg_does(site: Path) -> None:
    clips = [media.generated(name) for name in CLIPS]
    command = [sys.executable, "-S", media.REPOSITORY / "tools/try_wheel.py", *clips]
    environment = {"PATH": "/nowhere", "PYTHONPATH": str(site)}
    said = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout

    assert json.loads(said)["decoded"] == {str(clip): media.ffmpeg_md5(clip) for clip in clips}
