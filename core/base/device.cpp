// SPDX-License-Identifier: Apache-2.0
#include "tricodec/base/device.h"

#include <charconv>
#include <cstdlib>

#include "base/suggestion.h"
#include "tricodec/base/error.h"
#include "tricodec/base/gpu.h"
#include "tricodec/base/text.h"

namespace tricodec {
namespace {

/// The number behind "cuda:" or "auto:", 0 where there is none, -1 for what is no number.
int parse_index(std::string_view request) {
    const auto colon = request.find(':');
    if (colon == std::string_view::npos) return 0;
    int index = -1;
    const std::string_view digits = request.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    return error == std::errc() && end == digits.data() + digits.size() ? index : -1;
}

/// The request, or what TRICODEC_DEVICE says in place of "auto".
std::string replaced_auto(std::string_view request) {
    auto wanted = lower(request);
    if (wanted == "auto") {
        if (const char* text = std::getenv("TRICODEC_DEVICE"); text != nullptr && *text != '\0') wanted = lower(text);
    }
    if (wanted == "gpu" || wanted.starts_with("gpu:")) wanted.replace(0, 3, "cuda");
    return wanted;
}

}  // namespace

std::string Device::to_string() const {
    return kind == Kind::cpu ? "cpu" : "cuda:" + std::to_string(index);
}

bool demands_device(std::string_view request) {
    return !replaced_auto(request).starts_with("auto");
}

Device resolve_device(std::string_view request, GpuNeed need) {
    const std::string wanted = replaced_auto(request);
    if (wanted == "cpu") return Device{};
    if (wanted == "auto" || wanted.starts_with("auto:")) {
        const int index = parse_index(wanted);
        if (index >= 0) {
            const auto reason = need == GpuNeed::engines ? gpu_unusable_reason(index) : gpu_incomplete_reason(index);
            return reason.empty() ? Device{Device::Kind::cuda, index} : Device{};
        }
    }
    if (wanted == "cuda" || wanted.starts_with("cuda:")) {
        const int index = parse_index(wanted);
        if (index >= 0) {
            const auto reason = gpu_unusable_reason(index);
            TRICODEC_EXPECT(reason.empty(), device,
                            "device '" + wanted + "' was asked for, but " + reason + "; use device='cpu' or 'auto'");
            return Device{Device::Kind::cuda, index};
        }
    }
    fail(ErrorCode::invalid_argument,
         "device '" + wanted + "'" + (same_word(request, "auto") && wanted != "auto" ? " (from TRICODEC_DEVICE)" : "") +
             " is not accepted; use 'auto', 'auto:N', 'cpu', 'cuda' or 'cuda:N'" +
             did_you_mean(wanted, "auto cpu cuda cuda:0 cuda:1 cuda:2 cuda:3"));
}

}  // namespace tricodec
