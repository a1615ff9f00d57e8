// SPDX-License-Identifier: Apache-2.0
/// The launches of a KernelPlan: which kernel takes a batch, where its frames and tables are.
#include <algorithm>
#include <string>
#include <utility>

#include "image/cuda/direct_plan.h"
#include "image/cuda/kernel_plan.h"
#include "image/cuda/launch_args.h"
#include "image/cuda/whole_plan.h"
#include "tricodec/error.h"

namespace tricodec::image::gpu {
namespace {

/// That cover `length`.
unsigned blocks(int length, int each) {
    return static_cast<unsigned>((length + each - 1) / each);
}

/// As kernels' names have it.
const char* layout_name(Layout layout) {
    switch (layout) {
        case Layout::hwc:
            return "hwc";
        case Layout::chw:
            return "chw";
        case Layout::chw2:
            return "chw2";
        case Layout::hwc8:
            break;
    }
    return "hwc8";
}

WholeLayout layout_of(Layout layout) {
    switch (layout) {
        case Layout::hwc:
            return WholeLayout::hwc;
        case Layout::chw:
            return WholeLayout::chw;
        case Layout::chw2:
            return WholeLayout::chw2;
        case Layout::hwc8:
            break;
    }
    return WholeLayout::hwc8;
}

/// Blocks of the band kernel that a multiprocessor runs, `most_blocks` by their registers: shared memory of each holds
/// 1 KiB more than the block's, and that of a multiprocessor is what one block may have and as much more.
int blocks_at_once(int most_blocks, std::size_t most_bytes, std::size_t block_bytes) {
    constexpr std::size_t kReserved = 1024;
    return std::min(most_blocks, static_cast<int>((most_bytes + kReserved) / (block_bytes + kReserved)));
}

/// Among how many blocks one part of all frames is divided. A block that goes on with a second frame has its tables and
/// has begun to copy; those with one frame come last and fill what gaps the others leave. On an H200 that was the
/// fastest of ten numbers for batches of 32. Where all blocks run at once they have one frame each.
int shares_of(int frames, int parts, int at_once) {
    return std::max((2 * frames + 2) / 3, std::min(at_once / parts, frames));
}

template <typename Value>
const Value* table_at(const std::byte* tables, std::size_t offset) {
    return reinterpret_cast<const Value*>(tables + offset);
}

}  // namespace

Launch KernelPlan::launch(const std::byte* tables, std::span<const Item> items, std::size_t shared_bytes,
                          int multiprocessors, bool boxes) const {
    TRICODEC_INVARIANT(!items.empty() && items.size() <= kMaxFrames);
    if (auto direct = direct_launch(tables, items)) return std::move(*direct);
    if (auto period = period_launch(tables, items, shared_bytes)) return std::move(*period);
    if (band_ && band_shared_bytes_ <= shared_bytes) {
        if (auto band = band_launch(tables, items, shared_bytes, multiprocessors)) {
            auto box = boxes ? box_launch(tables, *band, shared_bytes, multiprocessors) : std::nullopt;
            return std::move(box ? *box : *band);
        }
    }
    return tile_launch(tables, items);
}

std::optional<Launch> KernelPlan::direct_launch(const std::byte* tables, std::span<const Item> items) const {
    if (!direct_) return std::nullopt;
    const OutputArgs output = output_args(*plan_, items[0].target);
    const bool packed = output.step_x == std::int64_t{output.group_size} * output.element_bytes;
    if (!packed || !has_whole_groups(output)) return std::nullopt;

    Launch launch;
    launch.blocks_z = static_cast<unsigned>(items.size());
    launch.threads = 32 * kDirectWarps;
    DirectArgs& args = launch.args.emplace<DirectArgs>(*direct_);
    args.chroma_rows = table_at<ChromaRows>(tables, chroma_rows_);
    args.output = output;
    const bool padded = plan_->layout == Layout::chw2 || plan_->layout == Layout::hwc8;
    const int pixels = padded ? 4 : 16 / output.element_bytes;
    args.first_x = -(args.crop_left % pixels);
    args.whole_width = args.first_x == 0 && args.grid_width % pixels == 0 ? 1 : 0;
    launch.blocks_x = blocks(args.grid_width - args.first_x, 32 * pixels);
    launch.blocks_y = blocks(args.grid_height - args.first_y, kDirectWarps * kDirectRows);

    const int num_planes = args.samples.chroma == Chroma::none                                                      ? 1
                           : args.samples.chroma == Chroma::half_pairs || args.samples.chroma == Chroma::full_pairs ? 2
                                                                                                                    : 3;
    bool planes_aligned = true;
    bool out_aligned = output.step_y % 16 == 0;
    for (int group = 0; group < output.num_groups; ++group) {
        out_aligned = out_aligned && output.element_offset[group * output.group_size] % 16 == 0;
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
        const FrameArgs& frame = args.frames[i] = frame_args(items[i], direct_plane_, num_planes);
        for (int plane = 0; plane < num_planes; ++plane) {
            planes_aligned = planes_aligned && is_multiple(frame.planes[plane], 16) && frame.strides[plane] % 16 == 0;
        }
        out_aligned = out_aligned && is_multiple(frame.out, 16);
    }
    args.samples.aligned = planes_aligned ? 1 : 0;
    args.aligned = out_aligned ? 1 : 0;
    if (auto whole = whole_launch(args, launch.blocks_z)) return std::move(*whole);
    if (padded) return std::nullopt;
    const std::string chroma = args.samples.chroma == Chroma::half_pairs                               ? "_pairs"
                               : args.samples.chroma == Chroma::half_planes                            ? "_planes"
                               : args.samples.chroma == Chroma::none && plan_->color.num_channels == 1 ? "_gray"
                                                                                                       : "_full";
    launch.kernel =
        "tricodec_direct_" + std::to_string(kernel_bits(*plan_)) + "_" + std::string(to_string(plan_->dtype)) + chroma;
    return launch;
}

std::optional<Launch> KernelPlan::whole_launch(const DirectArgs& direct, unsigned num_frames) const {
    const bool padded = plan_->layout == Layout::chw2 || plan_->layout == Layout::hwc8;
    const bool aligned = direct.samples.aligned != 0 && direct.aligned != 0 && direct.whole_width != 0;
    const bool any = !aligned && !padded && plan_->depth == 8 && plan_->crop.left % 2 == 0;
    if (!whole_ || !(aligned || any)) return std::nullopt;
    Launch launch;
    WholeArgs& args = launch.args.emplace<WholeArgs>(*whole_);
    if (!set_layout(args, plan_->layout, plan_->dtype)) return std::nullopt;
    args.step_y = direct.output.step_y;
    for (int i = 0; i < 3; ++i) args.channel_offset[i] = direct.output.element_offset[padded ? 2 * i : args.channel[i]];
    args.far_rows = 1;
    for (unsigned i = 0; i < num_frames; ++i) {
        FrameArgs& frame = args.frames[i] = direct.frames[i];
        frame.planes[0] +=
            std::int64_t{direct.crop_top} * frame.strides[0] + std::int64_t{direct.crop_left} * plan_->bytes_per_sample;
        for (int plane = 0; plane < (args.samples.chroma == Chroma::half_pairs ? 2 : 3); ++plane) {
            if (frame.strides[plane] < kFarRows) args.far_rows = 0;
        }
    }
    const int pixels = padded ? 4 : 16 / direct.output.element_bytes;
    const int lanes = whole_lanes(layout_of(plan_->layout), pixels, any);
    launch.blocks_x = blocks(args.grid_width, lanes * pixels);
    launch.blocks_y = blocks(args.grid_height, kWholeWarps * whole_warp_rows(lanes));
    launch.blocks_z = num_frames;
    launch.threads = 32 * kWholeWarps;
    launch.kernel = "tricodec_whole_" + std::to_string(kernel_bits(*plan_)) + "_" +
                    std::string(to_string(plan_->dtype)) +
                    (args.samples.chroma == Chroma::half_pairs ? "_pairs_" : "_planes_") + layout_name(plan_->layout) +
                    (any ? "_any" : "");
    return launch;
}

TileArgs KernelPlan::tile_args(const std::byte* tables) const {
    TileArgs args = tile_;
    for (std::size_t axis = 0; axis < 2; ++axis) {
        args.rows[axis].first = table_at<std::int32_t>(tables, offsets_.row_first[axis]);
        args.rows[axis].count = table_at<std::int32_t>(tables, offsets_.row_count[axis]);
        args.rows[axis].coefs = table_at<std::int16_t>(tables, offsets_.row_coefs[axis]);
        args.columns[axis].first = table_at<std::int32_t>(tables, offsets_.column_first[axis]);
        args.columns[axis].coefs = table_at<std::int16_t>(tables, offsets_.column_coefs[axis]);
        args.columns[axis].tile_begin = table_at<std::int32_t>(tables, offsets_.tile_begin[axis]);
        args.columns[axis].tile_end = table_at<std::int32_t>(tables, offsets_.tile_end[axis]);
    }
    return args;
}

std::optional<Launch> KernelPlan::period_launch(const std::byte* tables, std::span<const Item> items,
                                                std::size_t shared_bytes) const {
    if (!period_ || static_cast<std::size_t>(period_->shared_bytes) > std::max(shared_bytes, kSharedBytesOfAll)) {
        return std::nullopt;
    }
    const OutputArgs output = output_args(*plan_, items[0].target);
    if (!has_whole_groups(output) || output.step_x != std::int64_t{output.group_size} * output.element_bytes) {
        return std::nullopt;
    }
    Launch launch;
    PeriodArgs& args = launch.args.emplace<PeriodArgs>(period_->args);
    const unsigned word = output.element == Element::uint8 ? 8 : 16;
    args.step_y = output.step_y;
    bool aligned = output.step_y % word == 0;
    for (int i = 0; i < 3; ++i) {
        args.channel_offset[i] = output.element_offset[period_->channel[i]];
        aligned = aligned && (args.side_by_side != 0 || args.channel_offset[i] % word == 0);
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
        const FrameArgs& frame = args.frames[i] = frame_args(items[i], {0, 1, 0}, 2);
        for (int plane = 0; plane < 2; ++plane) {
            aligned = aligned && is_multiple(frame.planes[plane], 16) && frame.strides[plane] % 16 == 0;
        }
        aligned = aligned && is_multiple(frame.out, word);
    }
    if (!aligned) return std::nullopt;
    for (std::size_t i = 0; i < 2; ++i) args.rows[i] = table_at<PeriodRow>(tables, period_rows_[i]);
    launch.blocks_x = blocks(args.grid_width, 32 * kPeriodPoints);
    launch.blocks_y = blocks(args.grid_height, args.strip_rows * kPeriodWarps);
    launch.blocks_z = static_cast<unsigned>(items.size());
    launch.threads = 32 * kPeriodWarps;
    launch.shared_bytes = static_cast<unsigned>(period_->shared_bytes);
    launch.kernel = "tricodec_period_" + std::string(to_string(plan_->dtype)) + "_" + period_->ratio;
    return launch;
}

std::optional<Launch> KernelPlan::band_launch(const std::byte* tables, std::span<const Item> items,
                                              std::size_t shared_bytes, int multiprocessors) const {
    if (!band_) return std::nullopt;
    Launch launch;
    BandArgs& args = launch.args.emplace<BandArgs>(*band_);
    args.output = output_args(*plan_, items[0].target);
    const auto pair = 2 * static_cast<unsigned>(args.output.element_bytes);
    const bool points = plan_->layout == Layout::hwc && plan_->color.num_channels == 3;
    bool pairs = (points || plan_->layout == Layout::chw) && has_whole_groups(args.output) &&
                 args.output.step_x == std::int64_t{args.output.group_size} * args.output.element_bytes &&
                 args.output.step_y % pair == 0;
    // Eight floats are more than a lane can store at once.
    bool eights =
        plan_->layout == Layout::chw && args.output.element_bytes <= 2 && args.output.step_y % (4 * pair) == 0;
    for (int i = 0; i < args.output.num_groups; ++i) {
        pairs = pairs && args.output.element_offset[i * args.output.group_size] % pair == 0;
        eights = eights && args.output.element_offset[i * args.output.group_size] % (4 * pair) == 0;
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
        const FrameArgs& frame = args.frames[i] = frame_args(items[i], tile_plane_, args.num_planes);
        for (int plane = 0; plane < args.num_planes; ++plane) {
            if (!is_multiple(frame.planes[plane], 16) || frame.strides[plane] % 16 != 0) return std::nullopt;
        }
        pairs = pairs && is_multiple(frame.out, pair);
        eights = eights && is_multiple(frame.out, 4 * pair);
    }
    for (int i = 0; i < args.num_planes; ++i) {
        BandPlane& plane = args.planes[i];
        const auto axis = static_cast<std::size_t>(tile_.planes[i].axis);
        plane.rows = table_at<BandRange>(tables, band_offsets_.rows[axis]);
        plane.block_rows = table_at<BandRange>(tables, band_offsets_.block_rows[axis]);
        plane.row_weights = table_at<Words4>(tables, band_offsets_.row_weights[axis]);
        BandColumnsTable& columns = args.columns[plane.axis];
        columns.bytes = table_at<BandRange>(tables, band_offsets_.bytes[axis]);
        columns.ranges = table_at<BandRange>(tables, band_offsets_.ranges[axis]);
        columns.words = table_at<Words4>(tables, band_offsets_.words[axis]);
    }
    args.pairs = !pairs ? Pairs::none : points ? Pairs::of_points : Pairs::of_channels;
    args.eights = pairs && eights ? 1 : 0;
    args.output.aligned = has_whole_elements(args.output, std::span(args.frames, items.size())) ? 1 : 0;
    launch.blocks_x = blocks(args.grid_width, kBandWidth);
    launch.blocks_y = blocks(args.grid_height, kBandRows * kBandWarps);
    const int at_once = multiprocessors * blocks_at_once(kBandBlocks, shared_bytes, band_shared_bytes_);
    args.num_frames = static_cast<int>(items.size());
    args.shares = shares_of(args.num_frames, static_cast<int>(launch.blocks_x * launch.blocks_y), at_once);
    launch.blocks_z = static_cast<unsigned>(args.shares);
    launch.threads = kBandThreads;
    launch.shared_bytes = band_shared_bytes_;
    launch.kernel = "tricodec_band_" + std::to_string(plan_->bytes_per_sample) + "_" +
                    std::string(to_string(plan_->dtype)) + (args.num_planes == 2 ? "_pairs" : "_planes");
    return launch;
}

std::optional<Launch> KernelPlan::box_launch(const std::byte* tables, const Launch& band, std::size_t shared_bytes,
                                             int multiprocessors) const {
    if (!boxes_ || static_cast<std::size_t>(boxes_->shared_bytes) > shared_bytes) return std::nullopt;
    Launch launch = band;
    auto& args = launch.args.emplace<BoxArgs<BoxMap>>();
    args.band = std::get<BandArgs>(band.args);
    if (!set_maps(*boxes_, args)) return std::nullopt;
    args.ranges = table_at<BandRange>(tables, box_offsets_.ranges);
    args.words = table_at<Words4>(tables, box_offsets_.words);
    launch.shared_bytes = static_cast<unsigned>(boxes_->shared_bytes);
    lay_out_boxes(*boxes_, static_cast<int>(launch.blocks_x * launch.blocks_y),
                  multiprocessors * blocks_at_once(kBoxBlocks, shared_bytes, launch.shared_bytes), args);
    launch.blocks_z = static_cast<unsigned>(args.band.shares);
    launch.kernel = "tricodec_box_" + std::string(to_string(plan_->dtype)) + "_" + std::to_string(boxes_->most_rows);
    return launch;
}

Launch KernelPlan::tile_launch(const std::byte* tables, std::span<const Item> items) const {
    Launch launch;
    launch.blocks_z = static_cast<unsigned>(items.size());
    launch.threads = kTileThreads;
    launch.shared_bytes = shared_bytes_;
    launch.kernel =
        "tricodec_tile_" + std::to_string(plan_->bytes_per_sample) + "_" + std::string(to_string(plan_->dtype));
    TileArgs& args = launch.args.emplace<TileArgs>(tile_args(tables));
    launch.blocks_x = blocks(args.grid_width, args.tile_width);
    launch.blocks_y = blocks(args.grid_height, args.tile_height);
    args.output = output_args(*plan_, items[0].target);
    const bool turned = plan_->placement.column_per_x == 0;
    const std::int64_t step = turned ? args.output.step_y : args.output.step_x;
    const bool packed = std::abs(step) == std::int64_t{args.output.group_size} * args.output.element_bytes;
    const bool coalesced = !turned && args.output.group_size == 1;  // neighbours in memory are neighbouring threads'
    args.staging = coalesced || !packed || !has_whole_groups(args.output) ? Staging::none
                   : turned                                               ? Staging::along_y
                                                                          : Staging::along_x;
    for (std::size_t i = 0; i < items.size(); ++i) {
        args.frames[i] = frame_args(items[i], tile_plane_, args.num_planes);
    }
    args.output.aligned = has_whole_elements(args.output, std::span(args.frames, items.size())) ? 1 : 0;
    return launch;
}

}  // namespace tricodec::image::gpu
