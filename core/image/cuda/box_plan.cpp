// SPDX-License-Identifier: Apache-2.0
#include "image/cuda/box_plan.h"

#include <algorithm>

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

/// Behind the stages come the barriers, then what the block takes of the planes, then the columns' coefficients.
int work_place_of(const BoxPlan& plan) {
    constexpr int kBarriers = (kBoxStages * static_cast<int>(sizeof(BoxStage)) + 15) / 16 * 16;
    return kBoxStages * stage_bytes_of(plan) + kBarriers;
}

}  // namespace

std::optional<BoxPlan> make_boxes(const BandRows& luma, const BandRows& chroma, const BandArgs& band,
                                  int shared_bytes) {
    BoxPlan plan;
    plan.rows = {rows_of(luma), rows_of(chroma)};
    const int most = most_rows_of_tile(luma);
    plan.most_rows = most <= 32 ? 32 : most <= 48 ? 48 : 64;
    if (most > 64 || most_rows_of_tile(chroma) > kBoxChromaRows || plan.rows[0] > kBoxMostRows) return std::nullopt;
    plan.to_tables = work_place_of(plan) - band.work_place;
    // Products read up to kRows rows of a tile, some of them beyond its own: they are shared memory, too.
    const int last_row = (kBoxStages * stage_bytes_of(plan)) + plan.most_rows * kBandBytes;
    plan.shared_bytes = std::max(shared_bytes + plan.to_tables, last_row);
    return plan;
}

bool set_maps(const BoxPlan& plan, BoxArgs<BoxMap>& boxes) {
    constexpr std::int64_t kMostStride = std::int64_t{1} << 40;  // that a map can have
    const BandArgs& band = boxes.band;
    for (std::size_t i = 0; i < 2; ++i) {
        const std::int32_t stride = band.frames[0].strides[i];
        const std::int64_t distance =
            band.num_frames < 2 ? stride : band.frames[1].planes[i] - band.frames[0].planes[i];
        if (distance <= 0 || distance >= kMostStride || distance % 16 != 0 || stride < plan.width[i]) return false;
        for (int frame = 1; frame < band.num_frames; ++frame) {
            const FrameArgs& other = band.frames[frame];
            if (other.strides[i] != stride || other.planes[i] != band.frames[0].planes[i] + frame * distance) {
                return false;
            }
        }
        boxes.maps[i] = {band.frames[0].planes[i], distance,        stride,      plan.width[i],
                         plan.height[i],           band.num_frames, plan.rows[i]};
    }
    return true;
}

void lay_out_boxes(const BoxPlan& plan, int parts, int at_once, BoxArgs<BoxMap>& boxes) {
    BandArgs& band = boxes.band;
    band.stage_bytes = stage_bytes_of(plan);
    boxes.barriers_place = kBoxStages * band.stage_bytes;
    band.work_place += plan.to_tables;
    for (BandColumnsTable& table : band.columns) table.place += plan.to_tables;
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
