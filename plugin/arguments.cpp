// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <dali/pipeline/operator/error_reporting.h>

#include <utility>

namespace tricodec::plugin {
namespace {

template <typename T>
std::vector<std::int64_t> read_sample(const ::dali::TensorList<::dali::CPUBackend>& list, int sample) {
    const T* data = list.tensor<T>(sample);
    return {data, data + list.tensor_shape(sample).num_elements()};
}

std::vector<std::int64_t> read_integers(const ::dali::TensorList<::dali::CPUBackend>& list, int sample,
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

}  // namespace

IntArgument::IntArgument(std::string name, const ::dali::OpSpec& spec, std::vector<std::string> words)
    : IntArgument(std::move(name), spec, std::move(words), false) {}

IntArgument IntArgument::list(std::string name, const ::dali::OpSpec& spec) {
    return {std::move(name), spec, {}, true};
}

IntArgument::IntArgument(std::string name, const ::dali::OpSpec& spec, std::vector<std::string> words, bool any_length)
    : name_(std::move(name)),
      words_(std::move(words)),
      any_length_(any_length),
      is_tensor_(spec.HasTensorArgument(name_)) {
    if (is_tensor_) return;
    if (words_.empty() && !any_length_) {
        constant_ = {spec.GetArgument<std::int64_t>(name_)};
        return;
    }
    if (!spec.HasArgument(name_)) return;
    constant_ = spec.GetRepeatedArgument<std::int64_t>(name_);
    if (!any_length_ && !constant_.empty() && constant_.size() != words_.size()) {
        throw ::dali::DaliValueError(::dali::make_string("argument \"", name_, "\" has ", constant_.size(),
                                                         " numbers; it takes ", expectation()));
    }
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
        numbers = read_integers(list, sample, name_);
        if (any_length_) continue;
        const bool may_be_absent = !words_.empty() && numbers.empty();
        const std::size_t wanted = words_.empty() ? 1 : words_.size();
        if (numbers.size() != wanted && !may_be_absent) {
            throw ::dali::DaliValueError(::dali::make_string("argument \"", name_, "\" of sample ", sample,
                                                             " has shape ", list.tensor_shape(sample), "; it takes ",
                                                             expectation()));
        }
    }
    return result;
}

std::string IntArgument::expectation() const {
    if (words_.empty()) return "one integer";
    std::string text = std::to_string(words_.size()) + " integers (";
    for (std::size_t i = 0; i < words_.size(); ++i) text += (i == 0 ? "" : ", ") + words_[i];
    return text + ")";
}

}  // namespace tricodec::plugin
