// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "image/cuda/kernel_plan.h"

namespace tricodec::image::gpu {
namespace {

/// Shared memory of a block: less than every GPU has that can run the kernel.
constexpr int kBudgetBytes = 99 * 1024;

/// A vertical filter in the form of resample_mma.h's products (the tables of MmaPlane).
struct MmaRows {
    std::vector<Range> ranges;
    std::vector<Range> blocks;
    std::vector<Words4> weights;
    int pitch = 0;
    int most = 0;  ///< rows of a block that products read: a tile's in sixteens
};

/// A horizontal filter in the same form, for planes with `parts` components side by side, of `sample_bytes` bytes each.
struct MmaColumnsWords {
    std::vector<Range> bytes;
    std::vector<Range> ranges;
    std::vector<Words4> words;
    int header = 0;
    int most = 0;  ///< words of a unit
};

/// The samples that outputs [begin, end) read.
struct Span {
    int first = 0;
    int last = 0;  ///< one past
};

Span span_of(const Filter& filter, int begin, int end) {
    Span span{filter.end, filter.begin};
    for (int i = begin; i < std::min(end, filter.num_outputs); ++i) {
        const auto output = static_cast<std::size_t>(i);
        span.first = std::min(span.first, filter.first[output]);
        span.last = std::max(span.last, filter.first[output] + filter.count[output]);
    }
    return span;
}

/// The coefficient of a sample: zero if the output does not read it or does not exist.
int coefficient(const Filter& filter, int output, int sample) {
    if (output >= filter.num_outputs) return 0;
    const int tap = sample - filter.first[static_cast<std::size_t>(output)];
    return tap < 0 || tap >= filter.count[static_cast<std::size_t>(output)] ? 0 : filter.taps(output)[tap];
}

/// One of the two signed bytes of a coefficient, at byte k of a word.
std::uint32_t byte_of(int coef, bool high, int k) {
    const auto low = static_cast<std::int8_t>(coef);
    const auto byte = static_cast<std::uint8_t>(high ? (coef - low) >> 8 : low);
    return std::uint32_t{byte} << (8 * k);
}

/// The coefficients of a tile for a group of columns that begins with `first`; false if all are zero.
bool make_entry(const Filter& filter, int first_output, int first, int columns, int group,
                std::array<Words4, 32>& entry) {
    bool any = false;
    entry = {};
    for (std::size_t lane = 0; lane < entry.size(); ++lane) {
        for (int i = 0; i < 8; ++i) {
            const int k = i / 4 * 16 + static_cast<int>(lane) % 4 * 4 + i % 4;
            if (k >= columns) continue;
            const int column = first + mma_column(columns, group, k);
            const int coef = coefficient(filter, first_output + static_cast<int>(lane) / 4, column);
            entry[lane].w[i / 4] |= byte_of(coef, true, i % 4);
            entry[lane].w[2 + i / 4] |= byte_of(coef, false, i % 4);
            any = any || coef != 0;
        }
    }
    return any;
}

MmaRows make_mma_rows(const Filter& filter) {
    MmaRows rows;
    const int tiles = (filter.num_outputs + kMmaRows - 1) / kMmaRows;
    for (int tile = 0; tile < tiles; ++tile) {
        const Span span = span_of(filter, tile * kMmaRows, (tile + 1) * kMmaRows);
        rows.ranges.push_back({span.first, span.last - span.first});
        rows.pitch = std::max(rows.pitch, (rows.ranges.back().count + 31) / 32);
    }
    rows.weights.assign(static_cast<std::size_t>(tiles * rows.pitch) * 32, Words4{});
    for (int tile = 0; tile < tiles; ++tile) {
        for (int step = 0; step < rows.pitch; ++step) {
            for (int lane = 0; lane < 32; ++lane) {
                Words4& words = rows.weights[static_cast<std::size_t>((tile * rows.pitch + step) * 32 + lane)];
                for (int k = 0; k < 4; ++k) {
                    for (int half = 0; half < 2; ++half) {
                        const int row = rows.ranges[static_cast<std::size_t>(tile)].first + 32 * step +
                                        mma_row(16 * half + 4 * (lane % 4) + k);
                        const int coef = coefficient(filter, tile * kMmaRows + lane / 4, row);
                        words.w[2 * half] |= byte_of(coef, true, k);
                        words.w[2 * half + 1] |= byte_of(coef, false, k);
                    }
                }
            }
        }
    }
    for (int tile = 0; tile < tiles; tile += kMmaWarps) {
        const Span span = span_of(filter, tile * kMmaRows, (tile + kMmaWarps) * kMmaRows);
        rows.blocks.push_back({span.first, span.last - span.first});
        for (int i = tile; i < std::min(tile + kMmaWarps, tiles); ++i) {
            const Range range = rows.ranges[static_cast<std::size_t>(i)];
            rows.most = std::max(rows.most, range.first - span.first + (range.count + 15) / 16 * 16);
        }
    }
    return rows;
}

MmaColumnsWords make_mma_columns(const Filter& filter, int sample_bytes, int parts) {
    MmaColumnsWords columns;
    const int column_bytes = sample_bytes * parts;
    const int of_step = kMmaBytes / column_bytes;
    int steps = 0;
    for (int output = 0; output < filter.num_outputs; output += kMmaWidth) {
        const Span span = span_of(filter, output, output + kMmaWidth);
        const int first = span.first * column_bytes / 32 * 32;
        // Copies of 16 bytes, but nothing beyond the crop.
        const int last = std::min((span.last * column_bytes + 15) / 16 * 16, filter.end * column_bytes);
        columns.bytes.push_back({first, last - first});
        steps = std::max(steps, (last - first + kMmaBytes - 1) / kMmaBytes);
    }
    columns.header = (steps + 3) / 4;
    std::array<Words4, 32> entry;
    for (std::size_t unit = 0; unit < columns.bytes.size(); ++unit) {
        const std::size_t begin = columns.words.size();
        columns.words.resize(begin + static_cast<std::size_t>(columns.header));
        for (int step = 0; step * kMmaBytes < columns.bytes[unit].count; ++step) {
            const int first = columns.bytes[unit].first / column_bytes + step * of_step;
            std::uint32_t active = 0;
            for (int tile = 0; tile < kMmaTiles; ++tile) {
                const int output = static_cast<int>(unit) * kMmaWidth + tile * 8;
                bool any = false;
                const std::size_t end = columns.words.size();
                for (int group = 0; group < (of_step + 31) / 32; ++group) {
                    any = make_entry(filter, output, first, of_step, group, entry) || any;
                    columns.words.insert(columns.words.end(), entry.begin(), entry.end());
                }
                if (any) {
                    active |= 1U << tile;
                } else {
                    columns.words.resize(end);
                }
            }
            columns.words[begin + static_cast<std::size_t>(step / 4)].w[step % 4] = active;
        }
        const auto count = static_cast<int>(columns.words.size() - begin);
        columns.ranges.push_back({static_cast<int>(begin), count});
        columns.most = std::max(columns.most, count);
    }
    return columns;
}

/// Blocks that a multiprocessor runs at once: each takes 1 KiB of shared memory more than its own, and a multiprocessor
/// has as much as one block may have, and that 1 KiB.
int blocks_at_once(std::size_t most_bytes, std::size_t block_bytes) {
    constexpr std::size_t kReserved = 1024;
    return std::min(kMmaBlocks, static_cast<int>((most_bytes + kReserved) / (block_bytes + kReserved)));
}

/// Blocks that divide the frames of one part of the grid. A block that continues with a second frame has its tables and
/// has begun to copy; blocks with one frame come last and fill the gaps. If all blocks run at once, each has one frame.
int shares_of(int frames, int parts, int at_once) {
    return std::max((2 * frames + 2) / 3, std::min(at_once / parts, frames));
}

}  // namespace

std::optional<MmaPlan> MmaPlan::make(const Plan& plan, const SourcePlanes& planes, Tables& tables) {
    MmaPlan made;
    made.of_frame_ = planes.of_frame;
    MmaArgs& args = made.args_;
    args.num_planes = planes.num_planes;
    args.grid_width = plan.grid.width;
    args.grid_height = plan.grid.height;
    args.color = color_args(plan.color);
    // A plane each; or luma's, and one of both chroma components.
    const bool pairs = planes.num_planes == 2;
    std::array<int, 2> parts{1, 1};  // by axis
    std::array<bool, 2> used{};
    for (int i = 0; i < args.num_planes; ++i) {
        const TilePlane& plane = planes.planes[static_cast<std::size_t>(i)];
        const int wanted = pairs && i == 1 ? 2 : 1;
        if (plane.parts != wanted || plane.component[0] != i) return std::nullopt;
        const auto axis = static_cast<std::size_t>(plane.axis);
        if (used[axis] && parts[axis] != wanted) return std::nullopt;  // chroma as wide as luma, side by side
        used[axis] = true;
        parts[axis] = wanted;
    }
    std::array<MmaRows, 2> rows;
    std::array<MmaColumnsWords, 2> columns;
    int most = 0;
    for (std::size_t axis = 0; axis < 2; ++axis) {
        if (!used[axis]) continue;
        rows[axis] = make_mma_rows(plan.filters[2 * axis + 1]);
        columns[axis] = make_mma_columns(plan.filters[2 * axis], plan.bytes_per_sample, parts[axis]);
        most = std::max(most, rows[axis].most);
    }
    const int tables_bytes = (columns[0].most + columns[1].most) * static_cast<int>(sizeof(Words4));
    args.stage_bytes = most * kMmaBytes;
    args.work_place = kMmaStages * args.stage_bytes;
    int place = args.work_place + 3 * static_cast<int>(sizeof(MmaWork));
    if (place + tables_bytes > kBudgetBytes) return std::nullopt;
    made.shared_bytes_ = static_cast<unsigned>(place + tables_bytes);
    for (std::size_t axis = 0; axis < 2; ++axis) {
        if (!used[axis]) continue;
        made.offsets_[static_cast<std::size_t>(args.num_axes)] = {
            tables.add(rows[axis].ranges),   tables.add(rows[axis].blocks),    tables.add(rows[axis].weights),
            tables.add(columns[axis].bytes), tables.add(columns[axis].ranges), tables.add(columns[axis].words)};
        MmaColumnsTable& table = args.columns[args.num_axes];
        table.header = columns[axis].header;
        table.place = place;
        place += columns[axis].most * static_cast<int>(sizeof(Words4));
        for (int i = 0; i < args.num_planes; ++i) {
            const TilePlane& tile_plane = planes.planes[static_cast<std::size_t>(i)];
            if (static_cast<std::size_t>(tile_plane.axis) != axis) continue;
            MmaPlane& plane = args.planes[i];
            plane.axis = args.num_axes;
            plane.bits = tile_plane.bits;
            plane.mask = (0xFFFFU << plan.shift & 0xFFFFU) * 0x00010001U;
            plane.row_pitch = rows[axis].pitch;
        }
        ++args.num_axes;
    }
    return made;
}

std::optional<Launch> MmaPlan::launch(const Batch& batch, const GpuLimits& gpu) const {
    if (shared_bytes_ > gpu.shared_bytes) return std::nullopt;
    Launch launch;
    MmaArgs& args = launch.args.emplace<MmaArgs>(args_);
    args.num_frames = static_cast<int>(batch.items.size());
    const std::span<FrameArgs> frames(args.frames, batch.items.size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
        frames[i] = frame_args(batch.items[i], of_frame_, args.num_planes);
        if (!has_aligned_planes(frames[i], args.num_planes)) return std::nullopt;
    }
    for (int i = 0; i < args.num_planes; ++i) {
        MmaPlane& plane = args.planes[i];
        const Axis& offsets = offsets_[static_cast<std::size_t>(plane.axis)];
        plane.rows = table_at<Range>(batch.tables, offsets.rows);
        plane.block_rows = table_at<Range>(batch.tables, offsets.block_rows);
        plane.row_weights = table_at<Words4>(batch.tables, offsets.row_weights);
        MmaColumnsTable& columns = args.columns[plane.axis];
        columns.bytes = table_at<Range>(batch.tables, offsets.bytes);
        columns.ranges = table_at<Range>(batch.tables, offsets.ranges);
        columns.words = table_at<Words4>(batch.tables, offsets.words);
    }
    OutputArgs& output = args.output = output_args(batch.plan, batch.items[0].target);
    output.aligned = has_aligned_elements(output, frames) ? 1 : 0;
    const auto pair = 2 * static_cast<unsigned>(output.element_bytes);
    const bool points = batch.plan.layout == Layout::hwc && batch.plan.color.num_channels == 3;
    const bool planar = batch.plan.layout == Layout::chw;
    if ((points || planar) && has_dense_rows(output) && has_aligned_groups(output, frames, pair)) {
        args.pairs = points ? Pairs::of_points : Pairs::of_channels;
        // Eight floats are more than a lane can store at once.
        args.eights = planar && output.element_bytes <= 2 && has_aligned_groups(output, frames, 4 * pair) ? 1 : 0;
    }
    launch.kernel = kernel_name("resample_mma", batch.plan) + (args.num_planes == 2 ? "_pairs" : "_planes");
    launch.blocks_x = blocks(args.grid_width, kMmaWidth);
    launch.blocks_y = blocks(args.grid_height, kMmaRows * kMmaWarps);
    const int parts = static_cast<int>(launch.blocks_x * launch.blocks_y);
    args.shares =
        shares_of(args.num_frames, parts, gpu.multiprocessors * blocks_at_once(gpu.shared_bytes, shared_bytes_));
    launch.blocks_z = static_cast<unsigned>(args.shares);
    launch.threads = kMmaThreads;
    launch.shared_bytes = shared_bytes_;
    return launch;
}

}  // namespace tricodec::image::gpu
