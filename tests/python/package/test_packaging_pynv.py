# SPDX-License-Identifier: Apache-2.0
"""The wheels for names of NVIDIA's packages: metadata named PyNvVideoCodec, and the module nvidia.nvcomp."""

from __future__ import annotations

import importlib.util
import os
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


def test_a_requirement_of_a_later_original_is_not_met(wheels: Path, tmp_path: Path) -> None:
    result = pip_install(wheels, tmp_path, "future_program")

    assert result.returncode != 0
    assert "PyNvVideoCodec>=3" in result.stderr


def test_the_wheel_has_no_files_of_the_import_package(wheels: Path) -> None:
    (wheel,) = wheels.glob("pynvvideocodec-*.whl")

    names = [name.split("/")[1] for name in zipfile.ZipFile(wheel).namelist()]
    assert names == ["METADATA", "WHEEL", "RECORD"]


@pytest.fixture(scope="module")
def nvcomp_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nvcomp_wheel")
    subprocess.run([sys.executable, TOOL, "tricodec-nvcomp", "--output", folder], check=True)
    (wheel,) = folder.glob("tricodec_nvcomp-*.whl")
    return wheel


def test_nvidias_name_is_a_module_of_its_own_distribution_beside_dali(nvcomp_wheel: Path, tmp_path: Path) -> None:
    result = pip_install(nvcomp_wheel.parent, tmp_path, "--no-deps", "tricodec-nvcomp")
    assert result.returncode == 0, result.stderr
    dali = importlib.util.find_spec("nvidia.dali")
    if dali is None or dali.origin is None:
        pytest.skip("DALI is not installed")
    for path in Path(dali.origin).parents[1].iterdir():  # a folder of packages as DALI's wheel leaves it
        if path.name != "nvcomp":
            (tmp_path / "nvidia" / path.name).symlink_to(path)
    program = """
    import sys
    finders = list(sys.meta_path)
    from nvidia import nvcomp
    from nvidia.nvcomp.external_memory import ExternalMemory
    import nvidia, tricodec.nvcomp
    packed = nvcomp.Codec(algorithm="LZ4", device="cpu").encode(b"abc")
    print(nvcomp.__spec__.origin, nvcomp.__tricodec__, nvcomp.Codec is tricodec.nvcomp.Codec,
          finders == sys.meta_path[:-1])
    print(set(tricodec.nvcomp.__all__) <= set(dir(nvcomp)), ExternalMemory is nvcomp.ExternalMemory, nvcomp.__version__,
          bytes(nvcomp.Codec().decode(packed)))
    """
    program += "import nvidia.dali\n    print(nvidia.dali.__version__ != '')\n"
    path = os.pathsep.join([str(tmp_path), *sys.path])
    lines = printed_by(program, PYTHONPATH=path).splitlines()
    assert lines[0] == f"{tmp_path}/nvidia/nvcomp/__init__.py True True True"
    assert lines[1:] == ["True True 5.3.0 b'abc'", "True"]


def test_nvidias_own_nvcomp_is_left_alone(tmp_path: Path) -> None:
    make_empty_wheel(tmp_path, "nvidia_nvcomp_cu13", "5.3.0")
    assert pip_install(tmp_path, tmp_path / "site", "nvidia-nvcomp-cu13").returncode == 0
    program = "import runpy, sys; print(runpy.run_path(sys.argv[1])['nvidias_nvcomp']())"
    assert printed_by(program, TOOL, PYTHONPATH=str(tmp_path / "site")) == "nvidia-nvcomp-cu13\n"
    assert printed_by(program, TOOL) == "None\n"
