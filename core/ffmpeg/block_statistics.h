// SPDX-License-Identifier: Apache-2.0
/// What a decoder knows of the 16x16 blocks of a picture, in the layout of NVIDIA's decode statistics.
#pragma once

#include <cstdint>
#include <string>

#include "ffmpeg/ffmpeg.h"

namespace tricodec {

/// The beginning of the statistics. NVIDIA's package reads these fields and no others.
struct BlockStatisticsHeader {
    static constexpr std::uint32_t kPresent = 1;
    static constexpr std::uint32_t kHasSecondVectors = 2;
    std::uint32_t flags = 0;
    std::uint32_t num_blocks = 0;
    std::uint32_t reserved[6] = {};
};

/// One block; they follow the header, row by row of the coded picture.
struct BlockStatistics {
    enum class Type : std::uint8_t { intra = 0, inter = 1, skipped = 2, pcm = 3 };
    std::uint8_t qp_luma = 0;
    std::uint8_t type_bits = 0;  ///< bits 1 to 3 are the type
    std::uint8_t reserved[2] = {};
    std::int16_t vectors[2][2] = {};  ///< by list of references: x and y in quarters of a sample
};
static_assert(sizeof(BlockStatisticsHeader) == 32 && sizeof(BlockStatistics) == 12);

[[nodiscard]] constexpr std::size_t block_statistics_bytes(int coded_width, int coded_height) noexcept {
    const auto blocks = [](int size) { return static_cast<std::size_t>((size + 15) / 16); };
    return sizeof(BlockStatisticsHeader) + blocks(coded_width) * blocks(coded_height) * sizeof(BlockStatistics);
}

/// Makes libavcodec export what block_statistics() needs, before the context is opened. Only H.264's decoder does, and
/// not with a thread for each frame: it may export a picture that another thread has not finished.
void export_blocks(AVCodecContext& context) noexcept;

/// The statistics of a picture that libavcodec decoded, or null if they are not there. `log` is the text of the
/// ff::DebugLog while it was decoded and returned. The pictures before it and its own are removed from the text.
/// libavcodec tells skipped and PCM blocks nowhere else.
[[nodiscard]] std::shared_ptr<const std::vector<std::byte>> block_statistics(const AVFrame& picture, std::string& log);

}  // namespace tricodec
