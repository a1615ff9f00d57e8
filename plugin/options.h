// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>

#include <cstdint>
#include <vector>

#include "tricodec/transform.h"

namespace tricodec::plugin {

/// The constant arguments of an operator as a Transform's options: everything but crop and size.
/// Throws tricodec::Error(invalid_argument) for words and types that are not accepted.
[[nodiscard]] TransformOptions read_transform_options(const ::dali::OpSpec& spec);

/// Puts a sample's crop (4 numbers) and size (2 numbers) into options; empty vectors leave them unset.
void set_geometry(TransformOptions& options, const std::vector<std::int64_t>& crop,
                  const std::vector<std::int64_t>& size);

/// uint8, float16 or float32; throws tricodec::Error(invalid_argument) on others.
[[nodiscard]] DType to_dtype(::dali::DALIDataType type);

}  // namespace tricodec::plugin
