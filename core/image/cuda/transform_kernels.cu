// SPDX-License-Identifier: Apache-2.0
// Compiled by nvcc into a fat binary that libtricodec.so carries (cmake/cuda_kernels.cmake). All that the kernels do is
// in the headers, which a C++ compiler takes too.
#include "image/cuda/band_kernel.h"
#include "image/cuda/direct_kernel.h"
#include "image/cuda/period_kernel.h"
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
    extern __shared__ __align__(16) unsigned char shared[];
    DeviceBlock<BandLane> block(static_cast<int>(threadIdx.x), shared);
    band_block<kSampleBytes, kElement, kPairs>(block, args, args.frames[blockIdx.z], static_cast<int>(blockIdx.x),
                                               static_cast<int>(blockIdx.y));
}

template <class Ratio, Element kElement>
__device__ void run_period(const PeriodArgs& args) {
    extern __shared__ __align__(16) unsigned char shared[];
    const auto lane = static_cast<int>(threadIdx.x % 32);
    const auto warp = static_cast<int>(threadIdx.x / 32);
    const auto segment = static_cast<int>(blockIdx.x);
    const FrameArgs& frame = args.frames[blockIdx.z];
    unsigned char* const stage = shared + warp * (args.stage_rows[0] + args.stage_rows[1]) * kPeriodPitch<Ratio>;
    const PeriodStrip strip = period_strip(args, static_cast<int>(blockIdx.y) * kPeriodWarps + warp);
    period_copy<Ratio>(args, strip, frame, segment, stage, lane);
    end_copy_group();
    wait_for_copies<0>();
    __syncwarp();
    period_rows<Ratio, kElement>(args, strip, frame, segment, stage, lane);
}

template <int kBits, Element kElement, template <int, int> class Chroma>
__device__ void run_direct(const DirectArgs& args) {
    __shared__ __align__(16) unsigned char shared[kDirectWarps * kDirectRows * kStageRow];
    const auto thread = static_cast<int>(threadIdx.x);
    const auto segment = static_cast<int>(blockIdx.x);
    const auto group = static_cast<int>(blockIdx.y);
    const FrameArgs& frame = args.frames[blockIdx.z];
    unsigned char* const stage = shared + thread / 32 * kDirectRows * kStageRow;
    direct_pixels<kBits, kElement, Chroma>(args, frame, segment, group, thread, stage);
    __syncwarp();
    direct_store<kElement>(args, frame, segment, group, thread, stage);
}

template <int kBits, Element kElement, WholeLayout kLayout, template <int, int> class Chroma, bool kAny>
__device__ void run_whole(const WholeArgs& args) {
    constexpr bool kStaged = is_staged(kLayout, kAny);
    __shared__ __align__(16) unsigned char shared[kStaged ? kWholeWarps * kWholeRows * kWholeStage : 16];
    const auto thread = static_cast<int>(threadIdx.x);
    const auto segment = static_cast<int>(blockIdx.x);
    // Edges take some threads long: they come in mid-frame, so that nobody waits for them at the end.
    const unsigned row = blockIdx.y + (kAny ? gridDim.y / 2 : 0);
    const auto group = static_cast<int>(row < gridDim.y ? row : row - gridDim.y);
    const FrameArgs& frame = args.frames[blockIdx.z];
    unsigned char* const stage = shared + thread / 32 * kWholeRows * kWholeStage;
    whole_pixels<kBits, kElement, kLayout, Chroma, kAny>(args, frame, segment, group, thread, stage);
    if constexpr (kStaged) {
        __syncwarp();
        whole_store<kElement, kLayout, kAny>(args, frame, segment, group, thread, stage);
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

// Registers for five blocks of 128 threads a multiprocessor.
#define TRICODEC_BAND_CHROMA(sample_bytes, element, name, pairs)                           \
    extern "C" __global__ void __launch_bounds__(32 * tricodec::image::gpu::kBandWarps, 5) \
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

#define TRICODEC_PERIOD(element, name, Ratio)                                                               \
    extern "C" __global__ void __launch_bounds__(32 * tricodec::image::gpu::kPeriodWarps, 8)                \
        tricodec_period_##element##_##name(const __grid_constant__ tricodec::image::gpu::PeriodArgs args) { \
        using namespace tricodec::image::gpu;                                                               \
        run_period<Ratio, Element::element>(args);                                                          \
    }

#define TRICODEC_PERIOD_ELEMENTS(name, Ratio) \
    TRICODEC_PERIOD(uint8, name, Ratio)       \
    TRICODEC_PERIOD(float16, name, Ratio)     \
    TRICODEC_PERIOD(bfloat16, name, Ratio)    \
    TRICODEC_PERIOD(float32, name, Ratio)

// Registers for eight blocks of 128 threads a multiprocessor: enough to keep the memory busy.
#define TRICODEC_DIRECT(bits, element, chroma, Chroma)                                                                 \
    extern "C" __global__ void __launch_bounds__(32 * tricodec::image::gpu::kDirectWarps, 8)                           \
        tricodec_direct_##bits##_##element##_##chroma(const __grid_constant__ tricodec::image::gpu::DirectArgs args) { \
        using namespace tricodec::image::gpu;                                                                          \
        run_direct<bits, Element::element, Chroma>(args);                                                              \
    }

#define TRICODEC_WHOLE_KERNEL(bits, element, chroma, Chroma, layout, name, any)             \
    extern "C" __global__ void __launch_bounds__(32 * tricodec::image::gpu::kWholeWarps, 8) \
        tricodec_whole_##bits##_##element##_##chroma##_##name(                              \
            const __grid_constant__ tricodec::image::gpu::WholeArgs args) {                 \
        using namespace tricodec::image::gpu;                                               \
        run_whole<bits, Element::element, WholeLayout::layout, Chroma, any>(args);          \
    }

#define TRICODEC_WHOLE(bits, element, chroma, Chroma)                     \
    TRICODEC_WHOLE_KERNEL(bits, element, chroma, Chroma, hwc, hwc, false) \
    TRICODEC_WHOLE_KERNEL(bits, element, chroma, Chroma, chw, chw, false)

#define TRICODEC_WHOLE_16(bits, element, chroma, Chroma)                    \
    TRICODEC_WHOLE(bits, element, chroma, Chroma)                           \
    TRICODEC_WHOLE_KERNEL(bits, element, chroma, Chroma, chw2, chw2, false) \
    TRICODEC_WHOLE_KERNEL(bits, element, chroma, Chroma, hwc8, hwc8, false)

#define TRICODEC_WHOLE_FLOATS(bits, chroma, Chroma)   \
    TRICODEC_WHOLE_16(bits, float16, chroma, Chroma)  \
    TRICODEC_WHOLE_16(bits, bfloat16, chroma, Chroma) \
    TRICODEC_WHOLE(bits, float32, chroma, Chroma)

#define TRICODEC_WHOLE_ANY(element, chroma, Chroma)                       \
    TRICODEC_WHOLE_KERNEL(8, element, chroma, Chroma, hwc, hwc_any, true) \
    TRICODEC_WHOLE_KERNEL(8, element, chroma, Chroma, chw, chw_any, true)

#define TRICODEC_WHOLE_ANY_ELEMENTS(chroma, Chroma) \
    TRICODEC_WHOLE_ANY(uint8, chroma, Chroma)       \
    TRICODEC_WHOLE_ANY(float16, chroma, Chroma)     \
    TRICODEC_WHOLE_ANY(bfloat16, chroma, Chroma)    \
    TRICODEC_WHOLE_ANY(float32, chroma, Chroma)

#define TRICODEC_DIRECT_ELEMENTS(bits, chroma, Chroma) \
    TRICODEC_DIRECT(bits, uint8, chroma, Chroma)       \
    TRICODEC_DIRECT(bits, float16, chroma, Chroma)     \
    TRICODEC_DIRECT(bits, bfloat16, chroma, Chroma)    \
    TRICODEC_DIRECT(bits, float32, chroma, Chroma)

#define TRICODEC_DIRECT_CHROMAS(bits)                      \
    TRICODEC_DIRECT_ELEMENTS(bits, pairs, ChromaOfPairs)   \
    TRICODEC_DIRECT_ELEMENTS(bits, planes, ChromaOfPlanes) \
    TRICODEC_DIRECT_ELEMENTS(bits, full, FullChroma)       \
    TRICODEC_DIRECT_ELEMENTS(bits, gray, NoChroma)

#define TRICODEC_TILE_ELEMENTS(sample_bytes) \
    TRICODEC_TILE(sample_bytes, uint8)       \
    TRICODEC_TILE(sample_bytes, float16)     \
    TRICODEC_TILE(sample_bytes, bfloat16)    \
    TRICODEC_TILE(sample_bytes, float32)

TRICODEC_BAND_ELEMENTS(1)
TRICODEC_BAND_ELEMENTS(2)
TRICODEC_TILE_ELEMENTS(1)
TRICODEC_TILE_ELEMENTS(2)
TRICODEC_PERIOD_ELEMENTS(3_2, ThreeToTwo)
TRICODEC_PERIOD_ELEMENTS(2_1, TwoToOne)
TRICODEC_PERIOD_ELEMENTS(3_1, ThreeToOne)
TRICODEC_DIRECT_CHROMAS(8)
TRICODEC_DIRECT_CHROMAS(10)
TRICODEC_DIRECT_CHROMAS(16)
TRICODEC_WHOLE(8, uint8, pairs, ChromaOfPairs)
TRICODEC_WHOLE(8, uint8, planes, ChromaOfPlanes)
TRICODEC_WHOLE_FLOATS(8, pairs, ChromaOfPairs)
TRICODEC_WHOLE_FLOATS(8, planes, ChromaOfPlanes)
TRICODEC_WHOLE_FLOATS(10, pairs, ChromaOfPairs)
TRICODEC_WHOLE_FLOATS(10, planes, ChromaOfPlanes)
TRICODEC_WHOLE_FLOATS(16, pairs, ChromaOfPairs)
TRICODEC_WHOLE_FLOATS(16, planes, ChromaOfPlanes)
TRICODEC_WHOLE_ANY_ELEMENTS(pairs, ChromaOfPairs)
TRICODEC_WHOLE_ANY_ELEMENTS(planes, ChromaOfPlanes)
