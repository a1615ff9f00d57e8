// SPDX-License-Identifier: Apache-2.0
#include "common/arguments.h"

#include <dali/pipeline/operator/error_reporting.h>

#include <limits>
#include <utility>

#include "tricodec/base/error.h"

namespace tricodec::plugin {
namespace {

template <typename T, typename Value = std::int64_t>
std::vector<Value> read_sample(const ::dali::TensorList<::dali::CPUBackend>& list, int sample) {
    const T* data = list.tensor<T>(sample);
    return {data, data + list.tensor_shape(sample).num_elements()};
}

}  // namespace

std::vector<std::int64_t> integers_of(const ::dali::TensorList<::dali::CPUBackend>& list, int sample,
                                      const std::string& name) {
    switch (list.type()) {
        case DALI_INT64:
            return read_sample<std::int64_t>(list, sample);
        case DALI_INT32:
            return read_sample<std::int32_t>(list, sample);
        case DALI_INT16:
            return read_sample<std::int16_t>(list, sample);
        case DALI_INT8:
            return read_sample<std::int8_t>(list, sample);
        case DALI_UINT32:
            return read_sample<std::uint32_t>(list, sample);
        case DALI_UINT16:
            return read_sample<std::uint16_t>(list, sample);
        case DALI_UINT8:
            return read_sample<std::uint8_t>(list, sample);
        default:
            throw ::dali::DaliTypeError(
                ::dali::make_string("argument \"", name, "\" holds ", list.type(),
                                    "; it takes integers (int64, int32 or smaller): fn.cast(x, dtype=types.INT64)"));
    }
}

std::vector<double> numbers_of(const ::dali::TensorList<::dali::CPUBackend>& list, int sample,
                               const std::string& name) {
    if (list.type() == DALI_FLOAT64) return read_sample<double, double>(list, sample);
    if (list.type() == DALI_FLOAT) return read_sample<float, double>(list, sample);
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

}  // namespace tricodec::plugin
