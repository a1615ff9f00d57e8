// SPDX-License-Identifier: Apache-2.0
#include "image/cpu/cpu_plan.h"

#include <algorithm>

namespace tricodec::image {
namespace {

constexpr std::int32_t kNeutral = 8192;
constexpr int kQuarter = kCoefOne / 4;

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

bool is_quarters(const Filter& filter) {
    return std::all_of(filter.coefs.begin(), filter.coefs.end(),
                       [](std::int16_t coef) { return coef >= 0 && coef % kQuarter == 0; });
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
    if (quarters()) rows_at_once_ = 2;
    if (luma_.num_dots() > 0 || (chroma_ && chroma_->num_dots() > 0)) rows_at_once_ = kernels.rows_at_once;
}

int CpuPlan::rows_together(int y, int end) const noexcept {
    if (!quarters()) return std::min(rows_at_once_, end - y);
    const Filter& rows = plan_.filters[3];
    const auto at = static_cast<std::size_t>(y);
    if (y + 1 >= end || rows.max_taps != 2 || rows.first[at] != rows.first[at + 1]) return 1;
    const std::int16_t* const taps = rows.taps(y);  // of this row, then of the next
    return taps[0] == 3 * kQuarter && taps[1] == kQuarter && taps[2] == kQuarter && taps[3] == 3 * kQuarter ? 2 : 1;
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
    if (plan_.bytes_per_sample == 1 && !is_quarters(plan_.filters[3]))
        return "rows of chroma have taps other than quarters";
    return {};
}

}  // namespace tricodec::image
