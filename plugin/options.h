// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tricodec/transform.h"

namespace tricodec::plugin {

/// The constant arguments of an operator as a Transform's options: everything but crop, size and rotate.
/// Throws tricodec::Error(invalid_argument) for words and types that are not accepted.
[[nodiscard]] TransformOptions read_transform_options(const ::dali::OpSpec& spec);

/// Puts a sample's crop (4 numbers) and size (2 numbers) into options; empty vectors leave them unset.
void set_geometry(TransformOptions& options, const std::vector<std::int64_t>& crop,
                  const std::vector<std::int64_t>& size);

/// Throws tricodec::Error(invalid_argument), naming the argument, for a number that no int holds.
[[nodiscard]] int to_int(std::int64_t value, const char* argument);
/// A constant argument so; DALI's own GetArgument<int> drops the upper bits.
[[nodiscard]] int int_argument(const ::dali::OpSpec& spec, const char* name);
/// The argument "stream_index": -1 or more.
[[nodiscard]] int stream_index_argument(const ::dali::OpSpec& spec);

/// uint8, float16 or float32; throws tricodec::Error(invalid_argument) on others.
[[nodiscard]] DType to_dtype(::dali::DALIDataType type);
/// The way back, also of uint16.
[[nodiscard]] ::dali::DALIDataType to_dali(DType dtype);

/// DALI's letters for a transformed frame: "HWC" (also for hwc8), "CHW", or "CHWc" for pairs of channels.
[[nodiscard]] std::string layout_name(Layout layout);
/// How many dimensions it has.
[[nodiscard]] int layout_ndim(Layout layout);

/// Throws tricodec::Error(refused) if a sample's frames are more bytes than the limits allow, before DALI allocates
/// them.
void check_output_bytes(const std::vector<std::int64_t>& shape, DType dtype);
/// The same of all samples of a batch.
void check_batch_bytes(const ::dali::TensorListShape<>& shape, DType dtype);

}  // namespace tricodec::plugin
