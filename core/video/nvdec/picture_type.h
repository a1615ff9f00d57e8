// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "video/nvdec/cuvid.h"

namespace tricodec::nvdec {
/// 'I', 'P', 'B' or '?', as libavcodec names the type of a picture: that of its first slice.
[[nodiscard]] char picture_type(const CUVIDPICPARAMS& picture, cudaVideoCodec codec);
/// True if decoding may begin here as the bitstream itself says: an IDR picture, an IRAP picture, an intra picture of
/// the codecs that have no others.
[[nodiscard]] bool is_random_access_point(const CUVIDPICPARAMS& picture, cudaVideoCodec codec);
}  // namespace tricodec::nvdec
