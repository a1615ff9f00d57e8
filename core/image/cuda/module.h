// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/cuda/context.h"

namespace tricodec::image::gpu {

/// Why there are no kernels in this library; empty if there are.
[[nodiscard]] std::string missing_kernels_reason();

/// A kernel, loaded into `context` when first asked for. Throws Error(unsupported) where the library has none for the
/// GPU, Error(device) where the driver cannot load it. Thread safety: safe.
[[nodiscard]] cuda::FunctionHandle find_kernel(const std::shared_ptr<cuda::Context>& context, const std::string& name);

}  // namespace tricodec::image::gpu
