// SPDX-License-Identifier: Apache-2.0
// All CUDA kernels, and the fat binary that each is in: one list for the source that defines them, the module that
// loads them and the tests.
//
// TRICODEC_KERNELS_x(KERNEL) has KERNEL(name, ...) for each kernel of the binary x; what follows the name are the
// template arguments. The names are tricodec_x_, then the bits of a sample, the element, and more.
#pragma once

/// One for each family: one run of nvcc compiles it, and a process loads it at once.
#define TRICODEC_KERNEL_BINARIES(BINARY) \
    BINARY(convert)                      \
    BINARY(resample_tile)

/// OF(KERNEL, bits, bytes, element) for each kind of samples and elements.
#define TRICODEC_OF_ELEMENTS(OF, KERNEL, bits, bytes) \
    OF(KERNEL, bits, bytes, uint8)                    \
    OF(KERNEL, bits, bytes, float16)                  \
    OF(KERNEL, bits, bytes, bfloat16)                 \
    OF(KERNEL, bits, bytes, float32)
#define TRICODEC_OF_SAMPLES(OF, KERNEL) TRICODEC_OF_ELEMENTS(OF, KERNEL, 8, 1) TRICODEC_OF_ELEMENTS(OF, KERNEL, 16, 2)

// Pictures that keep their size: (name, bits, element, chroma).
#define TRICODEC_KERNELS_convert(KERNEL) TRICODEC_OF_SAMPLES(TRICODEC_CONVERT, KERNEL)
#define TRICODEC_CONVERT(KERNEL, bits, bytes, element)                                  \
    KERNEL(tricodec_convert_##bits##_##element##_pairs, bits, element, ChromaOfPairs)   \
    KERNEL(tricodec_convert_##bits##_##element##_planes, bits, element, ChromaOfPlanes) \
    KERNEL(tricodec_convert_##bits##_##element##_full, bits, element, FullChroma)       \
    KERNEL(tricodec_convert_##bits##_##element##_gray, bits, element, NoChroma)

// Every other plan: (name, bytes of a sample, element).
#define TRICODEC_KERNELS_resample_tile(KERNEL) TRICODEC_OF_SAMPLES(TRICODEC_RESAMPLE_TILE, KERNEL)
#define TRICODEC_RESAMPLE_TILE(KERNEL, bits, bytes, element) \
    KERNEL(tricodec_resample_tile_##bits##_##element, bytes, element)
