// SPDX-License-Identifier: Apache-2.0
#include "image/cuda/box_plan.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>

namespace tricodec::image::gpu {
namespace {

/// So that stages begin at multiples of 1024 bytes and chroma's rows in them of 512, as the copies' pattern needs.
constexpr int kRowsTogether = 8;

int rows_of(const BandRows& rows) {
    int most = 0;
    for (const BandRange& block : rows.blocks) most = std::max(most, block.count);
    return (most + kRowsTogether - 1) / kRowsTogether * kRowsTogether;
}

int most_rows_of_tile(const BandRows& rows) {
    int most = 0;
    for (const BandRange& tile : rows.ranges) most = std::max(most, tile.count);
    return most;
}

int stage_bytes_of(const BoxPlan& plan) {
    return (plan.rows[0] + plan.rows[1] + 2 * kRowsTogether - 1) / (2 * kRowsTogether) * (2 * kRowsTogether) *
           kBandBytes;
}

/// Behind the stages come the barriers, then the columns' coefficients.
int words_place_of(const BoxPlan& plan) {
    constexpr int kBarriers = (kBoxStages * static_cast<int>(sizeof(BoxStage)) + 15) / 16 * 16;
    return kBoxStages * stage_bytes_of(plan) + kBarriers;
}

/// Pairs of tiles, as few as can be, that have all of `tiles` among them: a bit for each pair.
unsigned pairs_of(unsigned tiles) {
    for (unsigned pair = 0; pair < kBoxPairs; ++pair) {
        if ((tiles & ~(3U << pair)) == 0) return tiles == 0 ? 0 : 1U << pair;
    }
    return 0b101;
}

/// Which tiles have coefficients of 64 bytes, the `step`-th, of a unit, whose words are `unit`.
unsigned tiles_of(const BandColumnsWords& columns, const Words4* unit, int step) {
    return step < 4 * columns.header ? unit[step / 4].w[step % 4] : 0;
}

/// The plane's addresses, without its size. What all of them are multiples of behind the first in memory: frames that
/// were decoded into any surfaces of a pool are seldom equally far apart.
std::optional<BoxMap> map_of(std::span<const FrameArgs> frames, std::size_t plane) {
    constexpr std::int64_t kMostDistance = std::int64_t{1} << 40;   // that a map can have
    constexpr std::int64_t kMostMultiples = std::int64_t{1} << 31;  // that a copy can name
    const auto [first, last] =
        std::ranges::minmax(frames, std::less{}, [&](const FrameArgs& frame) { return frame.planes[plane]; });
    BoxMap map{};
    map.base = first.planes[plane];
    map.stride = first.strides[plane];
    for (const FrameArgs& frame : frames) {
        if (frame.strides[plane] != map.stride) return std::nullopt;
        map.distance = std::gcd(map.distance, frame.planes[plane] - map.base);
    }
    if (map.distance == 0) map.distance = map.stride;  // one frame, or one again and again
    const std::int64_t multiples = (last.planes[plane] - map.base) / map.distance + 1;
    if (map.distance % 16 != 0 || map.distance >= kMostDistance || multiples >= kMostMultiples) return std::nullopt;
    map.num_multiples = static_cast<std::int32_t>(multiples);
    return map;
}

}  // namespace

BandColumnsWords make_box_columns(const BandColumnsWords& luma, const BandColumnsWords& chroma) {
    constexpr std::size_t kWords = kBandEntry / sizeof(Words4);
    BandColumnsWords both;
    both.header = std::max(luma.header, chroma.header);
    for (std::size_t unit = 0; unit < luma.ranges.size(); ++unit) {
        const std::size_t begin = both.words.size();
        both.words.resize(begin + static_cast<std::size_t>(both.header));
        const Words4* const units[2] = {&luma.words[static_cast<std::size_t>(luma.ranges[unit].first)],
                                        &chroma.words[static_cast<std::size_t>(chroma.ranges[unit].first)]};
        const Words4* next[2] = {units[0] + luma.header, units[1] + chroma.header};
        for (int step = 0; step < 4 * both.header; ++step) {
            const unsigned tiles[2] = {tiles_of(luma, units[0], step), tiles_of(chroma, units[1], step)};
            const unsigned pairs = pairs_of(tiles[0] | tiles[1]);
            both.words[begin + static_cast<std::size_t>(step / 4)].w[step % 4] = pairs;
            for (unsigned tile = 0; tile < kBandTiles; ++tile) {
                if (((pairs | pairs << 1) >> tile & 1) == 0) continue;
                for (std::size_t i = 0; i < 2; ++i) {
                    const std::size_t words = (i == 0 ? kBoxLumaEntries : kBoxEntries - kBoxLumaEntries) * kWords;
                    both.words.resize(both.words.size() + words);
                    if ((tiles[i] >> tile & 1) == 0) continue;
                    std::copy_n(next[i], words, both.words.end() - static_cast<std::ptrdiff_t>(words));
                    next[i] += words;
                }
            }
        }
        const auto count = static_cast<int>(both.words.size() - begin);
        both.ranges.push_back({static_cast<int>(begin), count});
        both.most = std::max(both.most, count);
    }
    return both;
}

std::optional<BoxPlan> make_boxes(const BandRows& luma, const BandRows& chroma, const BandColumnsWords& columns) {
    BoxPlan plan;
    plan.rows = {rows_of(luma), rows_of(chroma)};
    const int most = most_rows_of_tile(luma);
    plan.most_rows = most <= 32 ? 32 : most <= 48 ? 48 : 64;
    if (most > 64 || most_rows_of_tile(chroma) > kBoxChromaRows || plan.rows[0] > kBoxMostRows) return std::nullopt;
    plan.header = columns.header;
    // Products read up to kRows rows of a tile, some of them beyond its own: they are shared memory, too.
    const int last_row = (kBoxStages * stage_bytes_of(plan)) + plan.most_rows * kBandBytes;
    plan.shared_bytes = std::max(words_place_of(plan) + columns.most * static_cast<int>(sizeof(Words4)), last_row);
    return plan;
}

bool set_maps(const BoxPlan& plan, BoxArgs<BoxMap>& boxes) {
    BandArgs& band = boxes.band;
    const std::span<FrameArgs> frames(band.frames, static_cast<std::size_t>(band.num_frames));
    for (std::size_t i = 0; i < 2; ++i) {
        const auto map = map_of(frames, i);
        if (!map || map->stride < plan.width[i]) return false;
        boxes.maps[i] = *map;
        boxes.maps[i].width = plan.width[i];
        boxes.maps[i].height = plan.height[i];
        boxes.maps[i].rows = plan.rows[i];
    }
    for (FrameArgs& frame : frames) {
        for (std::size_t i = 0; i < 2; ++i) {
            frame.strides[i] =
                static_cast<std::int32_t>((frame.planes[i] - boxes.maps[i].base) / boxes.maps[i].distance);
        }
    }
    return true;
}

void lay_out_boxes(const BoxPlan& plan, int parts, int at_once, BoxArgs<BoxMap>& boxes) {
    BandArgs& band = boxes.band;
    band.stage_bytes = stage_bytes_of(plan);
    boxes.barriers_place = kBoxStages * band.stage_bytes;
    boxes.words_place = words_place_of(plan);
    boxes.header = plan.header;
    std::copy(plan.rows.begin(), plan.rows.end(), boxes.rows);
    // Blocks that all run at once have as many frames each, or nearly: on an H200 that was the fastest of nine numbers
    // for batches of 32. Where many would have fewer, blocks with one frame come last and fill the gaps, as in the band
    // kernel, which was second.
    const int frames = band.num_frames;
    const int shares = std::min(at_once / parts, frames);
    if (shares == 0) return;
    const int rounds = (frames + shares - 1) / shares;
    const int even = (frames + rounds - 1) / rounds;
    const bool balanced = 10 * parts * frames >= 9 * rounds * parts * even && 10 * parts * even >= 9 * at_once;
    band.shares = balanced || rounds == 1 ? even : std::max((4 * frames + 4) / 5, shares);
}

}  // namespace tricodec::image::gpu
