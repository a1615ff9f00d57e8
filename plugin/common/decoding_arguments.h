// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>

#include <optional>
#include <string>
#include <vector>

#include "common/transform_arguments.h"
#include "tricodec/tensor/pixel_format.h"

namespace tricodec::plugin {

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
    [[nodiscard]] bool empty_on_error() const noexcept { return empty_on_error_; }
    [[nodiscard]] bool damage_is_error() const noexcept { return damage_is_error_; }
    [[nodiscard]] bool gives_damage() const noexcept { return gives_damage_; }

    /// The element type of the frames, and DALI's letters for their axes.
    [[nodiscard]] DType dtype() const;
    [[nodiscard]] std::string layout() const;

private:
    int stream_index_ = -1;
    TransformArguments transform_;
    std::optional<PixelFormat> format_;
    bool empty_on_error_ = false;
    bool damage_is_error_ = false;
    bool gives_damage_ = false;
};

/// The output of frames, for schemas; nothing if an argument is not accepted, which the operator's constructor reports.
[[nodiscard]] std::optional<::dali::TensorLayout> frames_layout(const ::dali::OpSpec& spec);
[[nodiscard]] std::optional<int> frames_ndim(const ::dali::OpSpec& spec);
[[nodiscard]] std::optional<::dali::DALIDataType> frames_dtype(const ::dali::OpSpec& spec);

}  // namespace tricodec::plugin
