# SPDX-License-Identifier: Apache-2.0
"""nvCOMP's public names beside NVIDIA's packages of 5.3 and 6.0, and programs as its documents write them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import nvcomp_surface
import pytest
import tricodec
from compress_data import available, corpus
from media import REPOSITORY
from preloaded import with_tricodec
from tricodec import nvcomp
from wheels import RELEASES, wheel_site

LZ4: dict[str, Any] = {"algorithm": "LZ4", "device": "cpu"}


def names_of(release: str) -> dict[str, Any]:
    """The names of NVIDIA's package, imported in a process of its own. That needs no driver."""
    program = Path(nvcomp_surface.__file__)
    result = subprocess.run(
        [sys.executable, "-S", str(program)], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(wheel_site(release))},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert answer["version"].startswith(release)
    return dict(answer["names"])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="typing.get_overloads is of Python 3.11")
@pytest.mark.parametrize("release", RELEASES)
def test_names_values_and_arguments_are_nvidias_but_for_the_documented_ones(release: str) -> None:
    theirs = names_of(release)
    ours = json.loads(json.dumps(nvcomp_surface.surface(nvcomp)))

    found = nvcomp_surface.differences(theirs, ours)

    assert len(theirs) >= 30
    page = (REPOSITORY / "docs" / "migration" / "nvcomp.md").read_text()
    table = page.partition("<!-- differences of names")[2].partition("<!-- end of differences")[0]
    documented = re.findall(r"^\| `([^`]+)` \| ([\d., ]+) \|", table, re.MULTILINE)
    assert found == {name for name, releases in documented if release in releases}


@pytest.mark.parametrize("names", [(), ("array", "srcs"), ("array_s", "srcs")])
def test_two_names_of_one_argument_are_refused(names: tuple[str, ...]) -> None:
    given: dict[str, Any] = {name: [b"a"] for name in names}
    with pytest.raises(TypeError, match=rf"encode\(\) takes one of array, srcs, array_s; {len(names)} are given"):
        nvcomp.Codec(**LZ4).encode(**given)


def test_a_batch_is_a_list_with_the_methods_of_nvcomp_6() -> None:
    batch = nvcomp.Codec(**LZ4).encode([b"a" * 1000, b"b" * 10])
    assert isinstance(batch, nvcomp.BatchArray)
    assert isinstance(batch, list)
    assert (len(batch), batch[-1], list(batch)) == (2, batch[1], batch)
    assert batch.buffer_sizes == [array.buffer_size for array in batch]
    assert batch.cpu() is batch
    assert isinstance(nvcomp.as_arrays([b"a"]), nvcomp.BatchArray)


def test_a_buffer_is_carved_by_offsets_and_sizes() -> None:
    numbers = np.arange(100, dtype="<i4")

    batch = nvcomp.as_arrays(numbers, [0, 40, 396], [40, 12, 4])

    assert [np.asarray(part).tolist() for part in batch] == [list(range(10)), [10, 11, 12], [99]]
    assert [(part.dtype, part.shape) for part in batch] == [(np.dtype("<i4"), (n,)) for n in (10, 3, 1)]
    numbers[10] = -1
    assert np.asarray(batch[1])[0] == -1  # the same memory
    again = nvcomp.as_arrays(buffer=numbers, offsets=[40], sizes=[4], cuda_stream=0)[0]
    del batch, numbers
    assert np.asarray(again)[0] == -1  # kept


def test_results_are_written_to_the_parts_of_a_buffer() -> None:
    data = [corpus()["text"][:3000], b"b" * 100]
    codec = nvcomp.Codec(**LZ4)
    room = np.zeros(16384, np.uint8)
    packed = nvcomp.as_arrays(room, [0, 8192], [8192, 8192])

    result = codec.encode(data, out=packed)

    assert result.buffer_sizes == packed.buffer_sizes == [array.size for array in codec.encode(data)]
    assert bytes(room[8192 : 8192 + result.buffer_sizes[1]]) == bytes(codec.encode(data[1]))
    assert [bytes(array) for array in codec.decode(packed)] == [bytes(item) for item in data]
    with pytest.raises(ValueError, match="the result has"):
        codec.encode(data, out=nvcomp.as_arrays(room, [0, 8], [8, 8]))


@pytest.mark.parametrize(
    ("keywords", "why"),
    [
        ({"algorithm": "Bitcomp", "mode": nvcomp.BITCOMP_LOSSY_FP_TO_SIGNED}, "mode is <BitcompMode"),
        ({"algorithm": "ANS", "states_per_lane": 2}, "states_per_lane is 2"),
        ({"algorithm": "Cascaded", "compression_level": 3}, "num_rles, num_deltas and use_bitpack choose"),
        ({"algorithm": "Cascaded", "mode": 1}, "mode is an option of nvCOMP 6's Cascaded"),
    ],
)
def test_options_of_nvcomp_6_that_change_the_stream_are_refused(keywords: dict[str, Any], why: str) -> None:
    with pytest.raises(tricodec.UnsupportedError, match=why):
        nvcomp.Codec(**keywords)


# What the document leaves to the reader, and its example of an allocator word for word.
ALLOCATOR = """
import ctypes
from typing import Protocol
from nvidia import nvcomp

class PtrProtocol(Protocol):
    ptr: int

class MyBuffer:
    made = []
    def __init__(self, nbytes, stream):
        self.memory = ctypes.create_string_buffer(nbytes)
        self.ptr = ctypes.addressof(self.memory)
        MyBuffer.made.append(nbytes)

def my_allocator(nbytes: int, stream: nvcomp.Stream) -> PtrProtocol:
    return MyBuffer(nbytes, stream)

nvcomp.set_host_allocator(my_allocator)
array = nvcomp.Codec(algorithm="LZ4").encode(b"some bytes " * 10000)
print(array.cpu().capacity in MyBuffer.made)
nvcomp.set_host_allocator()
"""

ONE_ARRAY = """
import sys
import numpy as np
from nvidia import nvcomp

algorithm, name = sys.argv[1:]
with open(name, "rb") as file:
    data = file.read()
array = nvcomp.as_array(data)  # the buffer protocol
print(array.buffer_size == len(data), array.dtype, array.shape == (len(data),), array.strides, array.ndim)
print(array.__array_interface__["shape"] == array.__cuda_array_interface__["shape"])
for kind in nvcomp.BitstreamKind.__members__.values():
    codec = nvcomp.Codec(algorithm=algorithm, bitstream_kind=kind)
    packed = codec.encode(array)
    with open(name + ".packed", "wb") as file:
        file.write(packed.cpu())
    with open(name + ".packed", "rb") as file:
        read = file.read()
    codecs = [codec] + ([nvcomp.Codec()] if kind == nvcomp.BitstreamKind.NVCOMP_NATIVE else [])
    print(kind, *[bytes(reader.decode(read).cpu()) == data for reader in codecs])
    print(codec.decode(read, "<i4").dtype)
"""

BATCH = """
import sys
import numpy as np
from nvidia import nvcomp

algorithm, name = sys.argv[1:]
sources = [np.fromfile(name, "u1")[: 4 * size] for size in (1, 1000, 20000)]
arrays = nvcomp.as_arrays(sources, cuda_stream=0)
with nvcomp.Codec(algorithm=algorithm, uncomp_chunk_size=4096) as codec:
    config = codec.compression_config([array.buffer_size for array in arrays])
    packed = codec.encode(arrays, compression_config=config)
    back = codec.decode(packed, data_type="|u1", decompression_config=codec.decompression_config(config))
    print(len(packed), [bytes(a.cpu()) == s.tobytes() for a, s in zip(back, sources)])
    print(all(array.buffer_size <= codec.get_max_comp_buffer_size(s) for array, s in zip(packed, arrays)))
    print([codec.get_uncomp_buffer_size(array) for array in packed])
    print(np.from_dlpack(back[1].cpu()).tobytes() == sources[1].tobytes())
"""

BATCH_OF_6 = """
import sys
import numpy as np
from nvidia import nvcomp

algorithm, name = sys.argv[1:]
buffer = np.fromfile(name, "u1")[:60000]
codec = nvcomp.Codec(algorithm=algorithm, execution_policy=nvcomp.ExecutionPolicy.LATENCY)
step = codec.get_required_compression_alignment()
offsets = [0, 20000 // step * step, 40000 // step * step]
batch = nvcomp.as_arrays(buffer, offsets, [20000, 400, 4])
packed = codec.encode(batch)
print(isinstance(packed, nvcomp.BatchArray), len(packed), packed.buffer_sizes == [a.buffer_size for a in packed])
room = np.zeros(30000, "u1")
out = nvcomp.as_arrays(room, [0, 24000, 28000], [20000, 400, 4])
codec.decode(srcs=packed, out=out)
print([bytes(a) == bytes(b) for a, b in zip(out.cpu(), batch.cpu())], np.array_equal(room[:20000], buffer[:20000]))
"""


# An unchanged program, after tricodec's module is put in place.
COMPAT = "import runpy, sys, tricodec.nvcomp; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"


def run(folder: Path, program: str, *arguments: str) -> list[str]:
    file = folder / "program.py"
    file.write_text(program)
    result = with_tricodec().run_code(COMPAT, file, *arguments, TRICODEC_DEVICE="cpu")
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


@pytest.fixture
def data(tmp_path: Path) -> str:
    (tmp_path / "data").write_bytes(corpus()["walk"][:100_000])
    return str(tmp_path / "data")


def test_the_documents_allocator_runs_unchanged(tmp_path: Path) -> None:
    assert run(tmp_path, ALLOCATOR) == ["True"]


@pytest.mark.parametrize("algorithm", ["LZ4", "snappy", "Gdeflate", "Deflate", "Gzip", "Zstd", "Bitcomp", "Cascaded"])
def test_programs_of_one_array_and_of_batches_run_unchanged(algorithm: str, tmp_path: Path, data: str) -> None:
    available(algorithm)

    assert run(tmp_path, ONE_ARRAY, algorithm, data) == [
        "True uint8 True (1,) 1", "True", "BitstreamKind.NVCOMP_NATIVE True True", "int32",
        "BitstreamKind.RAW True", "int32", "BitstreamKind.WITH_UNCOMPRESSED_SIZE True", "int32",
    ]  # fmt: skip
    assert run(tmp_path, BATCH, algorithm, data) == [
        "3 [True, True, True]", "True", "[4, 4000, 80000]", "True",
    ]  # fmt: skip
    assert run(tmp_path, BATCH_OF_6, algorithm, data) == ["True 3 True", "[True, True, True] True"]
