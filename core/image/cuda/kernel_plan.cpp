// SPDX-License-Identifier: Apache-2.0
#include "image/cuda/kernel_plan.h"

#include <utility>

#include "tricodec/base/error.h"

namespace tricodec::image::gpu {
namespace {

/// Whether resample_mma is faster than resample_tile. Layouts in which it would
/// store element by element, turned and padded ones, need more taps to gain.
bool is_faster_by_mma(const Plan& plan) {
    const int taps = plan.filters[1].max_taps;
    const bool in_order =
        plan.placement.column_per_x != 0 && plan.layout != Layout::chw2 && plan.layout != Layout::hwc8;
    return taps >= (in_order ? 2 : plan.bytes_per_sample == 1 ? 6 : 12);
}

}  // namespace

KernelPlan::KernelPlan(std::shared_ptr<const Plan> plan, bool prefer_mma) : plan_(std::move(plan)) {
    const SourcePlanes planes = source_planes(*plan_);
    convert_ = ConvertPlan::make(*plan_, tables_);
    if (prefer_mma || is_faster_by_mma(*plan_)) mma_ = MmaPlan::make(*plan_, planes, tables_);
    tile_.emplace(*plan_, planes, tables_);
}

Launch KernelPlan::launch(const std::byte* tables, std::span<const Item> items, const GpuLimits& gpu) const {
    TRICODEC_INVARIANT(!items.empty() && items.size() <= kMaxFrames);
    const Batch batch{*plan_, tables, items};
    auto launch = convert_ ? convert_->launch(batch) : std::nullopt;
    if (!launch && mma_) launch = mma_->launch(batch, gpu);
    return launch ? std::move(*launch) : tile_->launch(batch);
}

}  // namespace tricodec::image::gpu
