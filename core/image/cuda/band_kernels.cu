// SPDX-License-Identifier: Apache-2.0
// Compiled by nvcc, once for each of the binaries that TRICODEC_BINARY names, into fat binaries of libtricodec.so
// (cmake/cuda_kernels.cmake). All that the kernels do is in the headers, which a C++ compiler takes too.
#include "image/cuda/band_kernel.h"
#include "image/cuda/kernel_list.h"

namespace tricodec::image::gpu {
namespace {

template <int kSampleBytes, Element kElement, bool kPairs>
__device__ void run_band(const BandArgs& args) {
    extern __shared__ __align__(16) unsigned char shared[];
    DeviceBlock<BandLane> block(static_cast<int>(threadIdx.x), shared);
    band_block<kSampleBytes, kElement, kPairs>(block, args, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y),
                                               static_cast<int>(blockIdx.z));
}

}  // namespace
}  // namespace tricodec::image::gpu

#define TRICODEC_BAND(name, bytes, element, pairs)                                   \
    extern "C" __global__ void __launch_bounds__(tricodec::image::gpu::kBandThreads, \
                                                 tricodec::image::gpu::kBandBlocks)  \
        name(const __grid_constant__ tricodec::image::gpu::BandArgs args) {          \
        using namespace tricodec::image::gpu;                                        \
        run_band<bytes, Element::element, pairs>(args);                              \
    }

TRICODEC_KERNELS(TRICODEC_BAND)
