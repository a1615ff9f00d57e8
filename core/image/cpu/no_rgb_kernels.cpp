// SPDX-License-Identifier: Apache-2.0
// In place of rgb_simd_targets.cpp where Highway was not there when the library was built.
#include "image/cpu/rgb_kernels.h"

namespace tricodec::image {

std::span<const RgbKernels> supported_rgb_kernels() {
    return {};
}

}  // namespace tricodec::image
