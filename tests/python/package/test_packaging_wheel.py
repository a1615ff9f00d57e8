# SPDX-License-Identifier: Apache-2.0
"""The wheel of `make wheel`: it brings what it needs, its terms too, and works where no FFmpeg is installed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import media
import pytest

sys.path.insert(0, str(media.REPOSITORY / "tools"))

from library_sources import SOURCES
from wheel_sbom import problems

pytestmark = pytest.mark.slow

# What manylinux takes for granted on every Linux (PEP 600), of what C and C++ programs use.
EVERYWHERE = re.compile(r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|z)\.so|ld-linux|linux-vdso")

PROGRAM = """
import hashlib, sys
import numpy as np, tricodec, tricodec.io
clip = sys.argv[1]
print("ffmpeg", [line.split()[1] for line in tricodec.build_info().splitlines() if line.startswith("ffmpeg:")][0])
digest = hashlib.md5()
for frame in tricodec.FrameReader(clip):
    digest.update(frame.to_ndarray().tobytes())
print("decoded", digest.hexdigest())
frames = np.random.default_rng(1).integers(0, 256, (8, 64, 96, 3), np.uint8)
for codec in ("h264", "hevc", "av1"):
    print(codec, len(tricodec.FrameReader(tricodec.encode_video(frames, codec=codec))))
for algorithm in ("lz4", "snappy", "zstd", "deflate", "gzip", "gdeflate"):
    codec = tricodec.Codec(algorithm=algorithm)
    assert bytes(codec.decode(codec.encode(frames.tobytes()))) == frames.tobytes(), algorithm
reader = tricodec.io.StreamReader("testsrc=duration=1", format="lavfi")
reader.add_basic_video_stream(1)
assert reader.fill_buffer() == 0
print("stream", tuple(reader.pop_chunks()[0].shape))
for path in sorted({line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}):
    print("mapped", path)
"""


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


def test_wheel_is_of_a_manylinux(wheel: Path) -> None:
    assert re.search(r"-cp3\d+-cp3\d+-manylinux_2_\d+_x86_64(\.manylinux\S+)?\.whl$", wheel.name)


def test_wheel_holds_no_program_no_archive_and_no_doubled_library(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    assert not [name for name in names if name.endswith((".a", ".pc")) or re.search(r"/ff(mpeg|probe)$", name)]
    libraries = [re.sub(r"-[0-9a-f]{8}(?=\.so)", "", Path(name).name) for name in names if ".so" in name]
    assert len(libraries) == len(set(libraries))


def test_wheel_holds_the_terms_of_all_that_it_carries(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    for source in SOURCES:
        for text in source.licenses:
            assert f"tricodec/licenses/{source.name}/{Path(text).name}" in names
    added = {re.split(r"[-.]", Path(name).name)[0] for name in names if name.startswith("tricodec.libs/lib")}
    assert {"libx264", "libx265", "libSvtAv1Enc"} <= added
    for library in added:
        terms = re.compile(rf"tricodec/licenses/{library.lower()}[\d.-]*/copyright")
        assert any(terms.fullmatch(name) for name in names), library


def test_wheel_lists_its_parts_by_cyclonedx(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/sboms/tricodec.cdx.json"))
    document = json.loads(archive.read(name))

    assert problems(archive.read(name).decode()) == ""
    parts = {each["name"]: each.get("description") for each in document["components"]}
    assert {source.name for source in SOURCES} <= set(parts)
    added = {Path(each).name for each in archive.namelist() if each.startswith("tricodec.libs/lib")}
    assert added == {file for file in parts.values() if file}


def test_installed_wheel_needs_nothing_that_not_every_linux_has(site: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    for native in [path for path in site.rglob("*.so*") if path.is_file()]:
        said = subprocess.run(["ldd", native], capture_output=True, text=True, check=True, env=environment).stdout
        outside = [line.strip() for line in said.splitlines() if str(site) not in line]

        assert not [line for line in outside if not EVERYWHERE.search(line)], native


def test_installed_wheel_decodes_encodes_and_compresses_with_its_own_libraries(site: Path, tmp_path: Path) -> None:
    clip = media.generated("h264_bframes.mp4")
    environment = {"PATH": "/nowhere", "PYTHONPATH": str(site), "HOME": str(tmp_path)}

    command = [sys.executable, "-c", PROGRAM, str(clip)]
    said = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    assert said.returncode == 0, said.stderr
    lines = [line.split(maxsplit=1) for line in said.stdout.splitlines()]
    facts = {name: value for name, value in lines if name != "mapped"}
    (ffmpeg,) = (source for source in SOURCES if source.name == "ffmpeg")
    assert facts == {
        "ffmpeg": ffmpeg.version,
        "decoded": media.ffmpeg_md5(clip),
        "h264": "8",
        "hevc": "8",
        "av1": "8",
        "stream": "(1, 3, 240, 320)",
    }
    mapped = [value for name, value in lines if name == "mapped"]
    codecs = re.compile(r"/lib(av|sw|x26|Svt|dav1d|vpx|opus|mp3lame|lz4|zstd|snappy|deflate|isal|hwy)")
    assert [path for path in mapped if codecs.search(path)]
    assert not [path for path in mapped if codecs.search(path) and not path.startswith(str(site))]
