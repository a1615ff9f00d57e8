// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>

#include <optional>

namespace tricodec::plugin {

/// What the frames will be of an operator that has the arguments of the schema tricodec__DecodingArguments, as far as
/// those are accepted: words that are not are for the operator's constructor to report.
[[nodiscard]] std::optional<::dali::TensorLayout> frames_layout(const ::dali::OpSpec& spec);
[[nodiscard]] std::optional<int> frames_ndim(const ::dali::OpSpec& spec);
[[nodiscard]] std::optional<::dali::DALIDataType> frames_dtype(const ::dali::OpSpec& spec);

}  // namespace tricodec::plugin
