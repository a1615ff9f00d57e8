# SPDX-License-Identifier: Apache-2.0
"""Programs as nvCOMP's documents write them, unchanged, with tricodec under the name nvidia.nvcomp."""

from __future__ import annotations

from pathlib import Path

import pytest
from compress_data import available, corpus
from preloaded import with_tricodec

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


# What python -m tricodec.compat does.
COMPAT = "from tricodec.compat.__main__ import main; main()"


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
