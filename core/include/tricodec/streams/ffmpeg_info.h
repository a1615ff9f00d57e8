// SPDX-License-Identifier: Apache-2.0
/// The contents of the FFmpeg libraries in use. Thread safety: safe.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "tricodec/encode/encoder.h"

namespace tricodec::ffmpeg {

/// "libavcodec" -> {59, 37, 100}; libraries that are not installed are left out.
[[nodiscard]] std::map<std::string, std::array<int, 3>> versions();
/// The options with which libavcodec was configured.
[[nodiscard]] std::string build_config();
/// FFmpeg's numbers, -8 (quiet) to 56 (trace). The lines go to our own log, where its level lets them pass. -8 until
/// one is set: errors and warnings are then lines of level debug, and the rest is none.
[[nodiscard]] int log_level() noexcept;
void set_log_level(int level) noexcept;

/// Kinds of codecs.
enum class Media { audio, video };

/// Short name -> long name, as in the functions that follow. There are no devices if libavdevice is not installed.
[[nodiscard]] std::map<std::string, std::string> demuxers();
[[nodiscard]] std::map<std::string, std::string> muxers();
[[nodiscard]] std::map<std::string, std::string> decoders(Media media);
[[nodiscard]] std::map<std::string, std::string> encoders(Media media);
[[nodiscard]] std::map<std::string, std::string> input_devices();
[[nodiscard]] std::map<std::string, std::string> output_devices();
/// Protocols of URLs that can be read.
[[nodiscard]] std::vector<std::string> input_protocols();
/// Protocols of URLs that can be written.
[[nodiscard]] std::vector<std::string> output_protocols();

/// Forgets the GPU contexts that streams share. Streams that use one keep it.
void clear_cuda_context_cache() noexcept;

}  // namespace tricodec::ffmpeg
