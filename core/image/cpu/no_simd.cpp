// SPDX-License-Identifier: Apache-2.0
/// Replaces the SIMD kernels in a build without Highway: the scalar engine transforms and converts.
#include "image/cpu/kernels.h"

namespace tricodec::image {

std::span<const Kernels> supported_kernels() {
    return {};
}

}  // namespace tricodec::image
