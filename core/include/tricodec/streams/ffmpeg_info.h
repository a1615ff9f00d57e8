// SPDX-License-Identifier: Apache-2.0
/// The contents of the FFmpeg libraries in use. Thread safety: safe.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

namespace tricodec::ffmpeg {

/// "libavcodec" -> {59, 37, 100}; libraries that are not installed are left out.
[[nodiscard]] std::map<std::string, std::array<int, 3>> versions();
[[nodiscard]] std::string build_config();
/// FFmpeg's numbers, -8 (quiet) to 56 (trace). The lines go to our own log, where its level lets them pass. -8 until
/// one is set: errors and warnings are then lines of level debug, and the rest is none.
[[nodiscard]] int log_level() noexcept;
void set_log_level(int level) noexcept;

enum class Media { audio, video };

/// Short name -> long name.
[[nodiscard]] std::map<std::string, std::string> demuxers();
[[nodiscard]] std::map<std::string, std::string> muxers();
[[nodiscard]] std::map<std::string, std::string> decoders(Media media);
[[nodiscard]] std::map<std::string, std::string> encoders(Media media);
/// Empty if libavdevice is not installed.
[[nodiscard]] std::map<std::string, std::string> input_devices();
[[nodiscard]] std::map<std::string, std::string> output_devices();
[[nodiscard]] std::vector<std::string> input_protocols();
[[nodiscard]] std::vector<std::string> output_protocols();

/// Forgets the GPU contexts that streams share. Streams that use one keep it.
void clear_cuda_context_cache() noexcept;

struct EncoderProbe {
    bool works = false;
    std::string reason;  ///< why it does not, or what encoded
};
/// Encodes a picture or a few samples: a listed encoder may still lack its hardware. `device` is "cpu" (frames in host
/// memory), "cuda" or "cuda:N" (frames on that GPU). Throws Error(invalid_argument) for an unknown encoder.
[[nodiscard]] EncoderProbe probe_encoder(const std::string& name, const std::string& device);

}  // namespace tricodec::ffmpeg
