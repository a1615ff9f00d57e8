// SPDX-License-Identifier: Apache-2.0
#include "ffmpeg/stream_info.h"

extern "C" {
#include <libavutil/channel_layout.h>
#include <libavutil/dict.h>
#include <libavutil/samplefmt.h>
}

#include <algorithm>
#include <array>
#include <utility>

#include "base/suggestion.h"
#include "ffmpeg/pixel_repack.h"
#include "io/container_policy.h"
#include "tricodec/base/text.h"

namespace tricodec {
namespace {

struct Entry {
    CodecId codec;
    AVCodecID id;
};
constexpr std::array<Entry, 11> kCodecs = {{{CodecId::mpeg1, AV_CODEC_ID_MPEG1VIDEO},
                                            {CodecId::mpeg2, AV_CODEC_ID_MPEG2VIDEO},
                                            {CodecId::mpeg4, AV_CODEC_ID_MPEG4},
                                            {CodecId::vc1, AV_CODEC_ID_VC1},
                                            {CodecId::wmv3, AV_CODEC_ID_WMV3},
                                            {CodecId::h264, AV_CODEC_ID_H264},
                                            {CodecId::mjpeg, AV_CODEC_ID_MJPEG},
                                            {CodecId::hevc, AV_CODEC_ID_HEVC},
                                            {CodecId::vp8, AV_CODEC_ID_VP8},
                                            {CodecId::vp9, AV_CODEC_ID_VP9},
                                            {CodecId::av1, AV_CODEC_ID_AV1}}};

StreamKind to_kind(AVMediaType type) noexcept {
    using enum StreamKind;
    constexpr StreamKind kKinds[] = {video, audio, data, subtitle, attachment};  // in the order of AVMediaType
    return type >= AVMEDIA_TYPE_VIDEO && type <= AVMEDIA_TYPE_ATTACHMENT ? kKinds[type] : other;
}

void describe_audio(const AVCodecParameters& parameters, StreamInfo& info) {
    info.sample_rate = parameters.sample_rate;
    info.num_channels = parameters.ch_layout.nb_channels;
    if (parameters.ch_layout.order != AV_CHANNEL_ORDER_UNSPEC) {
        std::array<char, 256> text{};
        if (av_channel_layout_describe(&parameters.ch_layout, text.data(), text.size()) > 0) {
            info.channel_layout = text.data();
        }
    }
    const auto format = static_cast<AVSampleFormat>(parameters.format);
    if (const char* name = av_get_sample_fmt_name(format)) info.sample_format = name;
}

std::shared_ptr<const AVCodecParameters> copy_parameters(const AVCodecParameters& from) {
    ff::ParametersPtr copy(avcodec_parameters_alloc());
    TRICODEC_EXPECT(copy != nullptr, out_of_memory, "could not allocate codec parameters");
    ff::check(avcodec_parameters_copy(copy.get(), &from), "copying codec parameters");
    return ff::share(std::move(copy));
}

void describe_video(AVFormatContext& format, const AVStream& stream, StreamInfo& info) {
    const auto& parameters = *stream.codecpar;
    const auto pixel_format = static_cast<AVPixelFormat>(parameters.format);
    info.width = parameters.width;
    info.height = parameters.height;
    info.pixel_format = decoded_format(pixel_format);
    if (const char* name = av_get_pix_fmt_name(pixel_format)) info.pixel_format_name = name;
    info.average_frame_rate = ff::to_rational(stream.avg_frame_rate);
    info.real_frame_rate = ff::to_rational(stream.r_frame_rate);
    const AVRational aspect = av_guess_sample_aspect_ratio(&format, const_cast<AVStream*>(&stream), nullptr);
    if (aspect.num != 0) info.sample_aspect_ratio = ff::to_rational(aspect);
    info.color = ff::color_of(parameters);
    info.orientation = ff::to_orientation(ff::display_matrix(stream));
    info.interlaced = parameters.field_order > AV_FIELD_PROGRESSIVE;
    info.bottom_field_first = parameters.field_order == AV_FIELD_BB || parameters.field_order == AV_FIELD_BT;
    info.attached_picture = (stream.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
}

std::string tag(const AVDictionary* tags, const char* name) {
    const auto* found = av_dict_get(tags, name, nullptr, 0);
    return found == nullptr ? "" : found->value;
}

void describe_file(const AVFormatContext& format, MediaInfo& info) {
    const AVDictionaryEntry* entry = nullptr;
    while ((entry = av_dict_get(format.metadata, "", entry, AV_DICT_IGNORE_SUFFIX)) != nullptr)
        info.metadata[entry->key] = entry->value;
    for (unsigned i = 0; i < format.nb_chapters; ++i) {
        const auto& chapter = *format.chapters[i];
        const double unit = av_q2d(chapter.time_base);
        info.chapters.push_back({static_cast<double>(chapter.start) * unit, static_cast<double>(chapter.end) * unit,
                                 tag(chapter.metadata, "title")});
    }
}

/// Names that people say for codecs of another name in FFmpeg.
constexpr std::pair<std::string_view, std::string_view> kCodecSpellings[] = {
    {"h265", "hevc"}, {"h.265", "hevc"}, {"x265", "hevc"},        {"avc", "h264"},        {"h.264", "h264"},
    {"x264", "h264"}, {"av01", "av1"},   {"mpeg2", "mpeg2video"}, {"mpeg1", "mpeg1video"}};

}  // namespace

CodecId to_codec(AVCodecID id) noexcept {
    for (const auto& entry : kCodecs) {
        if (entry.id == id) return entry.codec;
    }
    return id == AV_CODEC_ID_NONE ? CodecId::unknown : CodecId::other;
}

AVCodecID to_av(CodecId codec) noexcept {
    for (const auto& entry : kCodecs) {
        if (entry.codec == codec) return entry.id;
    }
    return AV_CODEC_ID_NONE;
}

std::string_view to_string(CodecId codec) noexcept {
    if (codec == CodecId::other) return "other";
    return codec == CodecId::unknown ? "unknown" : avcodec_get_name(to_av(codec));
}

CodecId parse_codec(std::string_view name) {
    std::string_view wanted = name;
    for (const auto& [spelling, known] : kCodecSpellings) {
        if (same_word(name, spelling)) wanted = known;
    }
    for (const auto& entry : kCodecs) {
        if (same_word(avcodec_get_name(entry.id), wanted)) return entry.codec;
    }
    const auto accepted = listed(kCodecs, [](const auto& entry) { return avcodec_get_name(entry.id); });
    fail(ErrorCode::invalid_argument,
         "codec '" + std::string(name) + "' is not one of " + accepted + did_you_mean(name, accepted));
}

std::string_view to_string(StreamKind kind) noexcept {
    // In the order of the enumeration.
    constexpr std::string_view kNames[] = {"video", "audio", "subtitle", "data", "attachment", "other"};
    return kNames[static_cast<std::size_t>(kind)];
}

double StreamInfo::duration_seconds() const noexcept {
    return duration == kNoTimestamp ? 0.0 : static_cast<double>(duration) * time_base.to_double();
}

StreamInfo describe_stream(AVFormatContext& format, const AVStream& stream) {
    const auto& parameters = *stream.codecpar;
    StreamInfo info;
    info.index = stream.index;
    info.kind = to_kind(parameters.codec_type);
    info.codec = to_codec(parameters.codec_id);
    info.codec_name = parameters.codec_id == AV_CODEC_ID_NONE ? "unknown" : avcodec_get_name(parameters.codec_id);
    if (const char* profile = avcodec_profile_name(parameters.codec_id, parameters.profile)) info.profile = profile;
    info.level = parameters.level < 0 ? -1 : parameters.level;
    info.time_base = ff::to_rational(stream.time_base);
    info.start_pts = ff::to_timestamp(stream.start_time);
    info.duration = ff::to_timestamp(stream.duration);
    info.num_frames = stream.nb_frames;
    info.bit_rate = parameters.bit_rate;
    if (info.kind == StreamKind::video) describe_video(format, stream, info);
    if (info.kind == StreamKind::audio) describe_audio(parameters, info);
    info.language = tag(stream.metadata, "language");
    info.title = tag(stream.metadata, "title");
    info.disposition = stream.disposition;
    info.parameters = copy_parameters(parameters);
    return info;
}

MediaInfo describe_media(AVFormatContext& format, const std::string& name, std::int64_t size_bytes) {
    MediaInfo info;
    info.name = name;
    info.format_name = format.iformat->name;
    info.elementary = is_elementary(info.format_name);
    if (format.duration != AV_NOPTS_VALUE) info.duration_seconds = static_cast<double>(format.duration) / AV_TIME_BASE;
    if (format.start_time != AV_NOPTS_VALUE) info.start_seconds = static_cast<double>(format.start_time) / AV_TIME_BASE;
    info.bit_rate = format.bit_rate;
    info.size_bytes = size_bytes;
    for (unsigned i = 0; i < format.nb_streams; ++i)
        info.streams.push_back(describe_stream(format, *format.streams[i]));
    describe_file(format, info);
    return info;
}

std::int64_t frame_bytes(const StreamInfo& stream) {
    return stream.pixel_format == PixelFormat::unknown
               ? std::int64_t{stream.width} * stream.height * 2
               : info(stream.pixel_format).packed_bytes(stream.width, stream.height);
}

}  // namespace tricodec
