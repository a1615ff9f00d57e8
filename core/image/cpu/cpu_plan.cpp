// SPDX-License-Identifier: Apache-2.0
#include "image/cpu/cpu_plan.h"

#include <algorithm>

namespace tricodec::image {
namespace {

constexpr std::int32_t kNeutral = 8192;

ByteColor byte_color(const ColorPlan& color) {
    ByteColor result;
    result.num_channels = color.num_channels;
    for (std::size_t channel = 0; channel < 3; ++channel) {
        result.bias[channel] = 1 << 18;
        for (std::size_t i = 0; i < 3; ++i) {
            result.coefs[channel][i] = static_cast<std::int16_t>(color.fixed[channel][i]);
            result.bias[channel] -= color.fixed[channel][i] * color.offset[i];
        }
    }
    result.neutral_chroma = color.offset[1] == kNeutral && color.offset[2] == kNeutral;
    return result;
}

FloatColor float_color(const ColorPlan& color) {
    return {color.num_channels, color.offset, color.factor, color.bias, color.low, color.high};
}

}  // namespace

CpuPlan::CpuPlan(const Kernels& kernels, const Plan& plan)
    : kernels_(kernels),
      plan_(plan),
      luma_(kernels, plan.filters[0]),
      chroma_(plan.filters.size() > 2 ? std::make_optional<RowFilter>(kernels, plan.filters[2]) : std::nullopt),
      bytes_(byte_color(plan.color)),
      floats_(float_color(plan.color)) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(plan.num_components); ++i) needed_[i] = plan.uses(i);
    why_generic_ = obstacle();
    if (why_generic_.empty()) path_ = RowPath::shared_chroma;
    if (luma_.num_dots() > 0 || (chroma_ && chroma_->num_dots() > 0)) rows_at_once_ = kernels.rows_at_once;
}

/// The first thing that keeps a plan from the kernel shared_chroma.
std::string CpuPlan::obstacle() const {
    if (plan_.num_components < 3) return "the source has no chroma";
    if (plan_.color.num_channels != 3) return "gray output needs no chroma";
    if (!chroma_) return "chroma is not subsampled";
    if (plan_.dtype != DType::uint8) return "float output is computed in floats";
    if (!has_one_luma_weight(bytes_)) return "the output keeps the stream's samples";
    if (plan_.depth > 12) return "samples of 16 bits do not fit its arithmetic";
    if (!luma_.identity() || plan_.filters[1].max_taps != 1) return "the picture is resampled";
    if (!chroma_->doubles_from_left() && !chroma_->repeats_from_left()) {
        return "chroma is not sited at the left, or is subsampled otherwise than by two";
    }
    return {};
}

}  // namespace tricodec::image
