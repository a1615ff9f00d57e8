// SPDX-License-Identifier: Apache-2.0
#include "ffmpeg/block_statistics.h"

extern "C" {
#include <libavutil/motion_vector.h>
#include <libavutil/video_enc_params.h>
}

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

namespace tricodec {
namespace {

constexpr std::string_view kBegin = "New frame, type: ";

/// Which lists of references a block uses.
struct Lists {
    bool first = false;
    bool second = false;
    friend bool operator==(const Lists&, const Lists&) = default;
};

/// What libavcodec's character for the type of a block means.
struct BlockType {
    BlockStatistics::Type type = BlockStatistics::Type::intra;
    std::optional<Lists> lists;  ///< nothing where direct prediction chooses them
};

std::optional<BlockType> type_of(char letter) {
    using enum BlockStatistics::Type;
    constexpr std::pair<char, BlockType> kTypes[] = {{'P', {pcm, Lists{}}},
                                                     {'i', {intra, Lists{}}},
                                                     {'I', {intra, Lists{}}},
                                                     {'S', {skipped, std::nullopt}},
                                                     {'d', {skipped, std::nullopt}},
                                                     {'D', {inter, std::nullopt}},
                                                     {'>', {inter, Lists{true, false}}},
                                                     {'<', {inter, Lists{false, true}}},
                                                     {'X', {inter, Lists{true, true}}}};
    for (const auto& [known, type] : kTypes) {
        if (known == letter) return type;
    }
    return std::nullopt;
}

/// Moves the text of one picture out of the log: its rows of blocks.
std::string take_picture(std::string& log) {
    const auto begin = log.find(kBegin);
    if (begin == std::string::npos) {
        log.clear();
        return {};
    }
    const auto end = std::min(log.find(kBegin, begin + kBegin.size()), log.size());
    std::string text = log.substr(begin, end - begin);
    log.erase(0, end);
    return text;
}

/// The blocks of `columns` x `rows` in the text of one picture; empty if it is of another picture. Each takes three
/// characters at the end of a line. FFmpeg 6.1 and later write the positions before them and above.
std::vector<BlockType> read_types(std::string_view text, std::size_t columns, std::size_t rows) {
    std::vector<BlockType> types;
    types.reserve(columns * rows);
    while (!text.empty() && types.size() < columns * rows) {
        const auto end = std::min(text.find('\n'), text.size());
        const auto line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.size() < columns * 3) continue;
        const auto row = line.substr(line.size() - columns * 3);
        const auto before = types.size();
        for (std::size_t column = 0; column < columns; ++column) {
            const auto type = type_of(row[column * 3]);
            if (!type) break;
            types.push_back(*type);
        }
        if (types.size() != before + columns) types.resize(before);
    }
    if (types.size() != columns * rows) types.clear();
    return types;
}

std::int16_t narrow(int value) {
    using Limits = std::numeric_limits<std::int16_t>;
    return static_cast<std::int16_t>(std::clamp<int>(value, Limits::min(), Limits::max()));
}

}  // namespace

void export_blocks(AVCodecContext& context) noexcept {
    context.export_side_data |= AV_CODEC_EXPORT_DATA_MVS | AV_CODEC_EXPORT_DATA_VIDEO_ENC_PARAMS;
    context.debug |= FF_DEBUG_MB_TYPE;
    context.thread_type = FF_THREAD_SLICE;
}

std::shared_ptr<const std::vector<std::byte>> block_statistics(const AVFrame& picture, std::string& log) {
    const AVFrameSideData* side = av_frame_get_side_data(&picture, AV_FRAME_DATA_VIDEO_ENC_PARAMS);
    if (side == nullptr) return nullptr;
    auto* parameters = reinterpret_cast<AVVideoEncParams*>(side->data);
    if (parameters->type != AV_VIDEO_ENC_PARAMS_H264 || parameters->nb_blocks == 0) return nullptr;
    const std::size_t num_blocks = parameters->nb_blocks;
    const auto* last = av_video_enc_params_block(parameters, parameters->nb_blocks - 1);
    const auto columns = static_cast<std::size_t>(last->src_x / 16 + 1);
    const auto rows = static_cast<std::size_t>(last->src_y / 16 + 1);
    if (columns * rows != num_blocks) return nullptr;

    std::vector<BlockStatistics> blocks(num_blocks);
    std::vector<Lists> lists(num_blocks);
    for (std::size_t i = 0; i < num_blocks; ++i) {
        const int qp = parameters->qp + av_video_enc_params_block(parameters, static_cast<unsigned>(i))->delta_qp;
        blocks[i].qp_luma = static_cast<std::uint8_t>(std::clamp(qp, 0, 255));
    }
    if (const auto* vectors = av_frame_get_side_data(&picture, AV_FRAME_DATA_MOTION_VECTORS)) {
        const std::span all(reinterpret_cast<const AVMotionVector*>(vectors->data),
                            vectors->size / sizeof(AVMotionVector));
        for (const auto& vector : all) {
            // The position is the middle of a part of a block.
            const auto column = static_cast<std::size_t>(std::max<int>(vector.dst_x, 0)) / 16;
            const auto row = static_cast<std::size_t>(std::max<int>(vector.dst_y, 0)) / 16;
            if (column >= columns || row >= rows || vector.motion_scale == 0) continue;
            const auto i = row * columns + column;
            const bool second = vector.source > 0;
            bool& known = second ? lists[i].second : lists[i].first;
            if (std::exchange(known, true)) continue;  // the block's first part counts
            auto& target = blocks[i].vectors[second ? 1 : 0];
            target[0] = narrow(vector.motion_x * 4 / vector.motion_scale);
            target[1] = narrow(vector.motion_y * 4 / vector.motion_scale);
        }
    }

    // A picture that is decoded and not returned leaves its text: the text of this one agrees with the vectors.
    const auto agree = [](const BlockType& type, const Lists& used) {
        return type.lists ? *type.lists == used : used != Lists{};
    };
    std::vector<BlockType> types;
    do {
        const auto text = take_picture(log);
        if (text.empty()) return nullptr;
        types = read_types(text, columns, rows);
    } while (types.empty() || !std::ranges::equal(types, lists, agree));
    for (std::size_t i = 0; i < num_blocks; ++i) {
        blocks[i].type_bits = static_cast<std::uint8_t>(static_cast<unsigned>(types[i].type) << 1);
    }

    const BlockStatisticsHeader header{BlockStatisticsHeader::kPresent | BlockStatisticsHeader::kHasSecondVectors,
                                       static_cast<std::uint32_t>(num_blocks)};
    auto bytes = std::make_shared<std::vector<std::byte>>(sizeof header + num_blocks * sizeof(BlockStatistics));
    std::memcpy(bytes->data(), &header, sizeof header);
    std::memcpy(bytes->data() + sizeof header, blocks.data(), num_blocks * sizeof(BlockStatistics));
    return bytes;
}

}  // namespace tricodec
