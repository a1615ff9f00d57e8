// SPDX-License-Identifier: Apache-2.0
// Compiled by nvcc, once for each of the binaries that TRICODEC_BINARY names, into fat binaries of libtricodec.so
// (cmake/cuda_kernels.cmake). All that the kernels do is in the headers, which a C++ compiler takes too.
#include "image/cuda/kernel_list.h"
#include "image/cuda/whole_kernel.h"

namespace tricodec::image::gpu {
namespace {

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

#define TRICODEC_WHOLE(name, bits, element, Chroma, layout, any)                            \
    extern "C" __global__ void __launch_bounds__(32 * tricodec::image::gpu::kWholeWarps, 8) \
        name(const __grid_constant__ tricodec::image::gpu::WholeArgs args) {                \
        using namespace tricodec::image::gpu;                                               \
        run_whole<bits, Element::element, WholeLayout::layout, Chroma, any>(args);          \
    }

TRICODEC_KERNELS(TRICODEC_WHOLE)
