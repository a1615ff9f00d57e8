// SPDX-License-Identifier: Apache-2.0
#include "media.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace tricodec::testing {
namespace {

std::filesystem::path directory() {
    const auto path = std::filesystem::current_path() / "test-media-cpp";
    std::filesystem::create_directories(path);
    return path;
}

void run(const std::string& command) {
    if (std::system(command.c_str()) != 0) throw std::runtime_error("this command failed: " + command);
}

std::string quoted(const std::filesystem::path& path) {
    return "'" + path.string() + "'";
}

/// What ffmpeg makes of a source of libavfilter, once a build directory.
std::filesystem::path made(const std::string& name, const std::string& source, const std::string& arguments) {
    const auto path = directory() / name;
    if (std::filesystem::exists(path)) return path;
    // Written under a name of this process: several test processes may want the clip at the same time.
    const auto part = directory() / (std::to_string(::getpid()) + "-" + name);
    run("ffmpeg -nostdin -v error -y -f lavfi -i " + source + " " + arguments + " " + quoted(part));
    std::filesystem::rename(part, path);
    return path;
}

}  // namespace

std::filesystem::path clip(const std::string& name, const std::string& arguments, int num_frames,
                           const std::string& size) {
    return made(name, "testsrc2=size=" + size + ":rate=25",
                "-frames:v " + std::to_string(num_frames) + " -threads 1 -fflags +bitexact " + arguments);
}

std::filesystem::path sound_clip(const std::string& name, const std::string& codec, int seconds) {
    return made(name, "sine=frequency=440:sample_rate=44100:duration=" + std::to_string(seconds),
                "-ac 2 -fflags +bitexact -c:a " + codec);
}

std::filesystem::path standard_clip() {
    return clip("standard.mp4", "-pix_fmt yuv420p -c:v libx264 -preset veryfast -g 12 -bf 2");
}

std::vector<std::byte> read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    return {bytes, bytes + text.size()};
}

std::filesystem::path write_file(const std::string& name, const std::vector<std::byte>& bytes) {
    const auto path = directory() / name;
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path;
}

std::vector<std::byte> ffmpeg_bytes(const std::filesystem::path& path) {
    const auto raw = directory() / (std::to_string(::getpid()) + "-" + path.filename().string() + ".yuv");
    run("ffmpeg -nostdin -v quiet -y -noautorotate -flags unaligned -threads 1 -i " + quoted(path) +
        " -map 0:v:0 -fps_mode passthrough -noautoscale -f rawvideo " + quoted(raw));
    auto bytes = read_file(raw);
    std::filesystem::remove(raw);
    return bytes;
}

std::vector<std::byte> packed(const Frame& frame) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(frame.size_bytes()));
    pack(frame, bytes);
    return bytes;
}

}  // namespace tricodec::testing
