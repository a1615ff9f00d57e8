// SPDX-License-Identifier: Apache-2.0
#include "io/device_library.h"

#include <dlfcn.h>

extern "C" {
#include <libavutil/avstring.h>
}

namespace tricodec::io {
namespace {

struct Library {
    unsigned (*version)() = nullptr;
    void (*register_all)() = nullptr;
    const AVInputFormat* (*next_input[2])(const AVInputFormat*) = {};
    const AVOutputFormat* (*next_output[2])(const AVOutputFormat*) = {};
    std::string reason;

    Library() {
        // libavdevice's major version has been libavformat's ever since it has one.
        const std::string name = "libavdevice.so." + std::to_string(LIBAVFORMAT_VERSION_MAJOR);
        void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            const char* text = dlerror();
            reason = "FFmpeg's " + name + " is not installed (" + (text == nullptr ? "" : text) +
                     "); install it (Debian: apt-get install ffmpeg)";
            return;
        }
        const auto find = [&]<class Function>(Function*& function, const char* symbol) {
            function = reinterpret_cast<Function*>(dlsym(library, symbol));
            if (function == nullptr && reason.empty()) reason = name + " has no " + symbol;
        };
        find(version, "avdevice_version");
        find(register_all, "avdevice_register_all");
        find(next_input[0], "av_input_audio_device_next");
        find(next_input[1], "av_input_video_device_next");
        find(next_output[0], "av_output_audio_device_next");
        find(next_output[1], "av_output_video_device_next");
        if (reason.empty()) register_all();
    }
};

// Leaked on purpose: libavformat refers to the devices for the life of the process.
const Library& library() {
    static const auto* opened = new Library;
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

}  // namespace tricodec::io
