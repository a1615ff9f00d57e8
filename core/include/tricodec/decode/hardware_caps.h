// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "tricodec/media/stream_info.h"
#include "tricodec/tensor/pixel_format.h"

namespace tricodec {

/// What a GPU decodes of one kind of pictures; all 0 if it does not.
struct HardwareCaps {
    bool supported = false;
    int num_engines = 0;
    int min_width = 0;
    int min_height = 0;
    int max_width = 0;
    int max_height = 0;
    int max_macroblocks = 0;
};

/// What GPU `index` decodes of a codec, by any of the formats of equal subsampling and depth. All 0 in a build without
/// the engine. Throws Error(device).
[[nodiscard]] HardwareCaps hardware_caps(CodecId codec, PixelFormat format, int index);

/// Why GPU `index` does not give the CPU's frames of a video stream, for people, as far as the stream's headers tell;
/// empty if it does. Without an index: why no GPU does. Throws Error(device).
[[nodiscard]] std::string gpu_refusal(const StreamInfo& stream, std::optional<int> index);

}  // namespace tricodec
