// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "ffmpeg/ffmpeg.h"
#include "tricodec/io/stream_info.h"

namespace tricodec {

[[nodiscard]] CodecId to_codec(AVCodecID id) noexcept;
/// AV_CODEC_ID_NONE for `unknown` and `other`.
[[nodiscard]] AVCodecID to_av(CodecId codec) noexcept;

/// The codec's headers beside the packets; empty where there are none, and for null.
[[nodiscard]] inline std::span<const std::byte> extradata_of(const AVCodecParameters* parameters) noexcept {
    if (parameters == nullptr || parameters->extradata_size <= 0) return {};
    return {reinterpret_cast<const std::byte*>(parameters->extradata),
            static_cast<std::size_t>(parameters->extradata_size)};
}

[[nodiscard]] StreamInfo describe_stream(AVFormatContext& format, const AVStream& stream);
[[nodiscard]] MediaInfo describe_media(AVFormatContext& format, const std::string& name, std::int64_t size_bytes);

/// Bytes of a frame as the headers describe it.
[[nodiscard]] std::int64_t frame_bytes(const StreamInfo& stream);

}  // namespace tricodec
