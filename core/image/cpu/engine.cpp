// SPDX-License-Identifier: Apache-2.0
#include "image/cpu/engine.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/suggestion.h"
#include "image/cpu/kernels.h"
#include "image/plan.h"
#include "tricodec/base/log.h"
#include "tricodec/image/transform.h"

namespace tricodec::image {
namespace {

/// On x86 each of these includes the ones after it.
constexpr std::array<std::string_view, 3> kX86Features = {"avx512", "avx2", "sse4"};
constexpr std::string_view kArmFeature = "neon";

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

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace

const Kernels* chosen_kernels() {
    static const Kernels* const kernels = [] {
        const char* const disabled = std::getenv("TRICODEC_DISABLE_CPU_FEATURES");
        return choose_kernels(supported_kernels(), disabled == nullptr ? "" : disabled, [](std::string_view name) {
            log(LogLevel::warning, "TRICODEC_DISABLE_CPU_FEATURES: '" + std::string(name) +
                                       "' is no feature that tricodec uses and is ignored; known are " +
                                       known_features());
        });
    }();
    return kernels;
}

std::string known_features() {
    return listed(kX86Features) + ", " + std::string(kArmFeature);
}

const Kernels* choose_kernels(std::span<const Kernels> supported, std::string_view disabled,
                              const std::function<void(std::string_view)>& unknown) {
    std::size_t x86_from = 0;  // the first of kX86Features still allowed
    bool arm = true;
    while (!disabled.empty()) {
        const std::size_t comma = std::min(disabled.find(','), disabled.size());
        const std::string_view name = trimmed(disabled.substr(0, comma));
        disabled.remove_prefix(std::min(comma + 1, disabled.size()));
        const auto found = std::find(kX86Features.begin(), kX86Features.end(), name);
        if (found != kX86Features.end()) {
            x86_from = std::max(x86_from, static_cast<std::size_t>(found - kX86Features.begin()) + 1);
        } else if (name == kArmFeature) {
            arm = false;
        } else if (!name.empty()) {
            unknown(name);
        }
    }
    for (const Kernels& kernels : supported) {
        const auto place = std::find(kX86Features.begin(), kX86Features.end(), kernels.feature);
        const bool allowed =
            place == kX86Features.end() ? arm : static_cast<std::size_t>(place - kX86Features.begin()) >= x86_from;
        if (allowed) return &kernels;
    }
    return nullptr;
}

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

PreparedPlan::PreparedPlan(Plan plan) : plan_(std::move(plan)) {
    if (const Kernels* const kernels = chosen_kernels()) cpu_.emplace(*kernels, plan_);
}

void PreparedPlan::run(const Frame& frame, const TensorView& out, int begin, int end) const {
    if (cpu_) {
        transform_cpu(*cpu_, frame, out, begin, end);
    } else {
        transform_ref(plan_, frame, out, begin, end);
    }
}

}  // namespace tricodec::image

namespace tricodec {

std::string image_engine() {
    const image::Kernels* const kernels = image::chosen_kernels();
    if (kernels != nullptr) return "highway " + std::string(kernels->name);
    return image::supported_kernels().empty() ? "scalar" : "scalar (TRICODEC_DISABLE_CPU_FEATURES)";
}

}  // namespace tricodec
