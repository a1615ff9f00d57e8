// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "media/ffmpeg.h"

namespace tricodec::streams {

/// libavdevice, opened when a device is asked for by name: it brings half a desktop with it, and nothing else here
/// needs it. Returns its version, 0 where it is not installed; `reason` then says so.
[[nodiscard]] unsigned device_library(std::string* reason = nullptr);

/// The input device called `name` ("lavfi", "v4l2", ...), or null.
[[nodiscard]] const AVInputFormat* find_input_device(const std::string& name);

/// The next device after `last` (null begins), audio or video.
[[nodiscard]] const AVInputFormat* next_input_device(const AVInputFormat* last, bool video);
[[nodiscard]] const AVOutputFormat* next_output_device(const AVOutputFormat* last, bool video);

}  // namespace tricodec::streams
