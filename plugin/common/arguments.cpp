// SPDX-License-Identifier: Apache-2.0
#include "common/arguments.h"

#include <dali/pipeline/operator/error_reporting.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "tricodec/base/error.h"
#include "tricodec/base/text.h"

namespace tricodec::plugin {
namespace {

/// The numbers of a sample as `Value`, if their type is one of `Types`.
template <typename Value, typename... Types>
std::optional<std::vector<Value>> read_sample(const ::dali::TensorList<::dali::CPUBackend>& list, int sample) {
    std::optional<std::vector<Value>> numbers;
    const auto read = [&]<typename T>(const T* data) {
        numbers.emplace(data, data + list.tensor_shape(sample).num_elements());
    };
    ((list.type() == ::dali::TypeTable::GetTypeId<Types>() ? read(list.tensor<Types>(sample)) : void()), ...);
    return numbers;
}

}  // namespace

std::vector<std::int64_t> integers_of(const ::dali::TensorList<::dali::CPUBackend>& list, int sample,
                                      const std::string& name) {
    auto numbers = read_sample<std::int64_t, std::int64_t, std::int32_t, std::int16_t, std::int8_t, std::uint32_t,
                               std::uint16_t, std::uint8_t>(list, sample);
    if (numbers) return *std::move(numbers);
    throw ::dali::DaliTypeError(
        ::dali::make_string("argument \"", name, "\" holds ", list.type(),
                            "; it takes integers (int64, int32 or smaller): fn.cast(x, dtype=types.INT64)"));
}

std::vector<double> numbers_of(const ::dali::TensorList<::dali::CPUBackend>& list, int sample,
                               const std::string& name) {
    if (auto numbers = read_sample<double, double, float>(list, sample)) return *std::move(numbers);
    const auto integers = integers_of(list, sample, name);
    return {integers.begin(), integers.end()};
}

IntArgument::IntArgument(std::string name, const ::dali::OpSpec& spec, bool is_list)
    : name_(std::move(name)), is_list_(is_list), is_tensor_(spec.HasTensorArgument(name_)) {
    if (is_tensor_) return;
    if (!is_list_) constant_ = {spec.GetArgument<std::int64_t>(name_)};
    if (is_list_ && spec.HasArgument(name_)) constant_ = spec.GetRepeatedArgument<std::int64_t>(name_);
}

std::vector<std::vector<std::int64_t>> IntArgument::values(const ::dali::ArgumentWorkspace& workspace,
                                                           int num_samples) const {
    const auto count = static_cast<std::size_t>(num_samples);
    if (!is_tensor_) return {count, constant_};
    const auto& list = workspace.ArgumentInput(name_);
    if (list.num_samples() != num_samples) {
        throw ::dali::DaliValueError(::dali::make_string("argument \"", name_, "\" has ", list.num_samples(),
                                                         " samples, the input has ", num_samples));
    }
    std::vector<std::vector<std::int64_t>> result(count);
    for (int sample = 0; sample < num_samples; ++sample) {
        auto& numbers = result[static_cast<std::size_t>(sample)];
        numbers = integers_of(list, sample, name_);
        if (is_list_ || numbers.size() == 1) continue;
        throw ::dali::DaliValueError(::dali::make_string("argument \"", name_, "\" of sample ", sample, " has shape ",
                                                         list.tensor_shape(sample), "; it takes one integer"));
    }
    return result;
}

TimesArgument::TimesArgument(std::string name, const ::dali::OpSpec& spec)
    : name_(std::move(name)), is_tensor_(spec.HasTensorArgument(name_)) {
    if (is_tensor_) return;
    const auto constant = spec.GetRepeatedArgument<float>(name_);
    constant_.assign(constant.begin(), constant.end());
}

std::vector<std::vector<double>> TimesArgument::values(const ::dali::ArgumentWorkspace& workspace,
                                                       int num_samples) const {
    if (!is_tensor_) return {static_cast<std::size_t>(num_samples), constant_};
    const auto& list = workspace.ArgumentInput(name_);
    std::vector<std::vector<double>> result;
    for (int sample = 0; sample < num_samples; ++sample) result.push_back(numbers_of(list, sample, name_));
    return result;
}

int to_int(std::int64_t value, const char* argument) {
    TRICODEC_EXPECT(value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max(),
                    invalid_argument,
                    std::string(argument) + " is " + std::to_string(value) +
                        ", which is out of range; it must be from -2147483648 to 2147483647");
    return static_cast<int>(value);
}

int int_argument(const ::dali::OpSpec& spec, const char* name) {
    return to_int(spec.GetArgument<std::int64_t>(name), name);
}

void expect_one_word(const ::dali::OpSpec& spec, const char* argument, const char* dali_word) {
    TRICODEC_EXPECT(!spec.ArgumentDefined(argument) || !spec.ArgumentDefined(dali_word), invalid_argument,
                    std::string(argument) + " and " + dali_word + " are both given; " + dali_word +
                        " is DALI's name for the same, so leave one out");
}

std::string word_argument(const ::dali::OpSpec& spec, const char* name, std::initializer_list<const char*> accepted) {
    auto word = spec.GetArgument<std::string>(name);
    expect_one_of(name, word, accepted);
    return word;
}

void expect_one_of(const char* name, const std::string& word, std::initializer_list<const char*> accepted) {
    TRICODEC_EXPECT(std::ranges::find(accepted, word) != accepted.end(), invalid_argument,
                    std::string(name) + " '" + word + "' is not one of " + listed(accepted));
}

void expect_bytes(::dali::DALIDataType type, int sample_dim, const std::string& input, const std::string& bytes,
                  const std::string& of_sample) {
    if (type != DALI_UINT8) {
        throw ::dali::DaliTypeError(
            ::dali::make_string("the input \"", input, "\" holds ", type, "; it takes ", bytes, " as uint8"));
    }
    if (sample_dim != 1) {
        throw ::dali::DaliValueError(::dali::make_string("the input \"", input, "\" has ", sample_dim,
                                                         " dimensions a sample; it takes 1: ", of_sample));
    }
}

}  // namespace tricodec::plugin
