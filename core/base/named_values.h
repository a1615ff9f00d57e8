// SPDX-License-Identifier: Apache-2.0
/// The values of an enumeration and their names.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/suggestion.h"
#include "tricodec/base/error.h"
#include "tricodec/base/text.h"

namespace tricodec {

/// The first entry of a value has its name. Further entries are names that other packages have for it.
template <class Value>
struct NamedValue {
    std::string_view name;
    Value value;
};

/// Empty for a value that is not in the list.
template <class Value, std::size_t kCount>
[[nodiscard]] constexpr std::string_view name_of(const NamedValue<Value> (&values)[kCount], Value value) noexcept {
    for (const auto& each : values) {
        if (each.value == value) return each.name;
    }
    return {};
}

/// "nearest, bilinear, bicubic": the name of each value.
template <class Value, std::size_t kCount>
[[nodiscard]] std::string names_of(const NamedValue<Value> (&values)[kCount]) {
    std::string names;
    for (const auto& each : values) {
        if (each.name == name_of(values, each.value)) names += (names.empty() ? "" : ", ") + std::string(each.name);
    }
    return names;
}

/// Throws Error(invalid_argument), which lists the names, for another one. `option` is what it is the value of.
template <class Value, std::size_t kCount>
[[nodiscard]] Value value_of(std::string_view option, const NamedValue<Value> (&values)[kCount],
                             std::string_view name) {
    for (const auto& each : values) {
        if (same_word(name, each.name)) return each.value;
    }
    const auto accepted = names_of(values);
    fail(ErrorCode::invalid_argument,
         std::string(option) + " '" + std::string(name) + "' is not one of " + accepted + did_you_mean(name, accepted));
}

}  // namespace tricodec
