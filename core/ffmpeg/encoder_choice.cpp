// SPDX-License-Identifier: Apache-2.0
#include "ffmpeg/encoder_choice.h"

extern "C" {
#include <libavutil/samplefmt.h>
}

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <span>

#include "base/suggestion.h"
#include "tricodec/base/limits.h"
#include "tricodec/base/text.h"

namespace tricodec {
namespace {

/// The list of values that an encoder accepts. Before FFmpeg 7.1 it is `old_field`, up to an end mark.
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100)  // FFmpeg 7.1
#define TRICODEC_ENCODER_CONFIG(Value, codec, config, old_field, is_end) supported_config<Value>(codec, config)
template <class Value>
std::span<const Value> supported_config(const AVCodec& codec, AVCodecConfig config) {
    const void* found = nullptr;
    int count = 0;
    if (avcodec_get_supported_config(nullptr, &codec, config, 0, &found, &count) < 0 || found == nullptr) return {};
    return {static_cast<const Value*>(found), static_cast<std::size_t>(count)};
}
#else
#define TRICODEC_ENCODER_CONFIG(Value, codec, config, old_field, is_end) until<Value>((codec).old_field, is_end)
template <class Value, class IsEnd>
std::span<const Value> until(const Value* values, IsEnd is_end) {
    std::size_t count = 0;
    while (values != nullptr && !is_end(values[count])) ++count;
    return {values, count};
}
#endif

template <class Value>
std::vector<Value> copied(std::span<const Value> values) {
    return {values.begin(), values.end()};
}

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
    return listed(values, [](const Value& value) { return text(value); });
}

template <class Value, class Equal>
Value expect_among(const AVCodec& codec, const std::vector<Value>& accepted, Value asked, const char* what,
                   Equal equal) {
    const bool found =
        accepted.empty() || std::ranges::any_of(accepted, [&](Value each) { return equal(each, asked); });
    TRICODEC_EXPECT(found, invalid_argument,
                    std::string(what) + " " + text(asked) + " is not accepted by '" + codec.name + "'; it accepts " +
                        list(accepted));
    return asked;
}

bool same_rate(AVRational a, AVRational b) noexcept {
    return av_cmp_q(a, b) == 0;
}

/// The first of these encoders of a codec is preferred.
constexpr const char* kPreferred[] = {"libx264",    "libopenh264", "libx265",   "libsvtav1",
                                      "libaom-av1", "libopus",     "libvorbis", "libmp3lame"};

}  // namespace

const AVOutputFormat* find_container(const std::string& name) noexcept {
    const char* full = name == "mkv" ? "matroska" : (name == "ts" ? "mpegts" : name.c_str());
    return av_guess_format(full, nullptr, nullptr);
}

bool holds(const AVOutputFormat& format, AVCodecID codec) noexcept {
    // libavformat writes other pictures and sound into a transport stream as private data, which no program reads.
    constexpr AVCodecID kOfTransport[] = {
        AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG4,    AV_CODEC_ID_H264, AV_CODEC_ID_HEVC,
        AV_CODEC_ID_VC1,        AV_CODEC_ID_CAVS,       AV_CODEC_ID_DIRAC,    AV_CODEC_ID_MP1,  AV_CODEC_ID_MP2,
        AV_CODEC_ID_MP3,        AV_CODEC_ID_AAC,        AV_CODEC_ID_AAC_LATM, AV_CODEC_ID_AC3,  AV_CODEC_ID_EAC3,
        AV_CODEC_ID_DTS,        AV_CODEC_ID_TRUEHD,     AV_CODEC_ID_OPUS,     AV_CODEC_ID_S302M};
    const auto type = avcodec_get_type(codec);
    if (std::string_view(format.name) == "mpegts" && (type == AVMEDIA_TYPE_VIDEO || type == AVMEDIA_TYPE_AUDIO))
        return std::ranges::find(kOfTransport, codec) != std::end(kOfTransport);
    // Matroska's own answer leaves out what it stores by the tags of AVI.
    return avformat_query_codec(&format, codec, FF_COMPLIANCE_NORMAL) != 0 ||
           (format.codec_tag != nullptr && av_codec_get_tag(format.codec_tag, codec) != 0);
}

const AVCodec* find_encoder(AVCodecID id) noexcept {
    for (const char* name : kPreferred) {
        const auto* codec = avcodec_find_encoder_by_name(name);
        if (codec != nullptr && codec->id == id) return codec;
    }
    return avcodec_find_encoder(id);
}

const AVCodec& choose_encoder(const std::string& name, AVMediaType type, const std::string& container) {
    const char* kind = av_get_media_type_string(type);
    if (!name.empty()) {
        const auto* codec = avcodec_find_encoder_by_name(name.c_str());
        TRICODEC_EXPECT(codec != nullptr && codec->type == type, invalid_argument,
                        "unexpected codec: no encoder of " + std::string(kind) + " is called '" + name +
                            "'; tricodec.io.ffmpeg_utils lists them (get_" + kind + "_encoders())");
        return *codec;
    }
    const auto* format = find_container(container);
    const auto id =
        format == nullptr ? AV_CODEC_ID_NONE : (type == AVMEDIA_TYPE_VIDEO ? format->video_codec : format->audio_codec);
    const auto* codec = id == AV_CODEC_ID_NONE ? nullptr : find_encoder(id);
    TRICODEC_EXPECT(codec != nullptr, invalid_argument,
                    "'" + container + "' has no default " + kind + " encoder in this FFmpeg; name one (encoder=)");
    return *codec;
}

std::vector<AVPixelFormat> encoder_formats(const AVCodec& codec) {
    return copied(TRICODEC_ENCODER_CONFIG(AVPixelFormat, codec, AV_CODEC_CONFIG_PIX_FORMAT, pix_fmts,
                                          [](AVPixelFormat each) { return each == AV_PIX_FMT_NONE; }));
}

std::vector<AVRational> encoder_frame_rates(const AVCodec& codec) {
    return copied(TRICODEC_ENCODER_CONFIG(AVRational, codec, AV_CODEC_CONFIG_FRAME_RATE, supported_framerates,
                                          [](AVRational each) { return each.num == 0; }));
}

std::vector<AVSampleFormat> encoder_sample_formats(const AVCodec& codec) {
    return copied(TRICODEC_ENCODER_CONFIG(AVSampleFormat, codec, AV_CODEC_CONFIG_SAMPLE_FORMAT, sample_fmts,
                                          [](AVSampleFormat each) { return each == AV_SAMPLE_FMT_NONE; }));
}

std::vector<int> encoder_sample_rates(const AVCodec& codec) {
    return copied(TRICODEC_ENCODER_CONFIG(int, codec, AV_CODEC_CONFIG_SAMPLE_RATE, supported_samplerates,
                                          [](int each) { return each == 0; }));
}

std::vector<int> encoder_channel_counts(const AVCodec& codec) {
    std::vector<int> counts;
    for (const auto& layout :
         TRICODEC_ENCODER_CONFIG(AVChannelLayout, codec, AV_CODEC_CONFIG_CHANNEL_LAYOUT, ch_layouts,
                                 [](const AVChannelLayout& each) { return each.nb_channels == 0; })) {
        counts.push_back(layout.nb_channels);
    }
    return counts;
}
#undef TRICODEC_ENCODER_CONFIG

AVPixelFormat parse_pixel_format(const std::string& name, const char* what) {
    const auto format = av_get_pix_fmt(name.c_str());
    TRICODEC_EXPECT(format != AV_PIX_FMT_NONE, invalid_argument,
                    std::string(what) + " '" + name +
                        "' is not a pixel format; use FFmpeg's names: rgb24, bgr24, gray8, yuv444p, yuv420p, ...");
    return format;
}

AVSampleFormat parse_sample_format(const std::string& name, const char* what) {
    const auto format = av_get_sample_fmt(name.c_str());
    TRICODEC_EXPECT(format != AV_SAMPLE_FMT_NONE, invalid_argument,
                    std::string(what) + " '" + name +
                        "' is not a sample format; use u8, s16, s32, s64, flt, dbl or, planar, u8p, s16p, ...");
    return format;
}

AVRational parse_frame_rate(double rate, const char* what) {
    TRICODEC_EXPECT(std::isfinite(rate) && rate > 0, invalid_argument,
                    std::string(what) + " must be a positive number of frames a second, not " + number_text(rate));
    return av_d2q(rate, 1 << 24);
}

AVPixelFormat choose_pixel_format(const AVCodec& codec, const std::string& asked, AVPixelFormat input) {
    const auto accepted = encoder_formats(codec);
    if (!asked.empty()) {
        TRICODEC_EXPECT(
            av_get_pix_fmt(asked.c_str()) != AV_PIX_FMT_NONE || accepted.empty(), invalid_argument,
            "encoder_format '" + asked + "' is not a pixel format; '" + codec.name + "' accepts " + list(accepted));
        return expect_among(codec, accepted, parse_pixel_format(asked, "encoder_format"), "encoder_format",
                            std::equal_to<>());
    }
    return accepted.empty() ? input : accepted.front();
}

AVRational choose_frame_rate(const AVCodec& codec, double asked, AVRational input) {
    const auto accepted = encoder_frame_rates(codec);
    if (asked != 0) {
        return expect_among(codec, accepted, parse_frame_rate(asked, "encoder_frame_rate"), "encoder_frame_rate",
                            same_rate);
    }
    const bool taken =
        accepted.empty() || std::ranges::any_of(accepted, [&](AVRational each) { return same_rate(each, input); });
    return taken ? input : accepted.front();
}

AVSampleFormat choose_sample_format(const AVCodec& codec, const std::string& asked, AVSampleFormat input) {
    const auto accepted = encoder_sample_formats(codec);
    if (!asked.empty()) {
        return expect_among(codec, accepted, parse_sample_format(asked, "encoder_format"), "encoder_format",
                            std::equal_to<>());
    }
    return accepted.empty() ? input : accepted.front();
}

int choose_sample_rate(const AVCodec& codec, int asked, int input) {
    const auto accepted = encoder_sample_rates(codec);
    if (asked != 0) return expect_among(codec, accepted, asked, "encoder_sample_rate", std::equal_to<>());
    if (accepted.empty()) return input;
    return *std::ranges::min_element(accepted, {}, [&](int rate) { return std::abs(rate - input); });
}

int choose_channels(const AVCodec& codec, int asked, int input) {
    const auto accepted = encoder_channel_counts(codec);
    if (asked != 0) return expect_among(codec, accepted, asked, "encoder_num_channels", std::equal_to<>());
    if (accepted.empty()) return input;
    return *std::ranges::min_element(accepted, {}, [&](int count) { return std::abs(count - input); });
}

void expect_encodable(int width, int height) {
    const auto bounds = limits();
    TRICODEC_EXPECT(
        width > 0 && height > 0 && width <= bounds.max_width && height <= bounds.max_height &&
            std::int64_t{width} * height <= bounds.max_pixels,
        invalid_argument,
        "pictures of " + size_text(width, height) +
            " cannot be encoded; width and height must be from 1 to limits.max_width and limits.max_height");
}

void expect_rate(std::int64_t bits, const char* what) {
    constexpr std::int64_t kMost = UINT32_MAX;  // the maximum of SVT-AV1; others accept more
    TRICODEC_EXPECT(
        bits >= 0 && bits <= kMost, invalid_argument,
        std::string(what) + " is " + std::to_string(bits) + "; it must be from 0 (none) to " + std::to_string(kMost));
}

}  // namespace tricodec
