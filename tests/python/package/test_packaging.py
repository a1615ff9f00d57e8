# SPDX-License-Identifier: Apache-2.0
"""What is installed: one shared library, nothing of CUDA linked, and wheels for names of NVIDIA's packages."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import media
import pytest
import tricodec

CONSUMER = media.REPOSITORY / "tests/packaging/consumer"
PACKAGE = Path(tricodec.__file__).parent
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def run(*command: str | Path, **options: object) -> str:
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
    return result.stdout


def cmake() -> str:
    beside_python = Path(sys.executable).parent / "cmake"
    return str(beside_python) if beside_python.exists() else "cmake"


def native_files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.so*") if path.is_file())


@pytest.fixture(scope="module")
def consumer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the outside project, built against the installed package only."""
    folder = tmp_path_factory.mktemp("consumer")
    source = folder / "source"
    shutil.copytree(CONSUMER, source)
    build = folder / "build"
    run(cmake(), "-S", source, "-B", build, f"-Dtricodec_DIR={tricodec.installation.cmake_dir()}")
    run(cmake(), "--build", build)
    return build / "frame_bytes"


@pytest.mark.parametrize("name", ["h264_bframes.mp4", "vp9_odd.webm"])
def test_outside_cmake_project_decodes_as_ffmpeg_does(consumer: Path, name: str) -> None:
    clip = media.generated(name)

    result = subprocess.run([consumer, clip], capture_output=True, check=True)

    assert hashlib.md5(result.stdout).hexdigest() == media.ffmpeg_md5(clip)


def test_the_header_of_all_headers_compiles(tmp_path: Path) -> None:
    source = tmp_path / "together.cpp"
    source.write_text("#include <tricodec/tricodec.h>\n")
    include = tricodec.installation.include_dir()
    run("g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", include, source)


@pytest.mark.needs_dali
def test_python_and_dali_use_one_loaded_library() -> None:
    """A process that uses every in-process front end maps a single file called libtricodec.so."""
    clip = media.generated("h264_bframes.mp4")
    program = f"""
import numpy as np, tricodec, tricodec.dali
from nvidia.dali import Pipeline, fn
data = np.fromfile({str(clip)!r}, np.uint8)
pipeline = Pipeline(batch_size=1, num_threads=1, device_id=None)
with pipeline:
    encoded = fn.external_source(source=lambda: [data], batch=True)
    pipeline.set_outputs(*fn.tricodec.decode_video(encoded, count=3))
pipeline.build()
frames, _ = pipeline.run()
assert np.array_equal(frames.at(0), tricodec.decode_video(data, count=3).frames)
import PyNvVideoCodec
mapped = {{line.split()[-1] for line in open("/proc/self/maps") if "libtricodec.so" in line}}
print(*mapped, sep="\\n")
"""

    mapped = run(sys.executable, "-W", "ignore", "-c", program).split()

    assert [Path(path).resolve() for path in mapped] == [tricodec.installation.library_path().resolve()]


def test_package_contains_one_libtricodec() -> None:
    assert [path for path in native_files() if path.name.startswith("libtricodec.so")] == [
        tricodec.installation.library_path()
    ]


def test_nothing_of_cuda_is_linked() -> None:
    files = native_files()
    assert {path.name.split(".")[0] for path in files} >= {"libtricodec", "_tricodec"}

    for path in files:
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", path))

        assert needed
        assert not [name for name in needed if re.match(r"lib(cuda|cudart|nv|npp)", name)], path


def test_native_files_find_each_other_relative_to_themselves() -> None:
    for path in native_files():
        paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", run("readelf", "-d", path))

        assert all(part.startswith("$ORIGIN") for value in paths for part in value.split(":")), f"{path}: {paths}"


def test_library_exports_only_names_of_tricodec() -> None:
    lines = run("nm", "-D", "--defined-only", tricodec.installation.library_path()).splitlines()
    symbols = [line.split(maxsplit=2)[2] for line in lines]
    assert any(symbol.startswith("_ZN8tricodec11FrameReader4open") for symbol in symbols)

    # Mangled, since a template's readable name starts with its return type: functions, type information, virtual
    # tables, thunks and the guards of static variables, all inside namespace tricodec.
    foreign = [name for name in symbols if not re.match(r"_Z(T[ISVT]|Th\w+?_|GVZ?|Z)?NK?8tricodec", name)]

    assert foreign == []


def make_empty_wheel(folder: Path, name: str, version: str, *requirements: str) -> None:
    """A wheel of metadata only, for pip's resolver."""
    information = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {requirement}\n" for requirement in requirements)
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{information}/METADATA", metadata)
        archive.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{information}/RECORD", "")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the names, one of tricodec without its files, and one of a program for the original."""
    folder = tmp_path_factory.mktemp("wheels")
    source = media.REPOSITORY / "packaging/pynvvideocodec"
    run(*PIP, "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", folder, source)
    make_empty_wheel(folder, "tricodec", tricodec.__version__)
    make_empty_wheel(folder, "program", "1.0", "PyNvVideoCodec>=2.1")
    return folder


def test_a_requirement_of_the_original_is_met_by_the_wheel_and_tricodec(wheels: Path, tmp_path: Path) -> None:
    run(*PIP, "install", "--no-index", "--find-links", wheels, "--target", tmp_path, "program")

    installed = {path.name for path in tmp_path.glob("*.dist-info")}
    names = {"pynvvideocodec-2.2.4+tricodec.dist-info", f"tricodec-{tricodec.__version__}.dist-info"}
    assert installed == {*names, "program-1.0.dist-info"}


def test_pip_replaces_the_original_and_leaves_none_of_its_files(wheels: Path, tmp_path: Path) -> None:
    original = wheels / "original"
    original.mkdir()
    make_empty_wheel(original, "PyNvVideoCodec", "2.2.4")
    with zipfile.ZipFile(original / "PyNvVideoCodec-2.2.4-py3-none-any.whl", "a") as archive:
        archive.writestr("PyNvVideoCodec/PyNvVideoCodec_130.so", "")
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path)
    install = [*PIP, "--python", tmp_path / "bin/python", "install", "--no-index", "--find-links", wheels]
    run(*install, *original.glob("*.whl"))
    (site,) = tmp_path.glob("lib/python*/site-packages")

    run(*install, "tricodec")
    assert [path.name for path in (site / "PyNvVideoCodec").iterdir()] == ["PyNvVideoCodec_130.so"]

    run(*install, *wheels.glob("pynvvideocodec-*.whl"))
    assert not (site / "PyNvVideoCodec/PyNvVideoCodec_130.so").exists()
    assert (site / "PyNvVideoCodec/__init__.py").exists()
