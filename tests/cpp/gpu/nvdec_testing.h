// SPDX-License-Identifier: Apache-2.0
/// Decoding the same packets by NVDEC and by libavcodec, and what differs.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "decode/nvdec/caps.h"
#include "media.h"
#include "tricodec/container/demuxer.h"

namespace tricodec::testing {

constexpr Device kGpu{Device::Kind::cuda, 0};

[[nodiscard]] std::unique_ptr<Demuxer> open(const std::filesystem::path& path);
[[nodiscard]] std::vector<Packet> packets_of(const std::filesystem::path& path);
[[nodiscard]] std::vector<Frame> decode(const std::vector<Packet>& packets, Decoder& decoder);

/// What differs between two decodings, in words; empty if nothing does.
[[nodiscard]] std::string difference(const std::vector<Frame>& cpu, const std::vector<Frame>& gpu, bool timed = true);

struct Compared {
    std::string refusal;
    std::string difference;
    int largest = 0;  ///< difference of two samples of 8 bits at the same place of the same frame
    std::size_t num_frames = 0;
    std::size_t num_cpu_frames = 0;
    PixelFormat format = PixelFormat::unknown;
    bool damaged = false;  ///< what is made up where data are missing is each decoder's own
};

[[nodiscard]] Compared compare(const std::filesystem::path& path);

}  // namespace tricodec::testing
