// SPDX-License-Identifier: Apache-2.0
// In place of simd_targets.cpp where Highway was not there when the library was built.
#include "image/cpu/kernels.h"

namespace tricodec::image {

std::span<const Kernels> supported_kernels() {
    return {};
}

}  // namespace tricodec::image
