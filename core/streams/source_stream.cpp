// SPDX-License-Identifier: Apache-2.0
#include "streams/source_stream.h"

extern "C" {
#include <libavutil/samplefmt.h>
}

#include "media/dictionary.h"
#include "streams/device_library.h"

namespace tricodec::streams {

SourceStream describe_source(const AVStream& stream) {
    const auto& parameters = *stream.codecpar;
    SourceStream result;
    const char* type = av_get_media_type_string(parameters.codec_type);
    result.media_type = type == nullptr ? "unknown" : type;
    const auto* codec = avcodec_descriptor_get(parameters.codec_id);
    result.codec = codec == nullptr ? "none" : codec->name;
    if (codec != nullptr && codec->long_name != nullptr) result.codec_long_name = codec->long_name;
    result.metadata = Dictionary::to_map(stream.metadata);
    const bool video = parameters.codec_type == AVMEDIA_TYPE_VIDEO;
    const bool audio = parameters.codec_type == AVMEDIA_TYPE_AUDIO;
    if (!video && !audio) return result;
    const char* format = video ? av_get_pix_fmt_name(static_cast<AVPixelFormat>(parameters.format))
                               : av_get_sample_fmt_name(static_cast<AVSampleFormat>(parameters.format));
    result.format = format == nullptr ? "unknown" : format;
    result.bit_rate = parameters.bit_rate;
    if (stream.nb_frames > 0) result.num_frames = stream.nb_frames;
    result.bits_per_sample = parameters.bits_per_raw_sample;
    if (video) {
        result.width = parameters.width;
        result.height = parameters.height;
        result.frame_rate = stream.r_frame_rate.den == 0 ? 0 : av_q2d(stream.r_frame_rate);
    } else {
        result.sample_rate = parameters.sample_rate;
        result.num_channels = parameters.ch_layout.nb_channels;
    }
    return result;
}

}  // namespace tricodec::streams

namespace tricodec {

bool StreamReader::is_device(const std::string& format) {
    // The library is opened for names that are no demuxer of a file only.
    return !format.empty() &&
           (av_find_input_format(format.c_str()) == nullptr ||
            (av_find_input_format(format.c_str())->flags & AVFMT_NOFILE) != 0) &&
           streams::find_input_device(format) != nullptr;
}

}  // namespace tricodec
