// SPDX-License-Identifier: Apache-2.0
// Writes every frame of a video, packed, to standard output. Usage: frame_bytes FILE
#include <tricodec/tricodec.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    try {
        const auto source = tricodec::MediaSource::from_path(argv[1]);
        const auto reader = tricodec::FrameReader::open(source);
        const auto frames = reader->iterate({});
        std::vector<std::byte> bytes;
        while (const auto frame = frames->next()) {
            bytes.resize(static_cast<std::size_t>(frame->size_bytes()));
            tricodec::pack(*frame, bytes);
            std::fwrite(bytes.data(), 1, bytes.size(), stdout);
        }
    } catch (const tricodec::Error& error) {
        std::fprintf(stderr, "%s: %s\n", std::string(tricodec::to_string(error.code())).c_str(), error.what());
        return 1;
    }
    return 0;
}
