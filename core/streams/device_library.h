// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ffmpeg/ffmpeg.h"

namespace tricodec::streams {

/// Opens libavdevice, which loads many desktop libraries and is needed only for devices. Returns its version; 0 if it
/// is not installed, with the `reason`.
[[nodiscard]] unsigned device_library(std::string* reason = nullptr);

/// The input device called `name` ("lavfi", "v4l2", ...), or null.
[[nodiscard]] const AVInputFormat* find_input_device(const std::string& name);

/// The audio or video device after `last`; the first one after null.
[[nodiscard]] const AVInputFormat* next_input_device(const AVInputFormat* last, bool video);
[[nodiscard]] const AVOutputFormat* next_output_device(const AVOutputFormat* last, bool video);

}  // namespace tricodec::streams
