// SPDX-License-Identifier: Apache-2.0
// Compiled by nvcc into a fat binary of libtricodec.so (cmake/cuda_kernels.cmake). All that the kernels do is in the
// headers, which a C++ compiler takes too.
#include "image/cuda/kernel_list.h"
#include "image/cuda/tile_kernel.h"

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

}  // namespace
}  // namespace tricodec::image::gpu

#define TRICODEC_TILE(name, bytes, element)                                             \
    extern "C" __global__ void __launch_bounds__(tricodec::image::gpu::kTileThreads, 4) \
        name(const __grid_constant__ tricodec::image::gpu::TileArgs args) {             \
        using namespace tricodec::image::gpu;                                           \
        run_tile<bytes, Element::element>(args);                                        \
    }

TRICODEC_KERNELS(TRICODEC_TILE)
