// SPDX-License-Identifier: Apache-2.0
#include "encode/avcodec/encoder_settings.h"

extern "C" {
#include <libavutil/opt.h>
}

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/suggestion.h"
#include "media/encoder_choice.h"
#include "tricodec/base/error.h"
#include "tricodec/base/text.h"

namespace tricodec {
namespace {

/// The formats that an encoder takes, of those that frames here can have.
std::vector<PixelFormat> accepted_formats(const AVCodec& codec) {
    std::vector<PixelFormat> accepted;
    for (const auto format : encoder_formats(codec)) {
        const auto known = ff::to_pixel_format(format);
        if (known != PixelFormat::unknown && std::ranges::find(accepted, known) == accepted.end())
            accepted.push_back(known);
    }
    return accepted;
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

}  // namespace

void expect_encodable(const AVCodec& codec, const EncoderOptions& options) {
    expect_encodable(options.width, options.height);
    const auto& format = info(options.format);
    // 4:2:0 of an odd size has no representation in these codecs: half a chroma sample would have to be cropped.
    const int columns = 1 << format.log2_chroma_w;
    const int rows = 1 << format.log2_chroma_h;
    TRICODEC_EXPECT(options.width % columns == 0 && options.height % rows == 0, invalid_argument,
                    std::string(format.name) + " of " + size_text(options.width, options.height) +
                        " cannot be encoded: the width must be a multiple of " + std::to_string(columns) +
                        " and the height of " + std::to_string(rows) + "; crop the frames, or encode yuv444p");
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

PixelFormat nearest_format(const AVCodec& codec, PixelFormat source) {
    const auto accepted = accepted_formats(codec);
    const auto takes = [&](PixelFormat format) { return std::ranges::find(accepted, format) != accepted.end(); };
    if (accepted.empty() || (takes(source) && info(source).family == ColorFamily::yuv)) return source;
    const auto& from = info(source);
    const auto alike = [&](const PixelFormatInfo& to) {
        return takes(to.format) && to.family == from.family && to.num_components == from.num_components &&
               to.log2_chroma_w == from.log2_chroma_w && to.log2_chroma_h == from.log2_chroma_h;
    };
    // Among the layouts of the same samples, the least depth that keeps them all, else the greatest there is.
    const PixelFormatInfo* best = nullptr;
    for (const auto& to : all_pixel_formats()) {
        if (to.format == PixelFormat::unknown || to.family != ColorFamily::yuv || !alike(to)) continue;
        const bool keeps = to.depth >= from.depth;
        const bool best_keeps = best != nullptr && best->depth >= from.depth;
        if (best == nullptr || (keeps && (!best_keeps || to.depth < best->depth)) ||
            (!keeps && !best_keeps && to.depth > best->depth)) {
            best = &to;
        }
    }
    return best != nullptr ? best->format : PixelFormat::yuv420p;
}

Rational encoder_time_base(const EncoderOptions& options) noexcept {
    return options.time_base.known() ? options.time_base : Rational{options.frame_rate.den, options.frame_rate.num};
}

void set_up_encoder(AVCodecContext& context, const EncoderOptions& options) {
    context.width = options.width;
    context.height = options.height;
    context.pix_fmt = ff::to_av(options.format);
    context.time_base = ff::to_av(encoder_time_base(options));
    context.framerate = ff::to_av(options.frame_rate);
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
    context.color_range = options.color.range == ColorRange::limited ? AVCOL_RANGE_MPEG
                          : options.color.range == ColorRange::full  ? AVCOL_RANGE_JPEG
                                                                     : AVCOL_RANGE_UNSPECIFIED;
    context.chroma_sample_location = static_cast<AVChromaLocation>(options.color.chroma_location);
    if (options.global_header || has_headers(context.codec->id)) context.flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    context.flags |= AV_CODEC_FLAG_CLOSED_GOP;  // decoding can start at every key frame
}

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
    const auto id = context.codec->id;
    if (id == AV_CODEC_ID_MPEG1VIDEO || id == AV_CODEC_ID_MPEG2VIDEO || id == AV_CODEC_ID_MPEG4)
        settings.try_emplace("sc_threshold", "1000000000");
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
