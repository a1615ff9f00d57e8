// SPDX-License-Identifier: Apache-2.0
// Compiled by nvcc into a fat binary of libtricodec.so (cmake/cuda_kernels.cmake). All that the kernels do is in the
// headers, which a C++ compiler takes too. GPUs before compute capability 9.0 are never given them.
#include "image/cuda/band_boxes.h"
#include "image/cuda/kernel_list.h"

namespace tricodec::image::gpu {
namespace {

template <Element kElement, int kRows>
__device__ void run_boxes([[maybe_unused]] const BoxArgs<TensorMap>& boxes) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    extern __shared__ __align__(1024) unsigned char shared[];
    DeviceBlock<BandLane> block(static_cast<int>(threadIdx.x), shared);
    box_block<1, kElement, kRows>(block, boxes, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y),
                                  static_cast<int>(blockIdx.z));
#endif
}

}  // namespace
}  // namespace tricodec::image::gpu

// The arguments stay below the 4 KiB that every driver passes.
static_assert(sizeof(tricodec::image::gpu::BoxArgs<tricodec::image::gpu::TensorMap>) <= 4096);

#define TRICODEC_BOX(name, element, rows)                                                                              \
    extern "C" __global__ void __launch_bounds__(tricodec::image::gpu::kBandThreads, tricodec::image::gpu::kBoxBlocks) \
        name(const __grid_constant__ tricodec::image::gpu::BoxArgs<tricodec::image::gpu::TensorMap> boxes) {           \
        using namespace tricodec::image::gpu;                                                                          \
        run_boxes<Element::element, rows>(boxes);                                                                      \
    }

TRICODEC_KERNELS(TRICODEC_BOX)
