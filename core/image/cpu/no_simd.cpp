// SPDX-License-Identifier: Apache-2.0
/// Replaces the SIMD kernels in a build without Highway: the scalar engine transforms and converts.
#include "image/cpu/kernels.h"
#include "image/cpu/rgb_kernels.h"

namespace tricodec::image {

std::span<const Kernels> supported_kernels() {
    return {};
}

std::span<const RgbKernels> supported_rgb_kernels() {
    return {};
}

}  // namespace tricodec::image
