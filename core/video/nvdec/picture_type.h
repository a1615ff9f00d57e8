// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "video/nvdec/cuvid.h"

namespace tricodec::nvdec {
/// 'I', 'P', 'B' or '?', as libavcodec names the type of a picture: that of its first slice.
[[nodiscard]] char picture_type(const CUVIDPICPARAMS& picture, cudaVideoCodec codec);
}  // namespace tricodec::nvdec
