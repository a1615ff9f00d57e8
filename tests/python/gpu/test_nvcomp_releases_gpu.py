# SPDX-License-Identifier: Apache-2.0
"""Streams between tricodec on libnvcomp 5.3 and 6.0, NVIDIA's packages of both releases, and the CPU.

Without PyPI, TRICODEC_WHEEL_CACHE names a folder with the unpacked wheels (helpers/wheels.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from compress_data import corpus
from programs import printed_by
from wheels import RELEASES, library_of, wheel_site

SAME = ("LZ4", "Snappy", "Zstd", "Deflate", "Gzip", "GDeflate", "Bitcomp")
"""Algorithms with one stream in both releases."""

_BOTH = """
import sys
from pathlib import Path
import numpy as np
folder, data = Path(sys.argv[1]), (Path(sys.argv[1]) / "data").read_bytes()

def codec(name, **more):
    algorithm, kind = name.split("-")
    words = {} if kind == "NATIVE" else {"bitstream_kind": getattr(nvcomp.BitstreamKind, kind)}
    return nvcomp.Codec(algorithm=algorithm, uncomp_chunk_size=16384, **words, **more)

def write(name, **more):
    packed = codec(name, **more).encode(nvcomp.as_array(np.frombuffer(data, np.uint8)))
    (folder / name).write_bytes(np.asarray(packed.cpu()).tobytes())

def wrong(name, **more):
    packed = nvcomp.as_array(np.frombuffer((folder / name).read_bytes(), np.uint8))
    try:
        found = codec(name, **more).decode(packed) if more or "NATIVE" not in name else nvcomp.Codec().decode(packed)
        result = "" if np.asarray(found.cpu()).tobytes() == data else "other bytes"
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
    if result: print(name, result)
"""
_OURS = "from tricodec import nvcomp\n" + _BOTH
_THEIRS = (
    """
import sys, types
sys.modules["nvidia"] = types.ModuleType("nvidia")
sys.modules["nvidia"].__path__ = [sys.argv[2] + "/nvidia"]
from nvidia import nvcomp
"""
    + _BOTH
)


def names(algorithms: tuple[str, ...], kinds: tuple[str, ...] = ("NATIVE", "RAW")) -> list[str]:
    return [f"{algorithm}-{kind}" for algorithm in algorithms for kind in kinds]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").write_bytes(corpus()["walk"][:60_000])
    return tmp_path


def ours(release: str, folder: Path, work: str) -> str:
    """What our program prints, with libnvcomp of a release."""
    return printed_by(_OURS + work, folder, TRICODEC_LIBNVCOMP=str(library_of(release)))


def theirs(release: str, folder: Path, work: str) -> str:
    return printed_by(_THEIRS + work, folder, wheel_site(release))


@pytest.mark.parametrize("release", RELEASES)
def test_streams_of_nvidias_package_are_read_with_its_library_and_on_the_cpu(release: str, folder: Path) -> None:
    gpu = [*names(SAME), *names(("ANS",)), "Cascaded-NATIVE", *(["Cascaded-RAW"] if release == "5.3" else [])]
    cpu = [*names(SAME), *(names(("Cascaded",)) if release == "5.3" else [])]
    theirs(release, folder, f"for name in {gpu}: write(name)")

    assert ours(release, folder, f"for name in {gpu}: wrong(name)") == ""
    assert ours(release, folder, f"for name in {cpu}: wrong(name, device='cpu')") == ""


@pytest.mark.parametrize("release", RELEASES)
def test_streams_of_ours_are_read_by_nvidias_package(release: str, folder: Path) -> None:
    """NVIDIA's 6.0 refuses containers of version 5, which we write except for ANS."""
    written = names((*SAME, "ANS", "Cascaded")) if release == "5.3" else [*names(SAME, ("RAW",)), *names(("ANS",))]
    ours(release, folder, f"for name in {written}: write(name, device='cuda:0')")

    assert theirs(release, folder, f"for name in {written}: wrong(name)") == ""


@pytest.mark.parametrize(("written", "read"), [("5.3", "6.0"), ("6.0", "5.3")])
def test_streams_of_the_other_release_are_read(written: str, read: str, folder: Path) -> None:
    theirs(written, folder, f"for name in {names(SAME)}: write(name)")

    assert ours(read, folder, f"for name in {names(SAME)}: wrong(name, device='cuda:0')") == ""


def test_a_batch_array_of_6_0_is_read_and_written_as_ours(folder: Path) -> None:
    """A program of 6.0's interface gives the same with both packages."""
    program = """
sources = [np.arange(1000 * n, dtype="<i4") for n in (1, 2, 3)]
codec = nvcomp.Codec(algorithm="LZ4", execution_policy=nvcomp.ExecutionPolicy.LATENCY)
batch = codec.encode(nvcomp.as_arrays(sources))
print(type(batch).__name__, len(batch))
again = codec.decode(srcs=batch, data_type="<i4")
print(again.buffer_sizes, [np.asarray(again.cpu()[i]).sum() for i in range(len(again))])
buffer = np.arange(64, dtype="<i4")
parts = nvcomp.as_arrays(buffer, [0, 128], [64, 128]).cuda()
print(parts.buffer_sizes, np.asarray(parts.cpu()[1]).tolist() == buffer[32:].tolist())
"""
    assert ours("6.0", folder, program) == theirs("6.0", folder, program)
