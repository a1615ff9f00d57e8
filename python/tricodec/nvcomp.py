# SPDX-License-Identifier: Apache-2.0
"""The documented names of nvCOMP's Python package, on tricodec: ``from tricodec import nvcomp``.

If NVIDIA's own package is not installed, ``from nvidia import nvcomp`` also gives these names after the import of this
module. See docs/compress.md.
"""

from __future__ import annotations

from tricodec.compat import install_nvcomp
from tricodec.compress import (
    Array,
    ArrayBufferKind,
    BitshuffleMode,
    BitstreamKind,
    ChecksumPolicy,
    Codec,
    CompressConfig,
    CudaStream,
    DecompressBackend,
    DecompressConfig,
    ExternalMemory,
    as_array,
    as_arrays,
    from_dlpack,
    set_device_allocator,
    set_host_allocator,
    set_pinned_allocator,
)

#: The release of nvCOMP that this interface and its streams follow.
__version__ = "5.3.0"
__cuda_version__ = 13030

NVCOMP_NATIVE = BitstreamKind.NVCOMP_NATIVE
RAW = BitstreamKind.RAW
WITH_UNCOMPRESSED_SIZE = BitstreamKind.WITH_UNCOMPRESSED_SIZE
NO_COMPUTE_NO_VERIFY = ChecksumPolicy.NO_COMPUTE_NO_VERIFY
COMPUTE_AND_NO_VERIFY = ChecksumPolicy.COMPUTE_AND_NO_VERIFY
NO_COMPUTE_AND_VERIFY_IF_PRESENT = ChecksumPolicy.NO_COMPUTE_AND_VERIFY_IF_PRESENT
COMPUTE_AND_VERIFY_IF_PRESENT = ChecksumPolicy.COMPUTE_AND_VERIFY_IF_PRESENT
COMPUTE_AND_VERIFY = ChecksumPolicy.COMPUTE_AND_VERIFY
STRIDED_DEVICE = ArrayBufferKind.STRIDED_DEVICE
STRIDED_HOST = ArrayBufferKind.STRIDED_HOST

__all__ = [
    "COMPUTE_AND_NO_VERIFY", "COMPUTE_AND_VERIFY", "COMPUTE_AND_VERIFY_IF_PRESENT",
    "NO_COMPUTE_AND_VERIFY_IF_PRESENT", "NO_COMPUTE_NO_VERIFY", "NVCOMP_NATIVE", "RAW", "STRIDED_DEVICE",
    "STRIDED_HOST", "WITH_UNCOMPRESSED_SIZE", "Array", "ArrayBufferKind", "BitshuffleMode", "BitstreamKind",
    "ChecksumPolicy", "Codec", "CompressConfig", "CudaStream", "DecompressBackend", "DecompressConfig",
    "ExternalMemory", "as_array", "as_arrays", "from_dlpack", "set_device_allocator", "set_host_allocator",
    "set_pinned_allocator",
]  # fmt: skip

install_nvcomp()
