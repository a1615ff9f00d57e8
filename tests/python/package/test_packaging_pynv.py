# SPDX-License-Identifier: Apache-2.0
"""The wheels for names of NVIDIA's packages: metadata named PyNvVideoCodec, and the module nvidia.nvcomp."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import media
import pytest
import tricodec
from packaging.version import Version
from programs import printed_by

TOOL = media.REPOSITORY / "tools/make_pynv_wheel.py"


def make_empty_wheel(folder: Path, name: str, version: str, *requirements: str) -> None:
    """A wheel of metadata only, for pip's resolver."""
    information = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {requirement}\n" for requirement in requirements)
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{information}/METADATA", metadata)
        archive.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{information}/RECORD", "")


def pip_install(folder: Path, target: Path, *requirements: str) -> subprocess.CompletedProcess[str]:
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-index"]
    return subprocess.run(
        [*pip, "--find-links", folder, "--target", target, *requirements], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel, one of tricodec without its files, and those of two programs."""
    folder = tmp_path_factory.mktemp("wheels")
    subprocess.run([sys.executable, TOOL, "--output", folder], check=True)
    make_empty_wheel(folder, "tricodec", tricodec.__version__)
    make_empty_wheel(folder, "program", "1.0", "PyNvVideoCodec>=2.1")
    make_empty_wheel(folder, "future_program", "1.0", "PyNvVideoCodec>=3")
    return folder


def test_a_requirement_of_the_original_is_met_by_the_wheel_and_tricodec(wheels: Path, tmp_path: Path) -> None:
    result = pip_install(wheels, tmp_path, "program")

    assert result.returncode == 0, result.stderr
    code = "from importlib.metadata import version; print(version('PyNvVideoCodec'), version('tricodec'))"
    printed = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    pynv, ours = printed.stdout.split()
    assert (Version(pynv).public, Version(pynv).local, ours) == ("2.2.4", "tricodec", tricodec.__version__)


def test_nvidias_own_nvcomp_is_left_alone(tmp_path: Path) -> None:
    make_empty_wheel(tmp_path, "nvidia_nvcomp_cu13", "5.3.0")
    assert pip_install(tmp_path, tmp_path / "site", "nvidia-nvcomp-cu13").returncode == 0
    program = "import runpy, sys; print(runpy.run_path(sys.argv[1])['nvidias_nvcomp']())"
    assert printed_by(program, TOOL, PYTHONPATH=str(tmp_path / "site")) == "nvidia-nvcomp-cu13\n"
    assert printed_by(program, TOOL) == "None\n"
