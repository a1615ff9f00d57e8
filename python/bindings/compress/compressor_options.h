// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include "tricodec/compress.h"

namespace tricodec::python {

/// The options of a codec from a dict of algorithm, chunk_bytes, bitstream, checksums, data_type, algorithm_type,
/// num_rles, num_deltas, use_bitpack, level, trusted and num_threads.
[[nodiscard]] CodecOptions to_codec_options(const pybind11::dict& options);

}  // namespace tricodec::python
