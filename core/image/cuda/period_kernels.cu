// SPDX-License-Identifier: Apache-2.0
// Compiled by nvcc into a fat binary of libtricodec.so (cmake/cuda_kernels.cmake). All that the kernels do is in the
// headers, which a C++ compiler takes too.
#include "image/cuda/kernel_list.h"
#include "image/cuda/period_kernel.h"

namespace tricodec::image::gpu {
namespace {

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

}  // namespace
}  // namespace tricodec::image::gpu

#define TRICODEC_PERIOD(name, element, Ratio)                                                \
    extern "C" __global__ void __launch_bounds__(32 * tricodec::image::gpu::kPeriodWarps, 8) \
        name(const __grid_constant__ tricodec::image::gpu::PeriodArgs args) {                \
        using namespace tricodec::image::gpu;                                                \
        run_period<Ratio, Element::element>(args);                                           \
    }

TRICODEC_KERNELS(TRICODEC_PERIOD)
