// SPDX-License-Identifier: Apache-2.0
#include "tricodec/streams/ffmpeg_info.h"

extern "C" {
#include <libavutil/avstring.h>
}

#include "base/never_destroyed.h"
#include "base/shared_library.h"
#include "ffmpeg/ffmpeg.h"
#include "ffmpeg/filter_graph.h"
#include "streams/device_library.h"
#include "streams/gpu_surfaces.h"
#include "tricodec/streams/stream_reader.h"

namespace tricodec::streams {
namespace {

struct Library {
    unsigned (*version)() = nullptr;
    void (*register_all)() = nullptr;
    const AVInputFormat* (*next_input[2])(const AVInputFormat*) = {};
    const AVOutputFormat* (*next_output[2])(const AVOutputFormat*) = {};
    // libavdevice and libavformat have the same major version in all releases.
    std::string reason = open_ffmpeg_library("libavdevice", LIBAVFORMAT_VERSION_MAJOR, "",
                                             [this](SharedLibrary& library) { find(library); });

    void find(SharedLibrary& library) {
        library.find(version, "avdevice_version");
        library.find(register_all, "avdevice_register_all");
        library.find(next_input[0], "av_input_audio_device_next");
        library.find(next_input[1], "av_input_video_device_next");
        library.find(next_output[0], "av_output_audio_device_next");
        library.find(next_output[1], "av_output_video_device_next");
        if (library.missing().empty()) register_all();
    }
};

const Library& library() {
    static NeverDestroyed<Library> opened;
    return *opened;
}

}  // namespace

unsigned device_library(std::string* reason) {
    const auto& opened = library();
    if (reason != nullptr) *reason = opened.reason;
    return opened.reason.empty() ? opened.version() : 0;
}

const AVInputFormat* next_input_device(const AVInputFormat* last, bool video) {
    const auto& opened = library();
    return opened.reason.empty() ? opened.next_input[video ? 1 : 0](last) : nullptr;
}

const AVOutputFormat* next_output_device(const AVOutputFormat* last, bool video) {
    const auto& opened = library();
    return opened.reason.empty() ? opened.next_output[video ? 1 : 0](last) : nullptr;
}

const AVInputFormat* find_input_device(const std::string& name) {
    for (const bool video : {true, false}) {
        const AVInputFormat* device = nullptr;
        while ((device = next_input_device(device, video)) != nullptr) {
            if (av_match_name(name.c_str(), device->name) != 0) return device;
        }
    }
    return nullptr;
}

}  // namespace tricodec::streams

namespace tricodec {

bool StreamReader::is_device(const std::string& format) {
    if (format.empty()) return false;
    // libavdevice is opened only for names that are no demuxer of a file.
    const auto* known = av_find_input_format(format.c_str());
    return (known == nullptr || (known->flags & AVFMT_NOFILE) != 0) && streams::find_input_device(format) != nullptr;
}

}  // namespace tricodec

namespace tricodec::ffmpeg {
namespace {

using Names = std::map<std::string, std::string>;

std::string text(const char* words) {
    return words == nullptr ? "" : words;
}

Names codecs(Media media, int (*is_kind)(const AVCodec*)) {
    const auto type = media == Media::audio ? AVMEDIA_TYPE_AUDIO : AVMEDIA_TYPE_VIDEO;
    Names names;
    void* state = nullptr;
    while (const auto* codec = av_codec_iterate(&state)) {
        if (codec->type == type && is_kind(codec) != 0) names[codec->name] = text(codec->long_name);
    }
    return names;
}

std::vector<std::string> protocols(int output) {
    std::vector<std::string> names;
    void* state = nullptr;
    while (const char* name = avio_enum_protocols(&state, output)) names.emplace_back(name);
    return names;
}

template <class Device>
Names devices(Device next) {
    Names names;
    for (const bool video : {false, true}) {
        decltype(next(nullptr, video)) device = nullptr;
        while ((device = next(device, video)) != nullptr) names[device->name] = text(device->long_name);
    }
    return names;
}

/// The formats without the devices that libavdevice adds to them.
template <class Iterate>
Names formats(Iterate iterate, const Names& without) {
    Names names;
    void* state = nullptr;
    while (const auto* format = iterate(&state)) {
        // If two have one name ("matroska", also for audio only), the name means the first one.
        if (!without.contains(format->name)) names.emplace(format->name, text(format->long_name));
    }
    return names;
}

}  // namespace

std::map<std::string, std::array<int, 3>> versions() {
    std::map<std::string, std::array<int, 3>> result;
    const auto add = [&](const char* name, unsigned number) {
        result[name] = {static_cast<int>(AV_VERSION_MAJOR(number)), static_cast<int>(AV_VERSION_MINOR(number)),
                        static_cast<int>(AV_VERSION_MICRO(number))};
    };
    add("libavutil", avutil_version());
    add("libavcodec", avcodec_version());
    add("libavformat", avformat_version());
    if (const auto* filters = find_filters(); filters != nullptr) add("libavfilter", filters->avfilter_version());
    if (const auto number = streams::device_library(); number != 0) add("libavdevice", number);
    return result;
}

std::string build_config() {
    return avcodec_configuration();
}

int log_level() noexcept {
    return ff::shown_log();
}

void set_log_level(int level) noexcept {
    ff::show_log(level);
}

Names demuxers() {
    return formats(av_demuxer_iterate, input_devices());
}
Names muxers() {
    return formats(av_muxer_iterate, output_devices());
}
Names decoders(Media media) {
    return codecs(media, av_codec_is_decoder);
}
Names encoders(Media media) {
    return codecs(media, av_codec_is_encoder);
}
Names input_devices() {
    return devices(streams::next_input_device);
}
Names output_devices() {
    return devices(streams::next_output_device);
}
std::vector<std::string> input_protocols() {
    return protocols(0);
}
std::vector<std::string> output_protocols() {
    return protocols(1);
}

void clear_cuda_context_cache() noexcept {
    streams::clear_hw_devices();
}

}  // namespace tricodec::ffmpeg
