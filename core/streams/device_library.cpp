// SPDX-License-Identifier: Apache-2.0
#include "streams/device_library.h"

extern "C" {
#include <libavutil/avstring.h>
}

#include "base/never_destroyed.h"
#include "base/shared_library.h"
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
