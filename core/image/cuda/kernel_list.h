// SPDX-License-Identifier: Apache-2.0
// Which CUDA kernels there are, and in which fat binary each is: one list for the sources that define them, the module
// that loads them and the tests that ask every plan for its own.
//
// TRICODEC_KERNELS_x(KERNEL) has KERNEL(name, ...) for each kernel of the binary x; what follows the name is what the
// binary's source makes the kernel of. The names begin with tricodec_x_, and with no other binary's.
#pragma once

/// One per fat binary. A binary is what a process loads at once and what one run of nvcc compiles; families that would
/// take it more than a minute are divided by the depth of the samples.
#define TRICODEC_KERNEL_BINARIES(BINARY) \
    BINARY(band_1)                       \
    BINARY(band_2)                       \
    BINARY(box)                          \
    BINARY(direct_8)                     \
    BINARY(direct_10)                    \
    BINARY(direct_16)                    \
    BINARY(period)                       \
    BINARY(tile)                         \
    BINARY(whole_8)                      \
    BINARY(whole_10)                     \
    BINARY(whole_16)

// Resizes of every kind: (name, bytes of a sample, element).

#define TRICODEC_KERNELS_tile(KERNEL) TRICODEC_TILE_OF_BYTES(KERNEL, 1) TRICODEC_TILE_OF_BYTES(KERNEL, 2)

#define TRICODEC_TILE_OF_BYTES(KERNEL, bytes)                 \
    KERNEL(tricodec_tile_##bytes##_uint8, bytes, uint8)       \
    KERNEL(tricodec_tile_##bytes##_float16, bytes, float16)   \
    KERNEL(tricodec_tile_##bytes##_bfloat16, bytes, bfloat16) \
    KERNEL(tricodec_tile_##bytes##_float32, bytes, float32)

// Resizes on the tensor cores: (name, bytes of a sample, element, whether chroma is in pairs).

#define TRICODEC_KERNELS_band_1(KERNEL) TRICODEC_BAND_OF_BYTES(KERNEL, 1)
#define TRICODEC_KERNELS_band_2(KERNEL) TRICODEC_BAND_OF_BYTES(KERNEL, 2)

#define TRICODEC_BAND_OF_BYTES(KERNEL, bytes) \
    TRICODEC_BAND_OF(KERNEL, bytes, uint8)    \
    TRICODEC_BAND_OF(KERNEL, bytes, float16)  \
    TRICODEC_BAND_OF(KERNEL, bytes, bfloat16) \
    TRICODEC_BAND_OF(KERNEL, bytes, float32)

#define TRICODEC_BAND_OF(KERNEL, bytes, element)                            \
    KERNEL(tricodec_band_##bytes##_##element##_pairs, bytes, element, true) \
    KERNEL(tricodec_band_##bytes##_##element##_planes, bytes, element, false)

// The same of luma and pairs of chroma of 8 bits, in copies of whole boxes: (name, element, rows of luma that eight
// rows of the grid need at most).

#define TRICODEC_KERNELS_box(KERNEL)  \
    TRICODEC_BOX_OF(KERNEL, uint8)    \
    TRICODEC_BOX_OF(KERNEL, float16)  \
    TRICODEC_BOX_OF(KERNEL, bfloat16) \
    TRICODEC_BOX_OF(KERNEL, float32)

#define TRICODEC_BOX_OF(KERNEL, element)             \
    KERNEL(tricodec_box_##element##_32, element, 32) \
    KERNEL(tricodec_box_##element##_48, element, 48) \
    KERNEL(tricodec_box_##element##_64, element, 64)

// Reductions whose coefficients repeat: (name, element, ratio).

#define TRICODEC_KERNELS_period(KERNEL)         \
    TRICODEC_PERIOD_OF(KERNEL, 3_2, ThreeToTwo) \
    TRICODEC_PERIOD_OF(KERNEL, 2_1, TwoToOne)   \
    TRICODEC_PERIOD_OF(KERNEL, 3_1, ThreeToOne)

#define TRICODEC_PERIOD_OF(KERNEL, ratio, Ratio)              \
    KERNEL(tricodec_period_uint8_##ratio, uint8, Ratio)       \
    KERNEL(tricodec_period_float16_##ratio, float16, Ratio)   \
    KERNEL(tricodec_period_bfloat16_##ratio, bfloat16, Ratio) \
    KERNEL(tricodec_period_float32_##ratio, float32, Ratio)

// Pictures that keep their size: (name, bits, element, chroma).

#define TRICODEC_KERNELS_direct_8(KERNEL) TRICODEC_DIRECT_OF_BITS(KERNEL, 8)
#define TRICODEC_KERNELS_direct_10(KERNEL) TRICODEC_DIRECT_OF_BITS(KERNEL, 10)
#define TRICODEC_KERNELS_direct_16(KERNEL) TRICODEC_DIRECT_OF_BITS(KERNEL, 16)

#define TRICODEC_DIRECT_OF_BITS(KERNEL, bits)  \
    TRICODEC_DIRECT_OF(KERNEL, bits, uint8)    \
    TRICODEC_DIRECT_OF(KERNEL, bits, float16)  \
    TRICODEC_DIRECT_OF(KERNEL, bits, bfloat16) \
    TRICODEC_DIRECT_OF(KERNEL, bits, float32)

#define TRICODEC_DIRECT_OF(KERNEL, bits, element)                                      \
    KERNEL(tricodec_direct_##bits##_##element##_pairs, bits, element, ChromaOfPairs)   \
    KERNEL(tricodec_direct_##bits##_##element##_planes, bits, element, ChromaOfPlanes) \
    KERNEL(tricodec_direct_##bits##_##element##_full, bits, element, FullChroma)       \
    KERNEL(tricodec_direct_##bits##_##element##_gray, bits, element, NoChroma)

// The same of chroma halved across, to RGB, in whole words: (name, bits, element, chroma, layout, any). Only samples of
// 8 bits become bytes there, and only they may stand at any address.

#define TRICODEC_KERNELS_whole_8(KERNEL)       \
    TRICODEC_WHOLE_OF(KERNEL, 8, uint8)        \
    TRICODEC_WHOLE_OF_FLOATS(KERNEL, 8)        \
    TRICODEC_WHOLE_ANY_OF(KERNEL, 8, uint8)    \
    TRICODEC_WHOLE_ANY_OF(KERNEL, 8, float16)  \
    TRICODEC_WHOLE_ANY_OF(KERNEL, 8, bfloat16) \
    TRICODEC_WHOLE_ANY_OF(KERNEL, 8, float32)
#define TRICODEC_KERNELS_whole_10(KERNEL) TRICODEC_WHOLE_OF_FLOATS(KERNEL, 10)
#define TRICODEC_KERNELS_whole_16(KERNEL) TRICODEC_WHOLE_OF_FLOATS(KERNEL, 16)

#define TRICODEC_WHOLE_OF_FLOATS(KERNEL, bits)      \
    TRICODEC_WHOLE_OF(KERNEL, bits, float16)        \
    TRICODEC_WHOLE_OF(KERNEL, bits, bfloat16)       \
    TRICODEC_WHOLE_OF(KERNEL, bits, float32)        \
    TRICODEC_WHOLE_PADDED_OF(KERNEL, bits, float16) \
    TRICODEC_WHOLE_PADDED_OF(KERNEL, bits, bfloat16)

#define TRICODEC_WHOLE_OF(KERNEL, bits, element)              \
    TRICODEC_WHOLE_IN(KERNEL, bits, element, hwc, hwc, false) \
    TRICODEC_WHOLE_IN(KERNEL, bits, element, chw, chw, false)

#define TRICODEC_WHOLE_PADDED_OF(KERNEL, bits, element)         \
    TRICODEC_WHOLE_IN(KERNEL, bits, element, chw2, chw2, false) \
    TRICODEC_WHOLE_IN(KERNEL, bits, element, hwc8, hwc8, false)

#define TRICODEC_WHOLE_ANY_OF(KERNEL, bits, element)             \
    TRICODEC_WHOLE_IN(KERNEL, bits, element, hwc_any, hwc, true) \
    TRICODEC_WHOLE_IN(KERNEL, bits, element, chw_any, chw, true)

#define TRICODEC_WHOLE_IN(KERNEL, bits, element, name, layout, any)                                     \
    KERNEL(tricodec_whole_##bits##_##element##_pairs_##name, bits, element, ChromaOfPairs, layout, any) \
    KERNEL(tricodec_whole_##bits##_##element##_planes_##name, bits, element, ChromaOfPlanes, layout, any)

// The list of the binary that nvcc compiles.
#define TRICODEC_JOIN(first, second) first##second
#define TRICODEC_LIST_OF(binary) TRICODEC_JOIN(TRICODEC_KERNELS_, binary)
#define TRICODEC_KERNELS(KERNEL) TRICODEC_LIST_OF(TRICODEC_BINARY)(KERNEL)
