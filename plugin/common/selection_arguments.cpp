// SPDX-License-Identifier: Apache-2.0
#include "common/selection_arguments.h"

#include <dali/pipeline/operator/error_reporting.h>
#include <dali/pipeline/operator/op_schema.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "common/errors.h"
#include "tricodec/base/error.h"

namespace tricodec::plugin {
namespace {

template <typename T>
std::vector<double> doubles_of(const ::dali::TensorList<::dali::CPUBackend>& list, int sample) {
    const T* data = list.tensor<T>(sample);
    const auto size = list.tensor_shape(sample).num_elements();
    std::vector<double> numbers;
    for (std::int64_t i = 0; i < size; ++i) numbers.push_back(static_cast<double>(data[i]));
    return numbers;
}

std::vector<double> read_numbers(const ::dali::TensorList<::dali::CPUBackend>& list, int sample,
                                 const std::string& name) {
    switch (list.type()) {
        case DALI_FLOAT64:
            return doubles_of<double>(list, sample);
        case DALI_FLOAT:
            return doubles_of<float>(list, sample);
        case DALI_INT64:
            return doubles_of<std::int64_t>(list, sample);
        case DALI_INT32:
            return doubles_of<std::int32_t>(list, sample);
        default:
            throw ::dali::DaliTypeError(::dali::make_string("argument \"", name, "\" holds ", list.type(),
                                                            "; it takes float64, float, int64 or int32"));
    }
}

std::optional<double> one_of(const std::vector<double>& numbers) {
    if (numbers.empty()) return std::nullopt;
    return numbers.front();
}

std::optional<std::int64_t> whole_of(const std::vector<double>& numbers, const char* name) {
    if (numbers.empty()) return std::nullopt;
    constexpr double kMost = 9007199254740992.0;  // whole numbers up to here are exact
    TRICODEC_EXPECT(std::trunc(numbers.front()) == numbers.front() && std::abs(numbers.front()) <= kMost,
                    invalid_argument,
                    std::string(name) + " is " + std::to_string(numbers.front()) + "; it must be a whole number");
    return static_cast<std::int64_t>(numbers.front());
}

/// True for the arguments of whole numbers.
bool is_whole(const std::string& name) {
    return name.ends_with("_frames");
}

}  // namespace

NumberArgument::NumberArgument(std::string name, const ::dali::OpSpec& spec, bool is_list)
    : name_(std::move(name)), is_list_(is_list), is_tensor_(spec.HasTensorArgument(name_)) {
    is_constant_ = !is_tensor_ && spec.HasArgument(name_);
    if (!is_constant_) return;
    if (is_list_) {
        for (const float number : spec.GetRepeatedArgument<float>(name_)) constant_.push_back(number);
    } else if (is_whole(name_)) {
        constant_ = {static_cast<double>(spec.GetArgument<std::int64_t>(name_))};
    } else {
        constant_ = {spec.GetArgument<float>(name_)};
    }
}

std::vector<double> NumberArgument::values(const ::dali::ArgumentWorkspace& workspace, int sample) const {
    if (!is_tensor_) return constant_;
    const auto& list = workspace.ArgumentInput(name_);
    if (sample >= list.num_samples()) {
        throw ::dali::DaliValueError(
            ::dali::make_string("argument \"", name_, "\" has ", list.num_samples(), " samples, the input has more"));
    }
    auto numbers = read_numbers(list, sample, name_);
    if (!is_list_ && numbers.size() > 1) {
        throw ::dali::DaliValueError(::dali::make_string("argument \"", name_, "\" of sample ", sample, " has shape ",
                                                         list.tensor_shape(sample), "; it takes one number, or none"));
    }
    return numbers;
}

SelectionArguments::SelectionArguments(const ::dali::OpSpec& spec, bool of_reader)
    : times_("times", spec, true),
      tolerance_s_("tolerance_s", spec, false),
      fps_("fps", spec, false),
      num_frames_("num_frames", spec, false),
      start_s_("start_s", spec, false),
      end_s_("end_s", spec, false),
      min_frames_("min_frames", spec, false),
      max_frames_("max_frames", spec, false) {
    translate_errors("", [&] {
        if (spec.HasArgument("policy")) words_.policy = parse_time_policy(spec.GetArgument<std::string>("policy"));
        if (spec.HasArgument("sampling")) words_.sampling = parse_sampling(spec.GetArgument<std::string>("sampling"));
    });
    if (spec.ArgumentDefined("indices")) indices_ = IntArgument::list("indices", spec);
    is_given_ = words_ != FrameSelection{} || indices_.has_value();
    bool by_sample = indices_ && spec.HasTensorArgument("indices");
    for (const char* name : {"start", "stride", "count"}) by_sample = by_sample || spec.HasTensorArgument(name);
    for (const auto* number :
         {&times_, &tolerance_s_, &fps_, &num_frames_, &start_s_, &end_s_, &min_frames_, &max_frames_}) {
        is_given_ = is_given_ || number->is_given();
        by_sample = by_sample || number->is_tensor();
    }
    if (!is_given_) return;
    translate_errors("", [&] {
        TRICODEC_EXPECT(
            !by_sample || !of_reader, invalid_argument,
            "an argument that selects frames is a tensor; a reader takes constants, the same for all files");
        if (by_sample) return;  // each sample's are checked
        constants_ = words_;
        constants_.stride = spec.GetArgument<std::int64_t>("stride");
        if (!of_reader) {
            constants_.start = spec.GetArgument<std::int64_t>("start");
            constants_.count = spec.GetArgument<std::int64_t>("count");
        }
        if (indices_) constants_.indices = spec.GetRepeatedArgument<std::int64_t>("indices");
        fill(constants_, [](const NumberArgument& number) { return number.constant(); });
        expect_valid(constants_);
    });
}

template <typename Numbers>
void SelectionArguments::fill(FrameSelection& selection, Numbers numbers) const {
    if (times_.is_given()) selection.times = numbers(times_);
    selection.tolerance_s = one_of(numbers(tolerance_s_));
    selection.fps = one_of(numbers(fps_));
    selection.num_frames = whole_of(numbers(num_frames_), "num_frames");
    selection.start_s = one_of(numbers(start_s_));
    selection.end_s = one_of(numbers(end_s_));
    selection.min_frames = whole_of(numbers(min_frames_), "min_frames");
    selection.max_frames = whole_of(numbers(max_frames_), "max_frames");
}

std::vector<FrameSelection> SelectionArguments::values(const ::dali::ArgumentWorkspace& workspace,
                                                       int num_samples) const {
    std::vector<FrameSelection> selections(static_cast<std::size_t>(num_samples), words_);
    if (!is_given_) return selections;
    std::vector<std::vector<std::int64_t>> indices;
    if (indices_) indices = indices_->values(workspace, num_samples);
    for (int sample = 0; sample < num_samples; ++sample) {
        auto& selection = selections[static_cast<std::size_t>(sample)];
        if (indices_) selection.indices = indices[static_cast<std::size_t>(sample)];
        translate_errors("", [&] {
            fill(selection, [&](const NumberArgument& number) { return number.values(workspace, sample); });
        });
    }
    return selections;
}

}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__SelectionArguments)
    .DocStr("The words that select frames.")
    .AddOptionalArg<std::vector<std::int64_t>>(
        "indices", "Frame numbers instead, in any order, repeats allowed. Negative ones count from the end.", nullptr,
        true)
    .AddOptionalArg<std::vector<float>>(
        "times",
        "Times in seconds instead, in any order, repeats allowed. A float32 of a frame's time means that frame.",
        nullptr, true)
    .AddOptionalArg<float>("tolerance_s",
                           "Greatest distance in seconds of a time from the time of its frame. Without it any time at "
                           "which the video shows a frame is taken.",
                           nullptr, true)
    .AddOptionalArg<std::string>("policy",
                                 "Which frame a time means. ``\"nearest\"`` is the default of ``times``. "
                                 "``\"on_screen\"``, the last frame that begins at or before the time, is the default "
                                 "of ``fps``. ``\"exact\"`` takes only times of frames.",
                                 nullptr)
    .AddOptionalArg<float>("fps", "Frames a second: a frame for each instant begin + k / fps of the part.", nullptr,
                           true)
    .AddOptionalArg<std::int64_t>("num_frames",
                                  "So many frames evenly from the first to the last of the part, rounded.", nullptr,
                                  true)
    .AddOptionalArg<float>(
        "start_s", "Begin of the part in seconds, instead of ``start``: the frame on screen there is the first.",
        nullptr, true)
    .AddOptionalArg<float>(
        "end_s",
        "End of the part in seconds, instead of ``count``: frames that begin at or after it are left "
        "out.",
        nullptr, true)
    .AddOptionalArg<std::string>("sampling",
                                 "A rule that chooses frames, with the other arguments as its parameters: "
                                 "``\"uniform\"``, ``\"centers\"``, ``\"key_frames\"``, ``\"around\"``, ...",
                                 nullptr)
    .AddOptionalArg<std::int64_t>("min_frames",
                                  "Lower bound for ``fps``. If there would be fewer frames, so many are taken evenly.",
                                  nullptr, true)
    .AddOptionalArg<std::int64_t>("max_frames",
                                  "Upper bound for ``fps``. If there would be more frames, so many are taken evenly.",
                                  nullptr, true);
