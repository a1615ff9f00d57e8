// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tricodec {

/// True for libavformat demuxers that read one stream of bytes and never open anything else. Playlists (hls, dash,
/// concat, ...), image sequences and devices are not among them.
[[nodiscard]] bool is_allowed_container(std::string_view demuxer_name) noexcept;
/// True for demuxers of audio and of single pictures that open nothing else, either.
[[nodiscard]] bool is_allowed_audio_or_image(std::string_view demuxer_name) noexcept;
/// All of these names, joined by commas, for libavformat's format_whitelist.
[[nodiscard]] std::string allowed_containers();
/// True for bare codec streams: packets without a container's time stamps.
[[nodiscard]] bool is_elementary(std::string_view demuxer_name) noexcept;
/// True for demuxers of containers with a clock that may jump in mid-stream, as MPEG-TS.
[[nodiscard]] bool has_jumping_clock(std::string_view demuxer_name) noexcept;
/// What a path that names a protocol starts with ("http:", "concat:"), or empty for a plain path.
[[nodiscard]] std::string_view protocol_of(std::string_view path) noexcept;

/// What a file is that is no video, and what to do with it, for the end of an error; "" if that is not known.
/// `demuxer_name` is what libavformat recognizes ("" nothing), `begin` its first bytes, 512 where there are as many.
[[nodiscard]] std::string other_media_remedy(std::string_view demuxer_name, std::string_view begin);

/// The error for a video of which an edit list shows nothing.
[[nodiscard]] std::string all_hidden_text(const std::string& name, std::int64_t num_frames);

}  // namespace tricodec
