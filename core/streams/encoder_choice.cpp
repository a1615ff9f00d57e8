// SPDX-License-Identifier: Apache-2.0
#include "streams/encoder_choice.h"

extern "C" {
#include <libavutil/samplefmt.h>
}

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace tricodec::streams {
namespace {

std::string text(AVPixelFormat format) {
    const char* name = av_get_pix_fmt_name(format);
    return name == nullptr ? "?" : name;
}
std::string text(AVSampleFormat format) {
    const char* name = av_get_sample_fmt_name(format);
    return name == nullptr ? "?" : name;
}
std::string text(AVRational rate) {
    return std::to_string(rate.num) + "/" + std::to_string(rate.den);
}
std::string text(int number) {
    return std::to_string(number);
}

template <class Value>
std::string list(const std::vector<Value>& values) {
    std::string names;
    for (const auto& value : values) names += (names.empty() ? "" : ", ") + text(value);
    return names;
}

template <class Value, class Equal>
Value expect_among(const AVCodec& codec, const std::vector<Value>& accepted, Value asked, const char* what,
                   Equal equal) {
    const bool found =
        accepted.empty() || std::ranges::any_of(accepted, [&](Value each) { return equal(each, asked); });
    TRICODEC_EXPECT(
        found, invalid_argument,
        std::string(what) + " " + text(asked) + " is not taken by '" + codec.name + "'; it takes " + list(accepted));
    return asked;
}

bool same_rate(AVRational a, AVRational b) noexcept {
    return av_cmp_q(a, b) == 0;
}

}  // namespace

const AVCodec& find_encoder(const std::string& name, AVMediaType type, const std::string& container) {
    const char* kind = av_get_media_type_string(type);
    if (!name.empty()) {
        const auto* codec = avcodec_find_encoder_by_name(name.c_str());
        TRICODEC_EXPECT(codec != nullptr && codec->type == type, invalid_argument,
                        "unexpected codec: no encoder of " + std::string(kind) + " is called '" + name +
                            "'; tricodec.io.ffmpeg_utils lists them (get_" + kind + "_encoders())");
        return *codec;
    }
    const auto* format = av_guess_format(container.c_str(), nullptr, nullptr);
    const auto id =
        format == nullptr ? AV_CODEC_ID_NONE : (type == AVMEDIA_TYPE_VIDEO ? format->video_codec : format->audio_codec);
    const auto* codec = id == AV_CODEC_ID_NONE ? nullptr : avcodec_find_encoder(id);
    TRICODEC_EXPECT(codec != nullptr, invalid_argument,
                    "'" + container + "' has no " + kind + " codec of its own here; name one (encoder=)");
    return *codec;
}

AVPixelFormat parse_pixel_format(const std::string& name, const char* what) {
    const auto format = av_get_pix_fmt(name.c_str());
    TRICODEC_EXPECT(format != AV_PIX_FMT_NONE, invalid_argument,
                    std::string(what) + " '" + name +
                        "' is no pixel format; use FFmpeg's names: rgb24, bgr24, gray8, yuv444p, yuv420p, ...");
    return format;
}

AVSampleFormat parse_sample_format(const std::string& name, const char* what) {
    const auto format = av_get_sample_fmt(name.c_str());
    TRICODEC_EXPECT(format != AV_SAMPLE_FMT_NONE, invalid_argument,
                    std::string(what) + " '" + name +
                        "' is no sample format; use u8, s16, s32, s64, flt, dbl or, planar, u8p, s16p, ...");
    return format;
}

AVRational parse_frame_rate(double rate, const char* what) {
    TRICODEC_EXPECT(std::isfinite(rate) && rate > 0, invalid_argument,
                    std::string(what) + " must be a positive number of frames a second, not " + std::to_string(rate));
    return av_d2q(rate, 1 << 24);
}

AVPixelFormat choose_pixel_format(const AVCodec& codec, const std::string& asked, AVPixelFormat input) {
    const auto accepted = ff::encoder_formats(codec);
    if (!asked.empty()) {
        return expect_among(codec, accepted, parse_pixel_format(asked, "encoder_format"), "encoder_format",
                            std::equal_to<>());
    }
    return accepted.empty() ? input : accepted.front();
}

AVRational choose_frame_rate(const AVCodec& codec, double asked, AVRational input) {
    const auto accepted = ff::encoder_frame_rates(codec);
    if (asked != 0) {
        return expect_among(codec, accepted, parse_frame_rate(asked, "encoder_frame_rate"), "encoder_frame_rate",
                            same_rate);
    }
    const bool taken =
        accepted.empty() || std::ranges::any_of(accepted, [&](AVRational each) { return same_rate(each, input); });
    return taken ? input : accepted.front();
}

AVSampleFormat choose_sample_format(const AVCodec& codec, const std::string& asked, AVSampleFormat input) {
    const auto accepted = ff::encoder_sample_formats(codec);
    if (!asked.empty()) {
        return expect_among(codec, accepted, parse_sample_format(asked, "encoder_format"), "encoder_format",
                            std::equal_to<>());
    }
    return accepted.empty() ? input : accepted.front();
}

int choose_sample_rate(const AVCodec& codec, int asked, int input) {
    const auto accepted = ff::encoder_sample_rates(codec);
    if (asked != 0) return expect_among(codec, accepted, asked, "encoder_sample_rate", std::equal_to<>());
    if (accepted.empty()) return input;
    return *std::ranges::min_element(accepted, {}, [&](int rate) { return std::abs(rate - input); });
}

int choose_channels(const AVCodec& codec, int asked, int input) {
    const auto accepted = ff::encoder_channel_counts(codec);
    if (asked != 0) return expect_among(codec, accepted, asked, "encoder_num_channels", std::equal_to<>());
    if (accepted.empty()) return input;
    return *std::ranges::min_element(accepted, {}, [&](int count) { return std::abs(count - input); });
}

}  // namespace tricodec::streams
