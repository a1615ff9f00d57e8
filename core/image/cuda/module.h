// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/cuda/context.h"

namespace tricodec::image::gpu {

/// A kernel of kernel_list.h; its binary is loaded into `context` when the first of its kernels is asked for. Throws
/// Error(unsupported) where the library has none for the GPU, Error(device) where the driver cannot load it. Thread
/// safety: safe.
[[nodiscard]] cuda::FunctionHandle find_kernel(const std::shared_ptr<cuda::Context>& context, const std::string& name);

}  // namespace tricodec::image::gpu
