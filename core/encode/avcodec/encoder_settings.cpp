// SPDX-License-Identifier: Apache-2.0
#include "encode/avcodec/encoder_settings.h"

extern "C" {
#include <libavutil/opt.h>
}

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/suggestion.h"
#include "ffmpeg/encoder_choice.h"
#include "ffmpeg/pixel_repack.h"
#include "tricodec/base/error.h"
#include "tricodec/base/text.h"

namespace tricodec {
namespace {

/// The formats that an encoder takes, of those that frames here can have. Pixels of four bytes hold rgb24.
std::vector<PixelFormat> accepted_formats(const AVCodec& codec) {
    std::vector<PixelFormat> accepted;
    for (const auto format : encoder_formats(codec)) {
        const auto known = is_packed_rgb32(format) ? PixelFormat::rgb24 : ff::to_pixel_format(format);
        if (known != PixelFormat::unknown && std::ranges::find(accepted, known) == accepted.end())
            accepted.push_back(known);
    }
    return accepted;
}

/// True if pictures of `from` come to `to` without a loss but of depth.
bool keeps_colors(const PixelFormatInfo& from, const PixelFormatInfo& to) noexcept {
    if (from.family == ColorFamily::gray && to.family == ColorFamily::yuv) return true;
    return from.family == to.family && to.log2_chroma_w <= from.log2_chroma_w && to.log2_chroma_h <= from.log2_chroma_h;
}

constexpr int kMostThreads = 128;  // the maximum of libx264; memory grows with each

/// Bounds thread pools that libavcodec's thread_count does not control. Options of the caller stay in effect.
void bound_threads(const AVCodecContext& context, int num_threads, CodecSettings& settings) {
    const std::string_view name = context.codec->name;
    const bool x265 = name == "libx265";
    if (num_threads <= 0 || !(x265 || name == "libsvtav1")) return;
    const char* option = x265 ? "x265-params" : "svtav1-params";
    if (av_opt_find(context.priv_data, option, nullptr, 0, 0) == nullptr) return;
    put_first(settings, option, (x265 ? "pools=" : "lp=") + std::to_string(std::min(num_threads, kMostThreads)));
}

/// Codecs that always give their headers beside the packets, so that they are known. AvEncoder adds them to the packets
/// if that is asked for.
bool has_headers(AVCodecID codec) noexcept {
    return codec == AV_CODEC_ID_H264 || codec == AV_CODEC_ID_HEVC || codec == AV_CODEC_ID_AV1;
}

/// True for codecs that have tools for fields; others refuse the flags. Pairs of rows of 4:2:0 are of both fields.
bool codes_fields(const AVCodecContext& context) noexcept {
    constexpr std::array kCodecs{AV_CODEC_ID_H264, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG4, AV_CODEC_ID_PRORES,
                                 AV_CODEC_ID_DNXHD};
    return context.height % 4 == 0 && std::ranges::find(kCodecs, context.codec->id) != kCodecs.end();
}

bool is_mpeg(AVCodecID id) noexcept {
    return id == AV_CODEC_ID_MPEG1VIDEO || id == AV_CODEC_ID_MPEG2VIDEO || id == AV_CODEC_ID_MPEG4;
}

}  // namespace

void expect_encodable(const AVCodec& codec, const EncoderOptions& options) {
    expect_encodable(options.width, options.height);
    const auto& format = info(options.format);
    const auto accepted = accepted_formats(codec);
    TRICODEC_EXPECT(accepted.empty() || std::ranges::find(accepted, options.format) != accepted.end(), invalid_argument,
                    std::string(format.name) + " is not accepted by " + codec.name + "; it accepts " +
                        listed(accepted, [](PixelFormat each) { return to_string(each); }));
    TRICODEC_EXPECT(options.frame_rate.num > 0 && options.frame_rate.den > 0, invalid_argument,
                    "frame_rate is " + std::to_string(options.frame_rate.num) + "/" +
                        std::to_string(options.frame_rate.den) + "; it must be positive");
    expect_rate(options.bit_rate, "bit_rate");
    TRICODEC_EXPECT(options.num_threads >= 0, invalid_argument,
                    "num_threads is " + std::to_string(options.num_threads) +
                        "; use 0 for the encoder's own choice, or a positive number");
    TRICODEC_EXPECT(
        options.gop_size >= -1, invalid_argument,
        "gop_size is " + std::to_string(options.gop_size) + "; use -1 for the encoder's own choice, or 0 or more");
    TRICODEC_EXPECT(options.num_b_frames >= -1, invalid_argument,
                    "num_b_frames is " + std::to_string(options.num_b_frames) +
                        "; use -1 for the encoder's own choice, or 0 or more");
    const int rotation = options.orientation.rotation_degrees;
    TRICODEC_EXPECT(rotation == 0 || rotation == 90 || rotation == 180 || rotation == 270, invalid_argument,
                    "rotation is " + std::to_string(rotation) + "; it must be 0, 90, 180 or 270");
}

bool is_lossless(const AVCodec& codec) noexcept {
    const auto* found = avcodec_descriptor_get(codec.id);
    return found != nullptr && (found->props & AV_CODEC_PROP_LOSSY) == 0;
}

PixelFormat nearest_format(const AVCodec& codec, PixelFormat source) {
    const auto accepted = accepted_formats(codec);
    const auto takes = [&](PixelFormat format) { return std::ranges::find(accepted, format) != accepted.end(); };
    const auto& from = info(source);
    // Lossy codecs of RGB exist, but few players read them.
    if (from.family == ColorFamily::rgb && takes(PixelFormat::yuv420p) && !is_lossless(codec)) {
        const bool deep = from.depth > 8 && takes(PixelFormat::yuv420p10le);
        return deep ? PixelFormat::yuv420p10le : PixelFormat::yuv420p;
    }
    if (accepted.empty() || takes(source)) return source;
    // First those that keep the colors, then those that keep the bits, with the fewest samples and bits beyond them.
    const auto rank = [&](const PixelFormatInfo& to) {
        const bool colors = keeps_colors(from, to);
        const int chroma = to.log2_chroma_w + to.log2_chroma_h;
        return std::tuple(!colors, to.family != from.family, colors ? -chroma : chroma, to.depth < from.depth,
                          to.depth < from.depth ? -to.depth : to.depth);
    };
    const PixelFormatInfo* best = nullptr;
    for (const auto& to : all_pixel_formats()) {
        // A gray picture of a colored one is asked for by name.
        if (!takes(to.format) || (to.family == ColorFamily::gray && from.family != ColorFamily::gray)) continue;
        if (best == nullptr || rank(to) < rank(*best)) best = &to;
    }
    return best != nullptr ? best->format : PixelFormat::yuv420p;
}

AVPixelFormat encoder_pixel_format(const AVCodec& codec, PixelFormat format) {
    AVPixelFormat found = ff::to_av(format);
    const auto accepted = encoder_formats(codec);
    if (accepted.empty() || std::ranges::find(accepted, found) != accepted.end()) return found;
    for (const auto each : accepted) {
        if (ff::to_pixel_format(each) == format || (format == PixelFormat::rgb24 && is_packed_rgb32(each))) return each;
    }
    return found;
}

bool needs_full_range(const AVCodec& codec, PixelFormat format) noexcept {
    return info(format).family == ColorFamily::yuv && (codec.id == AV_CODEC_ID_MJPEG || codec.id == AV_CODEC_ID_LJPEG ||
                                                       ff::is_full_range_format(encoder_pixel_format(codec, format)));
}

Rational encoder_frame_rate(const AVCodec& codec, Rational wanted) {
    AVRational rate = ff::to_av(wanted);
    // The header of MPEG-4 has 16 bits for it.
    if (counts_frames(codec)) av_reduce(&rate.num, &rate.den, rate.num, rate.den, 65535);
    const auto accepted = encoder_frame_rates(codec);
    if (accepted.empty()) return ff::to_rational(rate);
    return ff::to_rational(*std::ranges::min_element(
        accepted, {}, [&](AVRational each) { return std::abs(std::log(av_q2d(each) / av_q2d(rate))); }));
}

bool counts_frames(const AVCodec& codec) noexcept {
    const bool own = codec.wrapper_name == nullptr || std::string_view(codec.wrapper_name) == "libxvid";
    return own && (codec.capabilities & AV_CODEC_CAP_HARDWARE) == 0;
}

Rational encoder_time_base(const EncoderOptions& options) noexcept {
    return options.time_base.known() ? options.time_base : Rational{options.frame_rate.den, options.frame_rate.num};
}

void set_up_encoder(AVCodecContext& context, const EncoderOptions& options) {
    context.width = options.width;
    context.height = options.height;
    const auto& codec = *context.codec;
    context.pix_fmt = encoder_pixel_format(codec, options.format);
    context.framerate = ff::to_av(encoder_frame_rate(codec, options.frame_rate));
    context.time_base = counts_frames(codec) ? av_inv_q(context.framerate) : ff::to_av(encoder_time_base(options));
    if ((codec.capabilities & AV_CODEC_CAP_EXPERIMENTAL) != 0)
        context.strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
    context.bit_rate = options.bit_rate;
    if (options.gop_size >= 0) context.gop_size = options.gop_size;
    if (options.num_b_frames >= 0) context.max_b_frames = options.num_b_frames;
    context.thread_count = std::min(options.num_threads, kMostThreads);
    // Encoders with frame threads keep pictures longer than send() promises.
    if ((context.codec->capabilities & AV_CODEC_CAP_FRAME_THREADS) != 0) context.thread_type = FF_THREAD_SLICE;
    context.sample_aspect_ratio = ff::to_av(options.sample_aspect_ratio);
    context.colorspace = static_cast<AVColorSpace>(options.color.matrix);
    context.color_primaries = static_cast<AVColorPrimaries>(options.color.primaries);
    context.color_trc = static_cast<AVColorTransferCharacteristic>(options.color.transfer);
    context.color_range = ff::to_av(options.color.range);
    context.chroma_sample_location = static_cast<AVChromaLocation>(options.color.chroma_location);
    if (options.global_header || has_headers(context.codec->id)) context.flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    // Decoding can start at every key frame. The others of libavcodec's own have closed groups, and refuse the flag.
    if (!counts_frames(codec) || is_mpeg(codec.id)) context.flags |= AV_CODEC_FLAG_CLOSED_GOP;
    if (options.interlaced) {
        context.field_order = options.bottom_field_first ? AV_FIELD_BB : AV_FIELD_TT;
        if (codes_fields(context)) context.flags |= AV_CODEC_FLAG_INTERLACED_DCT | AV_CODEC_FLAG_INTERLACED_ME;
    }
}

namespace {

/// DNxHD itself has a few sizes, each with a few bit rates; DNxHR has any.
bool is_dnxhr(const AVCodecContext& context) noexcept {
    constexpr std::array<std::array<int, 2>, 4> kSizes{{{1920, 1080}, {1440, 1080}, {1280, 720}, {960, 720}}};
    const std::array<int, 2> size{context.width, context.height};
    return context.codec->id == AV_CODEC_ID_DNXHD &&
           (context.bit_rate == 0 || std::ranges::find(kSizes, size) == kSizes.end());
}

const char* dnxhr_profile(AVPixelFormat format) noexcept {
    return format == AV_PIX_FMT_YUV422P ? "dnxhr_hq" : format == AV_PIX_FMT_YUV422P10LE ? "dnxhr_hqx" : "dnxhr_444";
}

}  // namespace

CodecSettings quality_settings(std::string_view encoder, double crf) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%g", crf);
    return {{encoder.ends_with("_nvenc") ? "cq" : "crf", text.data()}};
}

namespace {

/// libx264 takes 99 for 51 in silence, and the others refuse such values without saying what they take.
void expect_quality(const AVCodecContext& context, const std::string& name, const std::string& value, double crf) {
    if (av_opt_find(context.priv_data, name.c_str(), nullptr, 0, 0) == nullptr) return;  // refused as an unknown option
    const std::string encoder = context.codec->name;
    const int most = encoder.starts_with("libx26") || encoder.ends_with("_nvenc") ? 51 : 63;
    TRICODEC_EXPECT(crf >= 0 && crf <= most, invalid_argument,
                    "crf is " + value + "; " + encoder + " takes 0 to " + std::to_string(most) +
                        ": a smaller value gives a better picture and a larger file");
}

}  // namespace

CodecSettings encoder_settings(const AVCodecContext& context, const EncoderOptions& options) {
    CodecSettings settings = options.options;
    if (options.crf) {
        auto quality = quality_settings(context.codec->name, *options.crf);
        const auto& [name, value] = *quality.begin();
        expect_quality(context, name, value, *options.crf);
        settings.merge(quality);
    }
    // Otherwise libx264 forces an I frame, and later frames may refer to frames before it.
    if (av_opt_find(context.priv_data, "forced-idr", nullptr, 0, 0) != nullptr) settings.try_emplace("forced-idr", "1");
    // libavcodec's own MPEG encoders do not open with closed groups while they look for changes of scene.
    if (is_mpeg(context.codec->id) && av_opt_find(context.priv_data, "sc_threshold", nullptr, 0, 0) != nullptr)
        settings.try_emplace("sc_threshold", "1000000000");
    if (is_dnxhr(context)) settings.try_emplace("profile", dnxhr_profile(context.pix_fmt));
    bound_threads(context, options.num_threads, settings);
    return settings;
}

std::map<std::string, std::string> unknown_encoder_options(const std::string& encoder,
                                                           const std::map<std::string, std::string>& options) {
    ff::install_log();
    const AVCodec* codec = avcodec_find_encoder_by_name(encoder.c_str());
    TRICODEC_EXPECT(codec != nullptr, invalid_argument, "no encoder '" + encoder + "' is in this FFmpeg");
    const ff::CodecContextPtr context(avcodec_alloc_context3(codec));
    TRICODEC_EXPECT(context != nullptr, out_of_memory, "could not allocate an encoder");
    std::map<std::string, std::string> unknown;
    for (const auto& [key, value] : options) {
        const ff::CallLog call_log;
        const int code = av_opt_set(context.get(), key.c_str(), value.c_str(), AV_OPT_SEARCH_CHILDREN);
        if (code == AVERROR_OPTION_NOT_FOUND) {
            unknown[key] = "";
        } else if (code < 0) {
            unknown[key] = ff::error_text(code);
        }
    }
    return unknown;
}

}  // namespace tricodec
