// SPDX-License-Identifier: Apache-2.0
#include "image/cuda/kernel_plan.h"

#include <utility>

#include "tricodec/base/error.h"

namespace tricodec::image::gpu {
KernelPlan::KernelPlan(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {
    const SourcePlanes planes = source_planes(*plan_);
    convert_ = ConvertPlan::make(*plan_, tables_);
    tile_.emplace(*plan_, planes, tables_);
}

Launch KernelPlan::launch(const std::byte* tables, std::span<const Item> items) const {
    TRICODEC_INVARIANT(!items.empty() && items.size() <= kMaxFrames);
    const Batch batch{*plan_, tables, items};
    auto launch = convert_ ? convert_->launch(batch) : std::nullopt;
    return launch ? std::move(*launch) : tile_->launch(batch);
}

}  // namespace tricodec::image::gpu
