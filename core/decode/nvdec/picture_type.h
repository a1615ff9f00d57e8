// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "decode/nvdec/cuvid.h"

namespace tricodec::nvdec {
/// 'I', 'P', 'B' or '?', as libavcodec names the type of a picture: that of its first slice.
[[nodiscard]] char picture_type(const CUVIDPICPARAMS& picture, cudaVideoCodec codec);
/// True if decoding may begin here as the bitstream itself says: an IDR picture, an IRAP picture, an intra picture of
/// the codecs that have no others.
[[nodiscard]] bool is_random_access_point(const CUVIDPICPARAMS& picture, cudaVideoCodec codec);
/// The picture parameter set that the first slice of an H.264 or HEVC picture names; nothing if it cannot be read.
[[nodiscard]] std::optional<unsigned> picture_parameter_set(const CUVIDPICPARAMS& picture, cudaVideoCodec codec);
}  // namespace tricodec::nvdec
