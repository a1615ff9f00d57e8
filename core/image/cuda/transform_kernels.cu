// SPDX-License-Identifier: Apache-2.0
// Compiled by nvcc into a fat binary that libtricodec.so carries (cmake/cuda_kernels.cmake). All that the kernels do is
// in the headers, which a C++ compiler takes too.
#include "image/cuda/band_kernel.h"
#include "image/cuda/direct_kernel.h"
#include "image/cuda/tile_kernel.h"
#include "image/cuda/whole_kernel.h"

namespace tricodec::image::gpu {
namespace {

template <int kSampleBytes, Element kElement>
__device__ void run_tile(const TileArgs& args) {
    extern __shared__ __align__(16) unsigned char shared[];
    const auto thread = static_cast<int>(threadIdx.x);
    const Tile tile = tile_of(args, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y));
    const FrameArgs& frame = args.frames[blockIdx.z];
    for (int segment = 0; segment < args.num_segments; ++segment) {
        if (segment > 0) __syncthreads();
        tile_rows<kSampleBytes>(args, tile, segment, frame, shared, thread);
        __syncthreads();
        tile_columns<kElement>(args, tile, segment, frame, shared, thread);
    }
    __syncthreads();
    tile_store(args, tile, frame, shared, thread);
}

template <int kSampleBytes, Element kElement, bool kPairs>
__device__ void run_band(const BandArgs& args) {
    __shared__ __align__(16) unsigned char shared[kBandWarps * kBandSlots * kBandSize];
    DeviceWarp<BandLane> warp(static_cast<int>(threadIdx.x) % 32, shared + threadIdx.x / 32 * (kBandSlots * kBandSize));
    const int tile = static_cast<int>(blockIdx.y) * kBandWarps + static_cast<int>(threadIdx.x) / 32;
    if (tile * kBandRows >= args.grid_height) return;
    band_unit<kSampleBytes, kElement, kPairs>(warp, args, args.frames[blockIdx.z], static_cast<int>(blockIdx.x), tile);
}

template <int kSampleBytes, Element kElement, template <int, int> class Chroma>
__device__ void run_direct(const DirectArgs& args) {
    __shared__ __align__(16) unsigned char shared[kDirectWarps * kDirectRows * kStageRow];
    const auto thread = static_cast<int>(threadIdx.x);
    const auto segment = static_cast<int>(blockIdx.x);
    const auto group = static_cast<int>(blockIdx.y);
    const FrameArgs& frame = args.frames[blockIdx.z];
    unsigned char* const stage = shared + thread / 32 * kDirectRows * kStageRow;
    direct_pixels<kSampleBytes, kElement, Chroma>(args, frame, segment, group, thread, stage);
    __syncwarp();
    direct_store<kElement>(args, frame, segment, group, thread, stage);
}

template <int kSampleBytes, Element kElement, WholeLayout kLayout, template <int, int> class Chroma>
__device__ void run_whole(const WholeArgs& args) {
    __shared__ __align__(16) unsigned char shared[is_staged(kLayout) ? kWholeWarps * kWholeRows * kWholeStage : 16];
    const auto thread = static_cast<int>(threadIdx.x);
    const auto segment = static_cast<int>(blockIdx.x);
    const auto group = static_cast<int>(blockIdx.y);
    const FrameArgs& frame = args.frames[blockIdx.z];
    unsigned char* const stage = shared + thread / 32 * kWholeRows * kWholeStage;
    whole_pixels<kSampleBytes, kElement, kLayout, Chroma>(args, frame, segment, group, thread, stage);
    if constexpr (is_staged(kLayout)) {
        __syncwarp();
        whole_store<kElement, kLayout>(args, frame, segment, group, thread, stage);
    }
}

}  // namespace
}  // namespace tricodec::image::gpu

#define TRICODEC_TILE(sample_bytes, element)                                                                    \
    extern "C" __global__ void __launch_bounds__(tricodec::image::gpu::kTileThreads, 4)                         \
        tricodec_tile_##sample_bytes##_##element(const __grid_constant__ tricodec::image::gpu::TileArgs args) { \
        using namespace tricodec::image::gpu;                                                                   \
        run_tile<sample_bytes, Element::element>(args);                                                         \
    }

// Registers and shared memory for four blocks of 128 threads a multiprocessor.
#define TRICODEC_BAND_CHROMA(sample_bytes, element, name, pairs)                           \
    extern "C" __global__ void __launch_bounds__(32 * tricodec::image::gpu::kBandWarps, 4) \
        tricodec_band_##sample_bytes##_##element##_##name(                                 \
            const __grid_constant__ tricodec::image::gpu::BandArgs args) {                 \
        using namespace tricodec::image::gpu;                                              \
        run_band<sample_bytes, Element::element, pairs>(args);                             \
    }

#define TRICODEC_BAND(sample_bytes, element)                 \
    TRICODEC_BAND_CHROMA(sample_bytes, element, pairs, true) \
    TRICODEC_BAND_CHROMA(sample_bytes, element, planes, false)

#define TRICODEC_BAND_ELEMENTS(sample_bytes) \
    TRICODEC_BAND(sample_bytes, uint8)       \
    TRICODEC_BAND(sample_bytes, float16)     \
    TRICODEC_BAND(sample_bytes, bfloat16)    \
    TRICODEC_BAND(sample_bytes, float32)

// Registers for eight blocks of 128 threads a multiprocessor: enough to keep the memory busy.
#define TRICODEC_DIRECT(sample_bytes, element, chroma, Chroma)                               \
    extern "C" __global__ void __launch_bounds__(32 * tricodec::image::gpu::kDirectWarps, 8) \
        tricodec_direct_##sample_bytes##_##element##_##chroma(                               \
            const __grid_constant__ tricodec::image::gpu::DirectArgs args) {                 \
        using namespace tricodec::image::gpu;                                                \
        run_direct<sample_bytes, Element::element, Chroma>(args);                            \
    }

#define TRICODEC_WHOLE_LAYOUT(sample_bytes, element, chroma, Chroma, layout)                \
    extern "C" __global__ void __launch_bounds__(32 * tricodec::image::gpu::kWholeWarps, 8) \
        tricodec_whole_##sample_bytes##_##element##_##chroma##_##layout(                    \
            const __grid_constant__ tricodec::image::gpu::WholeArgs args) {                 \
        using namespace tricodec::image::gpu;                                               \
        run_whole<sample_bytes, Element::element, WholeLayout::layout, Chroma>(args);       \
    }

#define TRICODEC_WHOLE(sample_bytes, element, chroma, Chroma)         \
    TRICODEC_WHOLE_LAYOUT(sample_bytes, element, chroma, Chroma, hwc) \
    TRICODEC_WHOLE_LAYOUT(sample_bytes, element, chroma, Chroma, chw)

#define TRICODEC_WHOLE_16(sample_bytes, element, chroma, Chroma)       \
    TRICODEC_WHOLE(sample_bytes, element, chroma, Chroma)              \
    TRICODEC_WHOLE_LAYOUT(sample_bytes, element, chroma, Chroma, chw2) \
    TRICODEC_WHOLE_LAYOUT(sample_bytes, element, chroma, Chroma, hwc8)

#define TRICODEC_WHOLE_FLOATS(sample_bytes, chroma, Chroma)   \
    TRICODEC_WHOLE_16(sample_bytes, float16, chroma, Chroma)  \
    TRICODEC_WHOLE_16(sample_bytes, bfloat16, chroma, Chroma) \
    TRICODEC_WHOLE(sample_bytes, float32, chroma, Chroma)

#define TRICODEC_DIRECT_ELEMENTS(sample_bytes, chroma, Chroma) \
    TRICODEC_DIRECT(sample_bytes, uint8, chroma, Chroma)       \
    TRICODEC_DIRECT(sample_bytes, float16, chroma, Chroma)     \
    TRICODEC_DIRECT(sample_bytes, bfloat16, chroma, Chroma)    \
    TRICODEC_DIRECT(sample_bytes, float32, chroma, Chroma)

#define TRICODEC_TILE_ELEMENTS(sample_bytes) \
    TRICODEC_TILE(sample_bytes, uint8)       \
    TRICODEC_TILE(sample_bytes, float16)     \
    TRICODEC_TILE(sample_bytes, bfloat16)    \
    TRICODEC_TILE(sample_bytes, float32)

TRICODEC_BAND_ELEMENTS(1)
TRICODEC_BAND_ELEMENTS(2)
TRICODEC_TILE_ELEMENTS(1)
TRICODEC_TILE_ELEMENTS(2)
TRICODEC_DIRECT_ELEMENTS(1, pairs, ChromaOfPairs)
TRICODEC_DIRECT_ELEMENTS(2, pairs, ChromaOfPairs)
TRICODEC_DIRECT_ELEMENTS(1, planes, ChromaOfPlanes)
TRICODEC_DIRECT_ELEMENTS(2, planes, ChromaOfPlanes)
TRICODEC_DIRECT_ELEMENTS(1, full, FullChroma)
TRICODEC_DIRECT_ELEMENTS(2, full, FullChroma)
TRICODEC_DIRECT_ELEMENTS(1, gray, NoChroma)
TRICODEC_DIRECT_ELEMENTS(2, gray, NoChroma)
TRICODEC_WHOLE(1, uint8, pairs, ChromaOfPairs)
TRICODEC_WHOLE(1, uint8, planes, ChromaOfPlanes)
TRICODEC_WHOLE_FLOATS(1, pairs, ChromaOfPairs)
TRICODEC_WHOLE_FLOATS(1, planes, ChromaOfPlanes)
TRICODEC_WHOLE_FLOATS(2, pairs, ChromaOfPairs)
TRICODEC_WHOLE_FLOATS(2, planes, ChromaOfPlanes)
