// SPDX-License-Identifier: Apache-2.0
#include "common/option_arguments.h"

#include <dali/pipeline/operator/error_reporting.h>

#include <cctype>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "common/arguments.h"
#include "tricodec/base/error.h"

namespace tricodec::plugin {
namespace {

constexpr const char* kRange[] = {"start", "stride", "count"};

/// The meaning as sentences, with the accepted values.
std::string doc_of(const OptionInfo& option) {
    std::string doc(option.meaning);
    doc.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(doc.front())));
    if (option.accepted.empty()) return doc;
    if (option.type == OptionType::text) return doc + " One of " + option.accepted + ".";
    return "``(" + option.accepted + ")``. " + doc + " An empty tensor is the same as no argument.";
}

void expect_length(const OptionInfo& option, std::size_t length) {
    if (option.accepted.empty()) return;
    const auto wanted = static_cast<std::size_t>(std::ranges::count(option.accepted, ',')) + 1;
    if (length == wanted) return;
    throw ::dali::DaliValueError(::dali::make_string("argument \"", option.name, "\" has ", length,
                                                     " numbers; it takes ", wanted, " integers (", option.accepted,
                                                     ")"));
}

}  // namespace

std::optional<OptionValue> value_of(const OptionInfo& option, const ::dali::ArgumentWorkspace& workspace, int sample) {
    const std::string name(option.name);
    const auto& list = workspace.ArgumentInput(name);
    if (sample >= list.num_samples()) {
        throw ::dali::DaliValueError(
            ::dali::make_string("argument \"", name, "\" has ", list.num_samples(), " samples, the input has more"));
    }
    if (option.type == OptionType::wholes) {
        auto numbers = integers_of(list, sample, name);
        if (numbers.empty() && !option.accepted.empty()) return std::nullopt;
        expect_length(option, numbers.size());
        return numbers;
    }
    auto numbers = numbers_of(list, sample, name);
    if (option.type == OptionType::numbers) return numbers;
    if (numbers.size() > 1) {
        throw ::dali::DaliValueError(::dali::make_string("argument \"", name, "\" of sample ", sample, " has shape ",
                                                         list.tensor_shape(sample), "; it takes one number, or none"));
    }
    if (numbers.empty()) return std::nullopt;
    if (option.type != OptionType::whole) return numbers.front();
    constexpr double kMost = 9007199254740992.0;  // whole numbers up to here are exact
    TRICODEC_EXPECT(std::trunc(numbers.front()) == numbers.front() && std::abs(numbers.front()) <= kMost,
                    invalid_argument, name + " is " + std::to_string(numbers.front()) + "; it must be a whole number");
    return static_cast<std::int64_t>(numbers.front());
}

std::optional<OptionValue> constant_of(const ::dali::OpSpec& spec, const OptionInfo& option) {
    const std::string name(option.name);
    if (!spec.HasArgument(name)) return std::nullopt;
    switch (option.type) {
        case OptionType::whole:
            return spec.GetArgument<std::int64_t>(name);
        case OptionType::number:
            return double{spec.GetArgument<float>(name)};
        case OptionType::flag:
            return spec.GetArgument<bool>(name);
        case OptionType::text:
            return spec.GetArgument<std::string>(name);
        case OptionType::wholes: {
            auto numbers = spec.GetRepeatedArgument<std::int64_t>(name);
            if (numbers.empty() && !option.accepted.empty()) return std::nullopt;
            expect_length(option, numbers.size());
            return numbers;
        }
        case OptionType::numbers: {
            const auto numbers = spec.GetRepeatedArgument<float>(name);
            return std::vector<double>(numbers.begin(), numbers.end());
        }
    }
    return std::nullopt;
}

void add_argument(::dali::OpSchema& schema, const OptionInfo& option, const std::optional<OptionValue>& standard,
                  bool per_sample) {
    const std::string name(option.name);
    const auto doc = doc_of(option);
    switch (option.type) {
        case OptionType::whole:
            schema.AddOptionalArg<std::int64_t>(name, doc, nullptr, per_sample);
            break;
        case OptionType::number:
            schema.AddOptionalArg<float>(name, doc, nullptr, per_sample);
            break;
        case OptionType::flag:
            schema.AddOptionalArg(name, doc, std::get<bool>(standard.value()));
            break;
        case OptionType::text:
            if (standard) {
                schema.AddOptionalArg(name, doc, std::get<std::string>(*standard));
            } else {
                schema.AddOptionalArg<std::string>(name, doc, nullptr);
            }
            break;
        case OptionType::wholes:
            if (option.accepted.empty()) {
                schema.AddOptionalArg<std::vector<std::int64_t>>(name, doc, nullptr, per_sample);
            } else {
                schema.AddOptionalArg<std::vector<int>>(name, doc, nullptr, per_sample);
            }
            break;
        case OptionType::numbers:
            schema.AddOptionalArg<std::vector<float>>(name, doc, nullptr, per_sample);
            break;
    }
}

SelectionArguments::SelectionArguments(const ::dali::OpSpec& spec, bool of_reader)
    : OptionArguments(spec, selection_options(), {"start", "stride", "count"}) {
    if (!is_given()) return;
    translate_errors("", [&] {
        const bool by_sample = differs_by_sample() || std::ranges::any_of(kRange, [&](const char* name) {
                                   return spec.HasTensorArgument(name);
                               });
        TRICODEC_EXPECT(
            !by_sample || !of_reader, invalid_argument,
            "an argument that selects frames is a tensor; a reader takes constants, the same for all files");
        if (by_sample) return;  // each sample's are checked
        auto& selection = constants();
        selection.stride = spec.GetArgument<std::int64_t>("stride");
        if (!of_reader) {
            selection.start = spec.GetArgument<std::int64_t>("start");
            selection.count = spec.GetArgument<std::int64_t>("count");
        }
        expect_valid(selection);
    });
}

}  // namespace tricodec::plugin

static const ::dali::OpSchema& tricodec_selection_arguments = tricodec::plugin::options_schema(
    "tricodec__SelectionArguments", "The options that select frames.", tricodec::selection_options(),
    {tricodec::OptionType::whole, tricodec::OptionType::number, tricodec::OptionType::wholes,
     tricodec::OptionType::numbers},
    {"start", "stride", "count"});
