// SPDX-License-Identifier: Apache-2.0
/// The options of the core's tables as arguments of operators: Note [Options].
#pragma once

#include <dali/pipeline/operator/op_schema.h>
#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/workspace/workspace.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/errors.h"
#include "tricodec/base/option.h"
#include "tricodec/selection/frame_selection.h"

namespace tricodec::plugin {

/// The constant of an argument; nothing if it is left out, or is a tensor.
[[nodiscard]] std::optional<OptionValue> constant_of(const ::dali::OpSpec& spec, const OptionInfo& option);

/// The value of one sample's tensor; nothing for an empty one that stands for a number or a list of fixed length.
/// Throws DALI's errors for other types and shapes.
[[nodiscard]] std::optional<OptionValue> value_of(const OptionInfo& option, const ::dali::ArgumentWorkspace& workspace,
                                                  int sample);

/// The options of a table as an operator got them: constants, and tensors with a value for each sample.
template <class Request>
class OptionArguments {
public:
    /// Throws DALI's errors for values that are not accepted. The operator reads the options in `left_out` itself.
    OptionArguments(const ::dali::OpSpec& spec, Options<Request> table,
                    std::initializer_list<std::string_view> left_out) {
        for (const auto& option : table) {
            if (std::ranges::find(left_out, option.name) != left_out.end()) continue;
            if (spec.HasTensorArgument(std::string(option.name))) tensors_.push_back(&option);
            const auto constant = constant_of(spec, option);
            if (constant) translate_errors("", [&] { option.set(constants_, *constant); });
            is_given_ = is_given_ || constant || spec.HasTensorArgument(std::string(option.name));
        }
    }

    /// True if one of them is given.
    [[nodiscard]] bool is_given() const noexcept { return is_given_; }
    [[nodiscard]] bool differs_by_sample() const noexcept { return !tensors_.empty(); }
    [[nodiscard]] const Request& constants() const noexcept { return constants_; }
    [[nodiscard]] Request& constants() noexcept { return constants_; }
    [[nodiscard]] std::vector<Request> values(const ::dali::ArgumentWorkspace& workspace, int num_samples) const {
        std::vector<Request> requests(static_cast<std::size_t>(num_samples), constants_);
        for (const auto* option : tensors_) {
            for (int sample = 0; sample < num_samples; ++sample) {
                translate_errors("", [&] {
                    const auto value = value_of(*option, workspace, sample);
                    if (value) option->set(requests[static_cast<std::size_t>(sample)], *value);
                });
            }
        }
        return requests;
    }

private:
    Request constants_;
    bool is_given_ = false;
    std::vector<const Option<Request>*> tensors_;
};

/// Adds the argument of an option.
void add_argument(::dali::OpSchema& schema, const OptionInfo& option, const std::optional<OptionValue>& standard,
                  bool per_sample);

/// A schema of its own for the options of a table, except those of the names in `left_out`. Options of the types in
/// `per_sample` may be tensors.
template <class Request>
::dali::OpSchema& options_schema(const char* name, const char* doc, Options<Request> table,
                                 std::initializer_list<OptionType> per_sample,
                                 std::initializer_list<std::string_view> left_out) {
    auto& schema = ::dali::SchemaRegistry::RegisterSchema(name);
    // Older versions of DALI have no declared schemas, and no such function.
    const auto define = [](auto& made) {
        if constexpr (requires { made.MakeDefined(); }) made.MakeDefined();
    };
    define(schema);
    schema.DocStr(doc);
    for (const auto& option : table) {
        if (std::ranges::find(left_out, option.name) != left_out.end()) continue;
        const bool by_sample = std::ranges::find(per_sample, option.type) != per_sample.end();
        add_argument(schema, option, option.get(Request{}), by_sample);
    }
    return schema;
}

/// The options that select frames, besides start, stride and count, as arguments of an operator (the schema
/// tricodec__SelectionArguments).
class SelectionArguments : public OptionArguments<FrameSelection> {
public:
    /// A reader has no start and count, and takes constants. Its selection then has its stride. Throws DALI's errors
    /// for values that are not accepted.
    explicit SelectionArguments(const ::dali::OpSpec& spec, bool of_reader = false);
};

}  // namespace tricodec::plugin
