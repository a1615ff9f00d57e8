// SPDX-License-Identifier: Apache-2.0
// Compiled by nvcc once for each fat binary of libtricodec.so, which TRICODEC_BINARY names (cmake/cuda_kernels.cmake).
// The headers hold all that the kernels do; a C++ compiler accepts them too.
#include "image/cuda/convert.h"
#include "image/cuda/kernel_list.h"
#include "image/cuda/resample_tile.h"

namespace tricodec::image::gpu {
namespace {

template <int kBits, Element kElement, template <int, int> class Chroma>
__device__ void run_convert(const ConvertArgs& args) {
    __shared__ __align__(16) unsigned char shared[kConvertWarps * kConvertRows * kStageRow];
    const auto thread = static_cast<int>(threadIdx.x);
    const auto segment = static_cast<int>(blockIdx.x);
    const auto group = static_cast<int>(blockIdx.y);
    const FrameArgs& frame = args.frames[blockIdx.z];
    unsigned char* const stage = shared + thread / 32 * kConvertRows * kStageRow;
    convert_pixels<kBits, kElement, Chroma>(args, frame, segment, group, thread, stage);
    __syncwarp();
    convert_store<kElement>(args, frame, segment, group, thread, stage);
}

template <int kSampleBytes, Element kElement>
__device__ void run_resample_tile(const TileArgs& args) {
    extern __shared__ __align__(16) unsigned char dynamic_shared[];
    const auto thread = static_cast<int>(threadIdx.x);
    const Tile tile = tile_of(args, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y));
    const FrameArgs& frame = args.frames[blockIdx.z];
    for (int segment = 0; segment < args.num_segments; ++segment) {
        if (segment > 0) __syncthreads();
        tile_rows<kSampleBytes>(args, tile, segment, frame, dynamic_shared, thread);
        __syncthreads();
        tile_columns<kElement>(args, tile, segment, frame, dynamic_shared, thread);
    }
    __syncthreads();
    tile_store(args, tile, frame, dynamic_shared, thread);
}

}  // namespace
}  // namespace tricodec::image::gpu

#define TRICODEC_KERNEL_OF(name, Args, threads, blocks, run)            \
    extern "C" __global__ void __launch_bounds__(threads, blocks)       \
        name(const __grid_constant__ tricodec::image::gpu::Args args) { \
        using namespace tricodec::image::gpu;                           \
        run(args);                                                      \
    }

// Registers for eight blocks a multiprocessor keep the memory busy.
#define TRICODEC_DEFINE_convert(name, bits, element, Chroma)                           \
    TRICODEC_KERNEL_OF(name, ConvertArgs, 32 * tricodec::image::gpu::kConvertWarps, 8, \
                       (run_convert<bits, Element::element, Chroma>))

#define TRICODEC_DEFINE_resample_tile(name, bytes, element)                   \
    TRICODEC_KERNEL_OF(name, TileArgs, tricodec::image::gpu::kTileThreads, 4, \
                       (run_resample_tile<bytes, Element::element>))

#define TRICODEC_JOIN(first, second) first##second
#define TRICODEC_LIST_OF(binary) TRICODEC_JOIN(TRICODEC_KERNELS_, binary)
#define TRICODEC_DEFINE_OF(binary) TRICODEC_JOIN(TRICODEC_DEFINE_, binary)

TRICODEC_LIST_OF(TRICODEC_BINARY)(TRICODEC_DEFINE_OF(TRICODEC_BINARY))
