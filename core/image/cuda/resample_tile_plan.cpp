// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/bytes.h"
#include "image/cuda/kernel_plan.h"
#include "image/cuda/resample_tile.h"

namespace tricodec::image::gpu {
namespace {

/// Shared memory for a tile's V and for its staged output: together below the 48 KiB that every block may have.
constexpr int kVBudgetBytes = 34 * 1024;
constexpr int kStageBudgetBytes = 13 * 1024;

/// Near equal parts of `length`, none longer than `most`.
int divide_evenly(int length, int most) {
    const int parts = (length + most - 1) / most;
    return (length + parts - 1) / parts;
}

/// A horizontal filter in words of four columns (ColumnTable): first is a multiple of 4, then pitch coefficients.
struct PackedColumns {
    int pitch = 0;
    std::vector<std::int32_t> first;
    std::vector<std::int16_t> coefs;
};

/// A vertical filter with a multiple of four coefficients an output (RowTable).
struct PackedRows {
    int pitch = 0;
    std::vector<std::int16_t> coefs;
};

/// The columns that each tile of `tile_width` outputs reads, from a multiple of 16 to a multiple of 16.
struct TileColumns {
    std::vector<std::int32_t> begin;
    std::vector<std::int32_t> end;
    int most = 0;  ///< columns of a tile
};

PackedColumns pack_columns(const Filter& filter) {
    PackedColumns packed;
    const auto outputs = static_cast<std::size_t>(filter.num_outputs);
    for (std::size_t i = 0; i < outputs; ++i) {
        packed.first.push_back(filter.first[i] & ~3);
        packed.pitch = std::max(packed.pitch, align_up((filter.first[i] & 3) + filter.count[i], 4));
    }
    packed.coefs.assign(outputs * static_cast<std::size_t>(packed.pitch), 0);
    for (std::size_t i = 0; i < outputs; ++i) {
        const auto to = static_cast<std::ptrdiff_t>(i) * packed.pitch + (filter.first[i] & 3);
        std::copy_n(filter.taps(static_cast<int>(i)), filter.count[i], packed.coefs.begin() + to);
    }
    return packed;
}

PackedRows pack_rows(const Filter& filter) {
    PackedRows packed;
    packed.pitch = align_up(filter.max_taps, 4);
    packed.coefs.assign(static_cast<std::size_t>(filter.num_outputs) * static_cast<std::size_t>(packed.pitch), 0);
    for (int i = 0; i < filter.num_outputs; ++i) {
        std::copy_n(filter.taps(i), filter.count[static_cast<std::size_t>(i)],
                    packed.coefs.begin() + std::ptrdiff_t{i} * packed.pitch);
    }
    return packed;
}

TileColumns tile_columns_of(const Filter& filter, const PackedColumns& packed, int tile_width) {
    TileColumns tiles;
    for (int x = 0; x < filter.num_outputs; x += tile_width) {
        const int last = std::min(x + tile_width, filter.num_outputs);
        int begin = filter.end;
        int end = 0;
        for (int i = x; i < last; ++i) {
            const std::int32_t first = packed.first[static_cast<std::size_t>(i)];
            begin = std::min(begin, first);
            end = std::max(end, first + packed.pitch);
        }
        tiles.begin.push_back(begin & ~15);
        tiles.end.push_back(align_up(end, 16));
        tiles.most = std::max(tiles.most, tiles.end.back() - tiles.begin.back());
    }
    return tiles;
}

/// Divides the grid into tiles, with their columns in `tiles`, and shared memory among their V, their staged output
/// and their sums. Returns the bytes of shared memory.
unsigned lay_out(const Plan& plan, const std::array<PackedColumns, 2>& columns, TileArgs& args,
                 std::array<TileColumns, 2>& tiles) {
    const std::size_t num_axes = plan.filters.size() / 2;
    std::array<int, 2> users{};  // components with this axis
    for (const int axis : args.component_axis) {
        if (axis >= 0) ++users[static_cast<std::size_t>(axis)];
    }

    // Turned pictures are written along the grid's columns: their tiles are square.
    const bool turned = plan.placement.column_per_x == 0;
    const int group = group_size(plan);
    const int group_bytes = group * static_cast<int>(size_of(plan.dtype));
    const int groups = num_slots(plan.layout, plan.color.num_channels) / group;
    int width = divide_evenly(plan.grid.width, turned ? 32 : 256);
    int height = std::min(align_up(plan.grid.height, kThreadRows), turned ? 32 : 8);
    int v_bytes = 0;
    int stage_bytes = 0;
    const auto measure = [&] {
        v_bytes = 0;
        for (std::size_t axis = 0; axis < num_axes; ++axis) {
            tiles[axis] = tile_columns_of(plan.filters[2 * axis], columns[axis], width);
            v_bytes += 2 * users[axis] * height * tiles[axis].most;
        }
        // An odd number of words from run to run: threads that write one below the other use different banks.
        args.stage_pitch = (align_up((turned ? height : width) * group_bytes, 4) / 4 | 1) * 4;
        stage_bytes = groups * (turned ? width : height) * args.stage_pitch + 4;
    };
    measure();
    while ((v_bytes > kVBudgetBytes || stage_bytes > kStageBudgetBytes) && (width > 1 || height > kThreadRows)) {
        if (width > 32 || height == kThreadRows) {
            width = divide_evenly(plan.grid.width, (width + 1) / 2);
        } else {
            height -= kThreadRows;
        }
        measure();
    }

    args.tile_width = width;
    args.tile_height = height;
    const int most = std::max(tiles[0].most, tiles[1].most);
    const int columns_that_fit = kVBudgetBytes / (2 * (users[0] + users[1]) * height) / 16 * 16;
    args.segment_columns = v_bytes <= kVBudgetBytes ? most : columns_that_fit;
    args.num_segments = (most + args.segment_columns - 1) / args.segment_columns;
    int used = 0;
    for (int i = 0; i < 3; ++i) {
        const int axis = args.component_axis[i];
        if (axis < 0) continue;
        args.v.pitch[axis] = std::min(tiles[static_cast<std::size_t>(axis)].most, args.segment_columns);
        args.v.to_high[axis] = height * args.v.pitch[axis];
        args.v.offset[i] = used;
        used += 2 * args.v.to_high[axis];
    }
    args.stage_offset = used;
    args.sums_offset = align_up(used + stage_bytes, 16);
    const int sums_bytes = width * height / kThreadRows * static_cast<int>(sizeof(PointSums));
    return static_cast<unsigned>(args.sums_offset + (args.num_segments > 1 ? sums_bytes : 0));
}

}  // namespace

SourcePlanes source_planes(const Plan& plan) {
    SourcePlanes result;
    const bool chroma = plan.num_components == 3 && (plan.uses(1) || plan.uses(2));
    const std::array<bool, 3> needed{plan.uses(0), chroma, chroma};
    for (std::size_t i = 0; i < 3; ++i) {
        if (!needed[i]) continue;
        const ComponentPlan& component = plan.components[i];
        result.component_axis[i] = component.horizontal == 0 ? 0 : 1;
        const auto known = result.of_frame.begin() + result.num_planes;
        const auto found = std::find(result.of_frame.begin(), known, component.layout.plane);
        const auto number = static_cast<std::size_t>(found - result.of_frame.begin());
        TilePlane& plane = result.planes[number];
        if (found == known) {
            result.of_frame[number] = component.layout.plane;
            ++result.num_planes;
            const Filter& horizontal = plan.filters[static_cast<std::size_t>(component.horizontal)];
            const int column_bytes = component.layout.step_bytes;
            plane = {column_bytes / plan.bytes_per_sample,
                     {-1, -1, -1},
                     result.component_axis[i],
                     horizontal.begin * column_bytes,
                     horizontal.end * column_bytes,
                     plan.depth + plan.shift,
                     (0xFFU << plan.shift & 0xFFU) * 0x01010101U};
        }
        plane.component[component.layout.offset_bytes / plan.bytes_per_sample] = static_cast<int>(i);
    }
    return result;
}

TilePlan::TilePlan(const Plan& plan, const SourcePlanes& planes, Tables& tables) : of_frame_(planes.of_frame) {
    args_.color = color_args(plan.color);
    args_.grid_width = plan.grid.width;
    args_.grid_height = plan.grid.height;
    args_.num_planes = planes.num_planes;
    std::copy(planes.planes.begin(), planes.planes.end(), args_.planes);
    std::copy(planes.component_axis.begin(), planes.component_axis.end(), args_.component_axis);

    const std::size_t num_axes = plan.filters.size() / 2;
    std::array<PackedColumns, 2> columns;
    for (std::size_t axis = 0; axis < num_axes; ++axis) columns[axis] = pack_columns(plan.filters[2 * axis]);
    std::array<TileColumns, 2> tiles;
    shared_bytes_ = lay_out(plan, columns, args_, tiles);

    for (std::size_t axis = 0; axis < num_axes; ++axis) {
        const Filter& vertical = plan.filters[2 * axis + 1];
        offsets_[axis].row_first = tables.add(vertical.first);
        offsets_[axis].row_count = tables.add(vertical.count);
        const PackedRows rows = pack_rows(vertical);
        offsets_[axis].row_coefs = tables.add(rows.coefs);
        args_.rows[axis].pitch = rows.pitch;
        offsets_[axis].column_first = tables.add(columns[axis].first);
        offsets_[axis].column_coefs = tables.add(columns[axis].coefs);
        offsets_[axis].tile_begin = tables.add(tiles[axis].begin);
        offsets_[axis].tile_end = tables.add(tiles[axis].end);
        args_.columns[axis].pitch = columns[axis].pitch;
        args_.columns[axis].identity = plan.filters[2 * axis].identity ? 1 : 0;
        args_.columns[axis].begin = plan.filters[2 * axis].begin;
    }
}

Launch TilePlan::launch(const Batch& batch) const {
    Launch launch;
    TileArgs& args = launch.args.emplace<TileArgs>(args_);
    for (std::size_t axis = 0; axis < 2; ++axis) {
        const Axis& offsets = offsets_[axis];
        args.rows[axis].first = table_at<std::int32_t>(batch.tables, offsets.row_first);
        args.rows[axis].count = table_at<std::int32_t>(batch.tables, offsets.row_count);
        args.rows[axis].coefs = table_at<std::int16_t>(batch.tables, offsets.row_coefs);
        args.columns[axis].first = table_at<std::int32_t>(batch.tables, offsets.column_first);
        args.columns[axis].coefs = table_at<std::int16_t>(batch.tables, offsets.column_coefs);
        args.columns[axis].tile_begin = table_at<std::int32_t>(batch.tables, offsets.tile_begin);
        args.columns[axis].tile_end = table_at<std::int32_t>(batch.tables, offsets.tile_end);
    }
    OutputArgs& output = args.output = output_args(batch.plan, batch.items[0].target);
    const bool turned = batch.plan.placement.column_per_x == 0;
    const std::int64_t step = turned ? output.step_y : output.step_x;
    const bool packed = std::abs(step) == std::int64_t{output.group_size} * output.element_bytes;
    const bool coalesced = !turned && output.group_size == 1;  // threads side by side store elements side by side
    args.staging = coalesced || !packed || !has_dense_groups(output) ? Staging::none
                   : turned                                          ? Staging::along_y
                                                                     : Staging::along_x;
    for (std::size_t i = 0; i < batch.items.size(); ++i) {
        args.frames[i] = frame_args(batch.items[i], of_frame_, args.num_planes);
    }
    output.aligned = has_aligned_elements(output, std::span(args.frames, batch.items.size())) ? 1 : 0;
    launch.kernel = kernel_name("resample_tile", batch.plan);
    launch.blocks_x = blocks(args.grid_width, args.tile_width);
    launch.blocks_y = blocks(args.grid_height, args.tile_height);
    launch.blocks_z = static_cast<unsigned>(batch.items.size());
    launch.threads = kTileThreads;
    launch.shared_bytes = shared_bytes_;
    return launch;
}

}  // namespace tricodec::image::gpu
