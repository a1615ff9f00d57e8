// SPDX-License-Identifier: Apache-2.0
/// Entries of a table of options from pointers to the fields of a request: Note [Options].
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tricodec/base/option.h"

namespace tricodec {

/// How a field keeps the value of an option.
template <class Field, class Value = Field>
struct Converter {
    static Field from(const Value& value) { return static_cast<Field>(value); }
    static Value to(const Field& field) { return static_cast<Value>(field); }
};
template <>
struct Converter<float> : Converter<float, double> {};
template <>
struct Converter<std::vector<float>> {
    static std::vector<float> from(const std::vector<double>& values) { return {values.begin(), values.end()}; }
    static std::vector<double> to(const std::vector<float>& field) { return {field.begin(), field.end()}; }
};
/// An enumeration, by the function that reads its names; to_string() writes them.
template <auto kParse>
struct Named {
    static auto from(const std::string& name) { return kParse(name); }
    static std::string to(decltype(kParse({})) field) { return std::string(to_string(field)); }
};

/// The same by a list of NamedValues.
template <const auto& kValues>
struct OneOf {
    static auto from(const std::string& name) { return kValues.value_of(name); }
    static std::string to(decltype(kValues.value_of({})) field) { return std::string(kValues.name_of(field)); }
};

template <class Member>
struct MemberOf;
template <class Request_, class Field_>
struct MemberOf<Field_ Request_::*> {
    using Request = Request_;
    using Field = Field_;
};
template <class Request_, class Field_>
struct MemberOf<std::optional<Field_> Request_::*> {
    using Request = Request_;
    using Field = Field_;
};

/// The entry of the field `kMember`. An empty list or text of a field that is not optional is an option left out.
template <auto kMember, class Convert = Converter<typename MemberOf<decltype(kMember)>::Field>>
auto option(std::string_view name, std::string_view meaning, std::string accepted = {}) {
    using Request = typename MemberOf<decltype(kMember)>::Request;
    using Value = decltype(Convert::to(std::declval<typename MemberOf<decltype(kMember)>::Field>()));
    return Option<Request>{
        {name, static_cast<OptionType>(OptionValue(Value{}).index()), std::move(accepted), meaning},
        [](Request& request, const OptionValue& value) { request.*kMember = Convert::from(std::get<Value>(value)); },
        [](const Request& request) -> std::optional<OptionValue> {
            const auto& field = request.*kMember;
            if constexpr (requires { field.has_value(); }) {
                if (!field) return std::nullopt;
                return Convert::to(*field);
            } else {
                auto value = Convert::to(field);
                if constexpr (requires { value.empty(); }) {
                    if (value.empty()) return std::nullopt;
                }
                return value;
            }
        },
        [](const Request& request) {
            static const Request defaults{};
            return request.*kMember != defaults.*kMember;
        }};
}

}  // namespace tricodec
