// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tricodec {

/// Note [Options]: a request is plain data with a table of its options: how front ends take each of its fields. The
/// keywords of Python and their docstrings, the arguments of DALI, the inputs of Triton's models, their client and the
/// command line read the tables, so that an option is named, typed and explained in one place.
enum class OptionType : std::uint8_t {
    whole,    ///< a whole number
    number,   ///< a number
    flag,     ///< true or false
    text,     ///< one of a few texts
    wholes,   ///< whole numbers
    numbers,  ///< numbers
};

/// The value of an option between a front end and a request, by its type.
using OptionValue =
    std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>, std::vector<double>>;

struct OptionInfo {
    std::string_view name;
    OptionType type;
    std::string accepted;      ///< the values of a text, or what the numbers of a list of fixed length are; "a, b, c"
    std::string_view meaning;  ///< sentences for people, without a capital letter at the start
};

template <class Request>
struct Option : OptionInfo {
    /// Throws Error(invalid_argument) for a text that is not accepted.
    void (*set)(Request&, const OptionValue&);
    /// Nothing for an option that is left out.
    std::optional<OptionValue> (*get)(const Request&);
    /// True if the value is not the default.
    bool (*is_changed)(const Request&);
};
template <class Request>
using Options = std::span<const Option<Request>>;

/// The option of this name, or null.
template <class Request>
[[nodiscard]] const Option<Request>* find_option(Options<Request> options, std::string_view name) noexcept {
    for (const auto& option : options) {
        if (option.name == name) return &option;
    }
    return nullptr;
}

}  // namespace tricodec
