// SPDX-License-Identifier: Apache-2.0
// Compiled by nvcc into a fat binary that libtricodec.so carries (cmake/cuda_kernels.cmake). All that the kernels do is
// in the headers, which a C++ compiler takes too.
#include "image/cuda/direct_kernel.h"
#include "image/cuda/tile_kernel.h"

namespace tricodec::image::gpu {
namespace {

template <int kSampleBytes>
__device__ void run_tile(const TileArgs& args) {
    extern __shared__ __align__(16) unsigned char shared[];
    const auto thread = static_cast<int>(threadIdx.x);
    const Tile tile = tile_of(args, static_cast<int>(blockIdx.x));
    const FrameArgs& frame = args.frames[blockIdx.y];
    for (int segment = 0; segment < args.num_segments; ++segment) {
        tile_rows<kSampleBytes>(args, tile, segment, frame, shared, thread);
        __syncthreads();
        tile_columns(args, tile, segment, shared, thread);
        __syncthreads();
    }
    tile_colors(args, tile, frame, shared, thread);
    __syncthreads();
    tile_store(args, tile, frame, shared, thread);
}

template <int kSampleBytes, int kElementBytes, template <int, int> class ChromaSamples>
__device__ void run_direct(const DirectArgs& args) {
    __shared__ __align__(16) unsigned char shared[kDirectWarps * kDirectRows * kStageBytes];
    const auto thread = static_cast<int>(threadIdx.x);
    const auto block = static_cast<int>(blockIdx.x);
    const FrameArgs& frame = args.frames[blockIdx.y];
    unsigned char* const stage = shared + thread / 32 * kDirectRows * kStageBytes;
    direct_pixels<kSampleBytes, kElementBytes, ChromaSamples>(args, frame, block, thread, stage);
    __syncwarp();
    direct_store<kElementBytes>(args, frame, block, thread, stage);
}

}  // namespace
}  // namespace tricodec::image::gpu

#define TRICODEC_TILE(sample_bytes)                                                                 \
    extern "C" __global__ void __launch_bounds__(tricodec::image::gpu::kTileThreads)                \
        tricodec_tile_##sample_bytes(const __grid_constant__ tricodec::image::gpu::TileArgs args) { \
        tricodec::image::gpu::run_tile<sample_bytes>(args);                                         \
    }

// 64 registers a thread: half of the threads that a multiprocessor could hold, enough to keep the memory busy.
#define TRICODEC_DIRECT(sample_bytes, element_bytes, chroma, ChromaSamples)                  \
    extern "C" __global__ void __launch_bounds__(32 * tricodec::image::gpu::kDirectWarps, 8) \
        tricodec_direct_##sample_bytes##_##element_bytes##_##chroma(                         \
            const __grid_constant__ tricodec::image::gpu::DirectArgs args) {                 \
        using namespace tricodec::image::gpu;                                                \
        run_direct<sample_bytes, element_bytes, ChromaSamples>(args);                        \
    }

TRICODEC_TILE(1)
TRICODEC_TILE(2)
TRICODEC_DIRECT(1, 1, half, HalfChroma)
TRICODEC_DIRECT(1, 2, half, HalfChroma)
TRICODEC_DIRECT(1, 4, half, HalfChroma)
TRICODEC_DIRECT(2, 1, half, HalfChroma)
TRICODEC_DIRECT(2, 2, half, HalfChroma)
TRICODEC_DIRECT(2, 4, half, HalfChroma)
TRICODEC_DIRECT(1, 1, full, FullChroma)
TRICODEC_DIRECT(1, 2, full, FullChroma)
TRICODEC_DIRECT(1, 4, full, FullChroma)
TRICODEC_DIRECT(2, 1, full, FullChroma)
TRICODEC_DIRECT(2, 2, full, FullChroma)
TRICODEC_DIRECT(2, 4, full, FullChroma)
