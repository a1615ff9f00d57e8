# SPDX-License-Identifier: Apache-2.0
"""Lossless compression of arrays: nvCOMP's formats and interface, on the CPU too.

    import numpy as np
    import tricodec

    codec = tricodec.Codec(algorithm="Zstd")
    packed = codec.encode(np.arange(1000))
    array = codec.decode(packed, "<i8")

`tricodec.nvcomp` has the same under nvCOMP's documented names.
"""

from tricodec._tricodec import CompressArray as Array
from tricodec._tricodec import (
    CudaStream,
    ExternalMemory,
    as_array,
    set_device_allocator,
    set_host_allocator,
    set_pinned_allocator,
)
from tricodec.compress._batch import BatchArray, as_arrays, from_dlpack, from_npy, to_npy
from tricodec.compress._codec import Codec, CompressConfig, DecompressConfig, StreamInfo, compression_algorithms
from tricodec.compress._enums import (
    ArrayBufferKind,
    BitcompMode,
    BitshuffleMode,
    BitstreamKind,
    ChecksumPolicy,
    DecompressBackend,
    ExecutionPolicy,
)
from tricodec.compress._files import FILE_SUFFIX, CompressedFile, compress_file, decompress_file
from tricodec.compress._options import use_installed_library

__all__ = [
    "FILE_SUFFIX", "Array", "ArrayBufferKind", "BatchArray", "BitcompMode", "BitshuffleMode", "BitstreamKind",
    "ChecksumPolicy", "Codec", "CompressConfig", "CompressedFile", "CudaStream", "DecompressBackend",
    "DecompressConfig", "ExecutionPolicy", "ExternalMemory", "StreamInfo", "as_array", "as_arrays", "compress_file",
    "compression_algorithms", "decompress_file", "from_dlpack", "from_npy", "set_device_allocator",
    "set_host_allocator", "set_pinned_allocator", "to_npy", "use_installed_library",
]  # fmt: skip
