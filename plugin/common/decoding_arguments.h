// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>

#include <optional>
#include <string>
#include <vector>

#include "common/resize_arguments.h"
#include "common/transform_arguments.h"
#include "tricodec/tensor/pixel_format.h"

namespace tricodec::plugin {

/// Where the times of frames are among the outputs: the second, last as in DALI's readers, or nowhere.
enum class TimesOutput { second, last, none };

/// The arguments of the operators that decode videos (the schema tricodec__DecodingArguments): which stream of a file,
/// what is done with its frames, and how damage and errors are handled.
class DecodingArguments {
public:
    /// Throws DALI's errors for values that are not accepted.
    explicit DecodingArguments(const ::dali::OpSpec& spec);

    [[nodiscard]] int stream_index() const noexcept { return stream_index_; }
    /// The layout of raw frames; not set if frames are transformed.
    [[nodiscard]] const std::optional<PixelFormat>& format() const noexcept { return format_; }
    [[nodiscard]] const TransformArguments& transform() const noexcept { return transform_; }
    /// Sizes that depend on the picture.
    [[nodiscard]] ResizeArguments& resize() noexcept { return resize_; }
    [[nodiscard]] TimesOutput times() const noexcept { return times_; }
    [[nodiscard]] bool empty_on_error() const noexcept { return empty_on_error_; }
    [[nodiscard]] bool damage_is_error() const noexcept { return damage_is_error_; }
    [[nodiscard]] bool gives_damage() const noexcept { return gives_damage_; }

    /// The element type of the frames, and DALI's letters for their axes.
    [[nodiscard]] DType dtype() const;
    [[nodiscard]] std::string layout() const;

private:
    int stream_index_ = -1;
    TransformArguments transform_;
    ResizeArguments resize_;
    TimesOutput times_ = TimesOutput::second;
    std::optional<PixelFormat> format_;
    bool empty_on_error_ = false;
    bool damage_is_error_ = false;
    bool gives_damage_ = false;
};

/// How many outputs hold times, for schemas.
[[nodiscard]] int num_times_outputs(const ::dali::OpSpec& spec);
/// The output of frames, for schemas; nothing if an argument is not accepted, which the operator's constructor reports.
[[nodiscard]] std::optional<::dali::TensorLayout> frames_layout(const ::dali::OpSpec& spec);
/// The second output, if it holds the times.
[[nodiscard]] std::optional<::dali::TensorLayout> second_layout(const ::dali::OpSpec& spec);
[[nodiscard]] std::optional<::dali::DALIDataType> second_dtype(const ::dali::OpSpec& spec);
[[nodiscard]] std::optional<int> frames_ndim(const ::dali::OpSpec& spec);
[[nodiscard]] std::optional<::dali::DALIDataType> frames_dtype(const ::dali::OpSpec& spec);

}  // namespace tricodec::plugin
