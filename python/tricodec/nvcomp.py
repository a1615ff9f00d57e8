# SPDX-License-Identifier: Apache-2.0
"""The documented names of nvCOMP's Python package, on tricodec: ``from tricodec import nvcomp``.

The distribution tricodec-nvcomp gives them as ``from nvidia import nvcomp``. See docs/migration/nvcomp.md.
"""

from __future__ import annotations

from tricodec.compress import (
    Array,
    ArrayBufferKind,
    BatchArray,
    BitcompMode,
    BitshuffleMode,
    BitstreamKind,
    ChecksumPolicy,
    Codec,
    CompressConfig,
    CudaStream,
    DecompressBackend,
    DecompressConfig,
    ExecutionPolicy,
    ExternalMemory,
    as_array,
    as_arrays,
    from_dlpack,
    set_device_allocator,
    set_host_allocator,
    set_pinned_allocator,
)

#: The release of nvCOMP that this interface and its streams follow. Names of 6.0 are here too.
__version__ = "5.3.0"
__cuda_version__ = 13030

Stream = CudaStream  # as nvCOMP's document writes it in its example of an allocator

NVCOMP_NATIVE, RAW, WITH_UNCOMPRESSED_SIZE = BitstreamKind
(
    NO_COMPUTE_NO_VERIFY, COMPUTE_AND_NO_VERIFY, NO_COMPUTE_AND_VERIFY_IF_PRESENT, COMPUTE_AND_VERIFY_IF_PRESENT,
    COMPUTE_AND_VERIFY,
) = ChecksumPolicy  # fmt: skip
STRIDED_DEVICE, STRIDED_HOST = ArrayBufferKind
NVCOMP_BITSHUFFLE_NONE, NVCOMP_BITSHUFFLE_MSB_FIRST, NVCOMP_BITSHUFFLE_LSB_FIRST = BitshuffleMode
(
    NVCOMP_DECOMPRESS_BACKEND_DEFAULT, NVCOMP_DECOMPRESS_BACKEND_HARDWARE, NVCOMP_DECOMPRESS_BACKEND_CUDA,
) = DecompressBackend  # fmt: skip
BITCOMP_LOSSLESS, BITCOMP_LOSSY_FP_TO_SIGNED, BITCOMP_LOSSY_FP_TO_UNSIGNED = BitcompMode

__all__ = [
    "BITCOMP_LOSSLESS", "BITCOMP_LOSSY_FP_TO_SIGNED", "BITCOMP_LOSSY_FP_TO_UNSIGNED", "COMPUTE_AND_NO_VERIFY",
    "COMPUTE_AND_VERIFY", "COMPUTE_AND_VERIFY_IF_PRESENT", "NO_COMPUTE_AND_VERIFY_IF_PRESENT", "NO_COMPUTE_NO_VERIFY",
    "NVCOMP_BITSHUFFLE_LSB_FIRST", "NVCOMP_BITSHUFFLE_MSB_FIRST", "NVCOMP_BITSHUFFLE_NONE",
    "NVCOMP_DECOMPRESS_BACKEND_CUDA", "NVCOMP_DECOMPRESS_BACKEND_DEFAULT", "NVCOMP_DECOMPRESS_BACKEND_HARDWARE",
    "NVCOMP_NATIVE", "RAW", "STRIDED_DEVICE", "STRIDED_HOST", "WITH_UNCOMPRESSED_SIZE", "Array", "ArrayBufferKind",
    "BatchArray", "BitcompMode", "BitshuffleMode", "BitstreamKind", "ChecksumPolicy", "Codec", "CompressConfig",
    "CudaStream", "DecompressBackend", "DecompressConfig", "ExecutionPolicy", "ExternalMemory", "Stream",
    "as_array", "as_arrays", "from_dlpack", "set_device_allocator", "set_host_allocator", "set_pinned_allocator",
]  # fmt: skip


def __dir__() -> list[str]:
    return ["__cuda_version__", "__doc__", "__name__", "__version__", *__all__]
