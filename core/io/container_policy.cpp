// SPDX-License-Identifier: Apache-2.0
#include "io/container_policy.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "tricodec/base/text.h"

namespace tricodec {
namespace {

constexpr std::array<std::string_view, 20> kContainers = {"mov,mp4,m4a,3gp,3g2,mj2",
                                                          "matroska,webm",
                                                          "avi",
                                                          "mpegts",
                                                          "mpeg",
                                                          "ivf",
                                                          "flv",
                                                          "asf",
                                                          "ogg",
                                                          "nut",
                                                          "mxf",
                                                          "yuv4mpegpipe",
                                                          "dv",
                                                          "wav",
                                                          "flac",
                                                          "gif",
                                                          "vc1test",
                                                          "mpjpeg",
                                                          "apng",
                                                          "h261"};

constexpr std::array<std::string_view, 9> kElementary = {"h264",      "hevc", "obu",   "av1", "m4v",
                                                         "mpegvideo", "vc1",  "mjpeg", "h263"};

// libavformat's AVFMT_TS_DISCONT.
constexpr std::array<std::string_view, 3> kJumpingClocks = {"mpegts", "mpeg", "ogg"};

// StreamReader opens these, too: audio and pictures.
constexpr std::array<std::string_view, 31> kAudioAndImages = {
    "aac",         "ac3",      "aiff",     "amr",      "amrnb",    "amrwb",     "ape",      "au",
    "caf",         "dsf",      "dts",      "eac3",     "loas",     "mp3",       "mpc",      "mpc8",
    "truehd",      "tta",      "voc",      "w64",      "wv",       "bmp_pipe",  "gif_pipe", "jpeg_pipe",
    "jpegxl_pipe", "pam_pipe", "pgm_pipe", "png_pipe", "ppm_pipe", "tiff_pipe", "webp_pipe"};

template <class List>
bool contains(const List& list, std::string_view name) noexcept {
    return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

bool is_allowed_container(std::string_view demuxer_name) noexcept {
    return contains(kContainers, demuxer_name) || contains(kElementary, demuxer_name);
}

bool is_allowed_audio_or_image(std::string_view demuxer_name) noexcept {
    return contains(kAudioAndImages, demuxer_name);
}

std::string allowed_containers() {
    std::string names;
    const auto add = [&](const auto& list) {
        for (const auto name : list) (names += names.empty() ? "" : ",") += name;
    };
    add(kContainers);
    add(kElementary);
    add(kAudioAndImages);
    return names;
}

std::string other_media_remedy(std::string_view demuxer_name, std::string_view begin) {
    using namespace std::string_view_literals;
    constexpr std::pair<std::string_view, const char*> kArchives[] = {{"\x1f\x8b"sv, "gzip"},
                                                                      {"PK\x03\x04"sv, "zip"},
                                                                      {"\xfd"
                                                                       "7zXZ"sv,
                                                                       "xz"},
                                                                      {"BZh"sv, "bzip2"},
                                                                      {"\x28\xb5\x2f\xfd"sv, "zstd"},
                                                                      {"7z\xbc\xaf"sv, "7z"},
                                                                      {"Rar!"sv, "rar"}};
    for (const auto& [magic, name] : kArchives) {
        if (begin.starts_with(magic)) {
            return std::string("it is compressed (") + name + "); unpack it, and pass the media file in it";
        }
    }
    if (begin.size() > 262 && begin.substr(257, 5) == "ustar") {
        return "it is a tar archive; tricodec.data.Dataset and `tricodec index` read the videos in one, or unpack it";
    }
    const std::string head = lower(begin.substr(0, 64));
    if (head.find("<!doctype html") != std::string::npos || head.find("<html") != std::string::npos) {
        return "it is a web page (HTML), as a failed download gives; download the video itself";
    }
    if (demuxer_name == "image2" || demuxer_name.ends_with("_pipe")) {
        return "it is an image, not a video; Pillow or OpenCV open images";
    }
    if (contains(kAudioAndImages, demuxer_name)) {
        return "it is sound, not a video; tricodec.AudioReader and `tricodec audio` read sound";
    }
    return {};
}

std::string all_hidden_text(const std::string& name, std::int64_t num_frames) {
    return "the edit list of '" + name + "' hides all of its " + std::to_string(num_frames) +
           " frames; ignore_edit_list=True shows them";
}

bool is_elementary(std::string_view demuxer_name) noexcept {
    return contains(kElementary, demuxer_name);
}

bool has_jumping_clock(std::string_view demuxer_name) noexcept {
    return contains(kJumpingClocks, demuxer_name);
}

std::string_view protocol_of(std::string_view path) noexcept {
    // FFmpeg's own rule: letters, digits, '+', '-', '.' up to a colon (or a comma, as in "subfile,,start,0,:").
    std::size_t length = 0;
    while (length < path.size() && (std::isalnum(static_cast<unsigned char>(path[length])) != 0 ||
                                    path[length] == '+' || path[length] == '-' || path[length] == '.')) {
        ++length;
    }
    const bool names_one =
        length >= 2 && length < path.size() && (path[length] == ':' || path.substr(length, 2) == ",,");
    return names_one ? path.substr(0, length) : std::string_view{};
}

}  // namespace tricodec
