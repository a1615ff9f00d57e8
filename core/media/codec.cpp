// SPDX-License-Identifier: Apache-2.0
#include "media/codec.h"

#include <array>

namespace tricodec {
namespace {
struct Entry {
    Codec codec;
    AVCodecID id;
};
constexpr std::array<Entry, 11> kCodecs = {{{Codec::mpeg1, AV_CODEC_ID_MPEG1VIDEO},
                                            {Codec::mpeg2, AV_CODEC_ID_MPEG2VIDEO},
                                            {Codec::mpeg4, AV_CODEC_ID_MPEG4},
                                            {Codec::vc1, AV_CODEC_ID_VC1},
                                            {Codec::wmv3, AV_CODEC_ID_WMV3},
                                            {Codec::h264, AV_CODEC_ID_H264},
                                            {Codec::mjpeg, AV_CODEC_ID_MJPEG},
                                            {Codec::hevc, AV_CODEC_ID_HEVC},
                                            {Codec::vp8, AV_CODEC_ID_VP8},
                                            {Codec::vp9, AV_CODEC_ID_VP9},
                                            {Codec::av1, AV_CODEC_ID_AV1}}};
}  // namespace

Codec to_codec(AVCodecID id) noexcept {
    for (const auto& entry : kCodecs) {
        if (entry.id == id) return entry.codec;
    }
    return id == AV_CODEC_ID_NONE ? Codec::unknown : Codec::other;
}

AVCodecID to_av(Codec codec) noexcept {
    for (const auto& entry : kCodecs) {
        if (entry.codec == codec) return entry.id;
    }
    return AV_CODEC_ID_NONE;
}

std::string_view to_string(Codec codec) noexcept {
    if (codec == Codec::other) return "other";
    return codec == Codec::unknown ? "unknown" : avcodec_get_name(to_av(codec));
}

Codec parse_codec(std::string_view name) {
    std::string accepted;
    for (const auto& entry : kCodecs) {
        const std::string_view known = avcodec_get_name(entry.id);
        if (known == name) return entry.codec;
        accepted += (accepted.empty() ? "" : ", ") + std::string(known);
    }
    fail(ErrorCode::invalid_argument, "codec '" + std::string(name) + "' is not one of " + accepted);
}

std::string_view to_string(StreamKind kind) noexcept {
    switch (kind) {
        case StreamKind::video:
            return "video";
        case StreamKind::audio:
            return "audio";
        case StreamKind::subtitle:
            return "subtitle";
        case StreamKind::data:
            return "data";
        case StreamKind::attachment:
            return "attachment";
        case StreamKind::other:
            return "other";
    }
    return "other";
}

double StreamInfo::duration_seconds() const noexcept {
    return duration == kNoTimestamp ? 0.0 : static_cast<double>(duration) * time_base.to_double();
}

}  // namespace tricodec
