// SPDX-License-Identifier: Apache-2.0
#include "image/cpu/engine.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/suggestion.h"
#include "image/cpu/cpu_plan.h"
#include "image/cpu/kernels.h"
#include "image/plan.h"
#include "tricodec/base/log.h"
#include "tricodec/image/transform.h"

namespace tricodec::image {
namespace {

/// On x86 each of these includes the ones after it.
constexpr std::array<std::string_view, 3> kX86Features = {"avx512", "avx2", "sse4"};
constexpr std::string_view kArmFeature = "neon";

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
