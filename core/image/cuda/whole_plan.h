// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "image/cuda/whole_kernel.h"
#include "image/plan.h"

namespace tricodec::image::gpu {

struct DirectArgs;

/// What the whole kernel needs of a plan that is the direct kernel's, without the output and the frames; nothing for
/// plans that are not its own: other colors than RGB of YUV, chroma as wide as luma, bytes of samples of 16 bits, crops
/// that do not begin with a word and an even row.
[[nodiscard]] std::optional<WholeArgs> make_whole(const Plan& plan, const DirectArgs& direct,
                                                  const std::vector<ChromaRows>& chroma_rows);

/// The constants that depend on how channels stand in memory. False where the kernel cannot have them so.
[[nodiscard]] bool set_layout(WholeArgs& args, Layout layout, DType dtype);

}  // namespace tricodec::image::gpu
