// SPDX-License-Identifier: Apache-2.0
// Compiled by nvcc, once for each of the binaries that TRICODEC_BINARY names, into fat binaries of libtricodec.so
// (cmake/cuda_kernels.cmake). All that the kernels do is in the headers, which a C++ compiler takes too.
#include "image/cuda/direct_kernel.h"
#include "image/cuda/kernel_list.h"

namespace tricodec::image::gpu {
namespace {

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

}  // namespace
}  // namespace tricodec::image::gpu

// Registers for eight blocks of 128 threads a multiprocessor: enough to keep the memory busy.
#define TRICODEC_DIRECT(name, bits, element, Chroma)                                         \
    extern "C" __global__ void __launch_bounds__(32 * tricodec::image::gpu::kDirectWarps, 8) \
        name(const __grid_constant__ tricodec::image::gpu::DirectArgs args) {                \
        using namespace tricodec::image::gpu;                                                \
        run_direct<bits, Element::element, Chroma>(args);                                    \
    }

TRICODEC_KERNELS(TRICODEC_DIRECT)
