// SPDX-License-Identifier: Apache-2.0
/// The values of an option and their names.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/suggestion.h"
#include "tricodec/base/error.h"
#include "tricodec/base/text.h"

namespace tricodec {

template <class Value>
struct NamedValue {
    std::string_view name;
    Value value;
};
/// The first entry of a value has its name. Further entries are names that other packages have for it.
template <class Value, std::size_t kCount>
struct NamedValues {
    std::string_view option;
    NamedValue<Value> values[kCount];

    /// Empty for a value that is not in the list.
    [[nodiscard]] constexpr std::string_view name_of(Value value) const noexcept {
        for (const auto& each : values) {
            if (each.value == value) return each.name;
        }
        return {};
    }
    /// "nearest, bilinear, bicubic": the name of each value.
    [[nodiscard]] std::string names() const {
        std::string list;
        for (const auto& each : values) {
            if (each.name == name_of(each.value)) list += (list.empty() ? "" : ", ") + std::string(each.name);
        }
        return list;
    }
    /// Throws Error(invalid_argument), which lists the names, for another one.
    [[nodiscard]] Value value_of(std::string_view name) const {
        for (const auto& each : values) {
            if (same_word(name, each.name)) return each.value;
        }
        fail(ErrorCode::invalid_argument, std::string(option) + " '" + std::string(name) + "' is not one of " +
                                              names() + did_you_mean(name, names()));
    }
};

}  // namespace tricodec
