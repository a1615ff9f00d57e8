// SPDX-License-Identifier: Apache-2.0
/// Clips for tests, made by the ffmpeg command line, which is also the oracle of their frames.
#pragma once

#include <cctype>
#include <filesystem>
#include <string>
#include <vector>

#include "tricodec/tensor/frame.h"

namespace tricodec::testing {

/// A clip of 320x180 at 25 frames a second made once a build directory. `arguments` are ffmpeg's output options.
[[nodiscard]] std::filesystem::path clip(const std::string& name, const std::string& arguments, int num_frames = 50,
                                         const std::string& size = "320x180");
/// A sound of 44.1 kHz in stereo, made in the same way.
[[nodiscard]] std::filesystem::path sound_clip(const std::string& name, const std::string& codec, int seconds = 3);
/// H.264 in mp4 with B frames and a key frame every 12 frames.
[[nodiscard]] std::filesystem::path standard_clip();

/// What `ffmpeg -threads 1 -fps_mode passthrough -f rawvideo` writes, in the native pixel format.
[[nodiscard]] std::vector<std::byte> ffmpeg_bytes(const std::filesystem::path& path);
[[nodiscard]] std::vector<std::byte> packed(const Frame& frame);
[[nodiscard]] std::vector<std::byte> read_file(const std::filesystem::path& path);
[[nodiscard]] std::filesystem::path write_file(const std::string& name, const std::vector<std::byte>& bytes);

/// Names the case of a parametrized test after its `file` or `name`.
inline constexpr auto name_of_file = [](const auto& each) {
    std::string name;
    if constexpr (requires { each.param.file; }) {
        name = each.param.file;
    } else {
        name = each.param.name;
    }
    for (char& letter : name) letter = std::isalnum(static_cast<unsigned char>(letter)) != 0 ? letter : '_';
    return name;
};

}  // namespace tricodec::testing
