// SPDX-License-Identifier: Apache-2.0
#include "tricodec/tensor/dtype.h"

#include <array>
#include <string>
#include <utility>

#include "base/suggestion.h"
#include "tricodec/base/error.h"
#include "tricodec/base/text.h"

namespace tricodec {
namespace {
constexpr std::array<std::string_view, kNumDTypes> kNames = {"uint8",   "uint16",  "int16",   "int32",   "int64",
                                                             "float16", "float32", "float64", "bfloat16"};
constexpr std::pair<std::string_view, DType> kSpellings[] = {{"half", DType::float16},
                                                             {"fp16", DType::float16},
                                                             {"float", DType::float32},
                                                             {"fp32", DType::float32},
                                                             {"bf16", DType::bfloat16}};
}  // namespace

std::string_view to_string(DType dtype) noexcept {
    return kNames[static_cast<std::size_t>(dtype)];
}

DType parse_dtype(std::string_view name) {
    for (const auto& [spelling, dtype] : kSpellings) {
        if (same_word(name, spelling)) return dtype;
    }
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        if (same_word(kNames[i], name)) return static_cast<DType>(i);
    }
    // Others are of arrays alone: no call makes them.
    const std::string accepted = "uint8, float16, bfloat16, float32, or of sound int16, float32";
    fail(ErrorCode::invalid_argument,
         "dtype '" + std::string(name) + "' is not one of " + accepted + did_you_mean(name, accepted));
}

}  // namespace tricodec
