# SPDX-License-Identifier: Apache-2.0
"""The enumerations of nvCOMP's Python interface, with its numbers. Members are not equal to plain ints."""

from __future__ import annotations

from enum import Enum


class _Word(Enum):
    def __int__(self) -> int:
        return int(self.value)

    __index__ = __int__


class BitstreamKind(_Word):
    """The format around compressed data.

    NVCOMP_NATIVE: each buffer is cut into chunks that are compressed in parallel, after a header; checksums are
    possible. RAW: the algorithm's stream alone, the whole buffer as one chunk. WITH_UNCOMPRESSED_SIZE: the uncompressed
    size (4 bytes for LZ4, else 8), then as RAW.
    """

    NVCOMP_NATIVE = 0
    RAW = 1
    WITH_UNCOMPRESSED_SIZE = 2


class ChecksumPolicy(_Word):
    """Whether checksums are written and verified. COMPUTE_AND_VERIFY refuses data without checksums."""

    NO_COMPUTE_NO_VERIFY = 0
    COMPUTE_AND_NO_VERIFY = 1
    NO_COMPUTE_AND_VERIFY_IF_PRESENT = 2
    COMPUTE_AND_VERIFY_IF_PRESENT = 3
    COMPUTE_AND_VERIFY = 4


class ArrayBufferKind(_Word):
    """Place of an array's memory: accessible to a GPU or to the host; both pitch-linear."""

    STRIDED_DEVICE = 1
    STRIDED_HOST = 2


class BitshuffleMode(_Word):
    """Shuffling of bits before LZ4: the highest bits first, or the lowest bits first."""

    NVCOMP_BITSHUFFLE_NONE = 0
    NVCOMP_BITSHUFFLE_MSB_FIRST = 1
    NVCOMP_BITSHUFFLE_LSB_FIRST = 2


class DecompressBackend(_Word):
    """The part of a GPU that decompresses: its decompression engine, or its multiprocessors."""

    NVCOMP_DECOMPRESS_BACKEND_DEFAULT = 0
    NVCOMP_DECOMPRESS_BACKEND_HARDWARE = 1
    NVCOMP_DECOMPRESS_BACKEND_CUDA = 2


class ExecutionPolicy(_Word):
    """Of nvCOMP 6: kernels that leave a GPU room for other work, or that end soon. tricodec's are the same for both."""

    CONCURRENCY = 0
    LATENCY = 1


class BitcompMode(_Word):
    """Of nvCOMP 6: Bitcomp without loss, or of rounded floats. tricodec compresses without loss alone."""

    BITCOMP_LOSSLESS = 0
    BITCOMP_LOSSY_FP_TO_SIGNED = 1
    BITCOMP_LOSSY_FP_TO_UNSIGNED = 2


for _class in _Word.__subclasses__():
    _class.__module__ = "tricodec.nvcomp"  # where users find them, and pickles
