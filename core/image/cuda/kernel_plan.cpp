// SPDX-License-Identifier: Apache-2.0
#include "image/cuda/kernel_plan.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "image/cuda/band_plan.h"
#include "image/cuda/direct_plan.h"
#include "image/cuda/kernel_tables.h"
#include "image/cuda/launch_args.h"
#include "image/cuda/whole_plan.h"
#include "tricodec/error.h"

namespace tricodec::image::gpu {
namespace {

/// Shared memory for a tile's V and for its output while it waits: together below the 48 KiB that every block may have.
constexpr int kVBudgetBytes = 34 * 1024;
constexpr int kStageBudgetBytes = 13 * 1024;

/// Shared memory of a block of the band kernel: what every GPU has that can run it.
constexpr int kBandBudgetBytes = 99 * 1024;

constexpr int round_up(int value, int to) {
    return (value + to - 1) / to * to;
}

/// Near equal parts of `length`, none longer than `most`.
int divide_evenly(int length, int most) {
    const int parts = (length + most - 1) / most;
    return (length + parts - 1) / parts;
}

/// Components that no channel looks at are not read: a zero factor's term may be left out (docs/transform.md 5.3).
bool is_needed(const Plan& plan, std::size_t component) {
    for (std::size_t channel = 0; channel < static_cast<std::size_t>(plan.color.num_channels); ++channel) {
        const bool zero = plan.dtype == DType::uint8 ? plan.color.fixed[channel][component] == 0
                                                     : plan.color.factor[channel][component] == 0.0F;
        if (!zero) return true;
    }
    return false;
}

/// The integer weights for multiples of P that the direct kernel has: the smaller of two scales for half chroma.
DirectColor direct_color(const ColorPlan& plan, const ColorArgs& color, int bits, Chroma chroma) {
    const bool half = chroma == Chroma::half_pairs || chroma == Chroma::half_planes;
    DirectColor direct{};
    for (std::size_t channel = 0; channel < 3; ++channel) {
        const auto& weights = plan.fixed[channel];
        direct.luma_2p[channel] = weights[0] * (bits == 8 ? 128 : 1);
        direct.luma_4p[channel] = weights[0] * (bits == 8 ? 256 : 1);
        for (std::size_t i = 0; i < 2; ++i) {
            direct.chroma[channel][i] = weights[i + 1] * (half || bits != 8 ? 1 : 256);
        }
        direct.bias[channel] = color.fixed_bias[channel] * (bits == 16 ? 1 : half ? 2 : 4);
    }
    return direct;
}

/// Whether the band kernel beats the tile kernel. Measured on an H200 with batches of 32, both in turn: of 8 bits it
/// takes 0.88 times as long to enlarge by 4/3, 0.97 times for 1080p to 720p, 0.94 times for half the size, 0.66 times
/// for 777 to 224, 0.84 times for 1080p to 224 and 0.68 times for the same bicubic; of 16 bits 0.95, 0.96, 0.68 and
/// 0.82 times for the four reductions. What it was not measured with stays with the tile kernel unless much is summed
/// up: outputs that are turned or padded, which it would store element by element.
bool is_faster_in_bands(const Plan& plan) {
    const int taps = plan.filters[1].max_taps;
    const bool in_order =
        plan.placement.column_per_x != 0 && plan.layout != Layout::chw2 && plan.layout != Layout::hwc8;
    return taps >= (in_order ? 2 : plan.bytes_per_sample == 1 ? 6 : 12);
}

}  // namespace

KernelPlan::KernelPlan(std::shared_ptr<const Plan> plan, bool bands) : plan_(std::move(plan)) {
    tile_.color = color_args(plan_->color);
    tile_.grid_width = plan_->grid.width;
    tile_.grid_height = plan_->grid.height;
    add_planes();
    lay_out_shared_memory();
    if (bands || is_faster_in_bands(*plan_)) add_band();
    period_ = make_period(*plan_);
    for (std::size_t i = 0; period_ && i < 2; ++i) period_rows_[i] = add_table(period_->row_tables[i]);
    add_direct();
}

template <typename Value>
std::size_t KernelPlan::add_table(const std::vector<Value>& values) {
    const std::size_t offset = (tables_.size() + 15) / 16 * 16;
    tables_.resize(offset + values.size() * sizeof(Value));
    if (!values.empty()) std::memcpy(tables_.data() + offset, values.data(), values.size() * sizeof(Value));
    return offset;
}

void KernelPlan::add_planes() {
    const Plan& plan = *plan_;
    const bool chroma = plan.num_components == 3 && (is_needed(plan, 1) || is_needed(plan, 2));
    const std::array<bool, 3> needed{is_needed(plan, 0), chroma, chroma};
    for (std::size_t i = 0; i < 3; ++i) {
        tile_.component_axis[i] = -1;
        if (!needed[i]) continue;
        const ComponentPlan& component = plan.components[i];
        tile_.component_axis[i] = component.horizontal == 0 ? 0 : 1;
        const auto known = tile_plane_.begin() + tile_.num_planes;
        const auto found = std::find(tile_plane_.begin(), known, component.layout.plane);
        const auto number = static_cast<std::size_t>(found - tile_plane_.begin());
        TilePlane& plane = tile_.planes[number];
        if (found == known) {
            tile_plane_[number] = component.layout.plane;
            ++tile_.num_planes;
            const Filter& horizontal = plan.filters[static_cast<std::size_t>(component.horizontal)];
            const int column_bytes = component.layout.step_bytes;
            plane = {column_bytes / plan.bytes_per_sample,
                     {-1, -1, -1},
                     tile_.component_axis[i],
                     horizontal.begin * column_bytes,
                     horizontal.end * column_bytes,
                     plan.depth + plan.shift,
                     (0xFFU << plan.shift & 0xFFU) * 0x01010101U};
        }
        plane.component[component.layout.offset_bytes / plan.bytes_per_sample] = static_cast<int>(i);
    }
}

void KernelPlan::lay_out_shared_memory() {
    const Plan& plan = *plan_;
    const std::size_t num_axes = plan.filters.size() / 2;
    std::array<PackedColumns, 2> columns;
    for (std::size_t axis = 0; axis < num_axes; ++axis) columns[axis] = pack_columns(plan.filters[2 * axis]);
    std::array<int, 2> users{};  // components with this axis
    for (const int axis : tile_.component_axis) {
        if (axis >= 0) ++users[static_cast<std::size_t>(axis)];
    }

    // Turned pictures are written along the grid's columns: their tiles are square.
    const bool turned = plan.placement.column_per_x == 0;
    const int group = group_size(plan);
    const int group_bytes = group * static_cast<int>(size_of(plan.dtype));
    const int groups = num_slots(plan.layout, plan.color.num_channels) / group;
    int width = divide_evenly(plan.grid.width, turned ? 32 : 256);
    int height = std::min(round_up(plan.grid.height, kThreadRows), turned ? 32 : 8);
    std::array<TileColumns, 2> tiles;
    int v_bytes = 0;
    int stage_bytes = 0;
    const auto measure = [&] {
        v_bytes = 0;
        for (std::size_t axis = 0; axis < num_axes; ++axis) {
            tiles[axis] = tile_columns_of(plan.filters[2 * axis], columns[axis], width);
            v_bytes += 2 * users[axis] * height * tiles[axis].most;
        }
        // An odd number of words from run to run: threads that write one below the other use different banks.
        tile_.stage_pitch = (round_up((turned ? height : width) * group_bytes, 4) / 4 | 1) * 4;
        stage_bytes = groups * (turned ? width : height) * tile_.stage_pitch + 4;
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

    tile_.tile_width = width;
    tile_.tile_height = height;
    const int most = std::max(tiles[0].most, tiles[1].most);
    const int columns_that_fit = kVBudgetBytes / (2 * (users[0] + users[1]) * height) / 16 * 16;
    tile_.segment_columns = v_bytes <= kVBudgetBytes ? most : columns_that_fit;
    tile_.num_segments = (most + tile_.segment_columns - 1) / tile_.segment_columns;
    int used = 0;
    for (int i = 0; i < 3; ++i) {
        const int axis = tile_.component_axis[i];
        if (axis < 0) continue;
        tile_.v.pitch[axis] = std::min(tiles[static_cast<std::size_t>(axis)].most, tile_.segment_columns);
        tile_.v.to_high[axis] = height * tile_.v.pitch[axis];
        tile_.v.offset[i] = used;
        used += 2 * tile_.v.to_high[axis];
    }
    tile_.stage_offset = used;
    tile_.sums_offset = round_up(used + stage_bytes, 16);
    const int sums_bytes = width * height / kThreadRows * static_cast<int>(sizeof(PointSums));
    shared_bytes_ = static_cast<unsigned>(tile_.sums_offset + (tile_.num_segments > 1 ? sums_bytes : 0));

    for (std::size_t axis = 0; axis < num_axes; ++axis) {
        const Filter& vertical = plan.filters[2 * axis + 1];
        offsets_.row_first[axis] = add_table(vertical.first);
        offsets_.row_count[axis] = add_table(vertical.count);
        const PackedRows rows = pack_rows(vertical);
        offsets_.row_coefs[axis] = add_table(rows.coefs);
        tile_.rows[axis].pitch = rows.pitch;
        offsets_.column_first[axis] = add_table(columns[axis].first);
        offsets_.column_coefs[axis] = add_table(columns[axis].coefs);
        offsets_.tile_begin[axis] = add_table(tiles[axis].begin);
        offsets_.tile_end[axis] = add_table(tiles[axis].end);
        tile_.columns[axis].pitch = columns[axis].pitch;
        tile_.columns[axis].identity = plan.filters[2 * axis].identity ? 1 : 0;
        tile_.columns[axis].begin = plan.filters[2 * axis].begin;
    }
}

void KernelPlan::add_direct() {
    auto direct =
        make_direct(*plan_, [this](int component) { return is_needed(*plan_, static_cast<std::size_t>(component)); });
    if (!direct) return;
    direct_ = direct->args;
    direct_->color = tile_.color;
    direct_->direct_color = direct_color(plan_->color, tile_.color, kernel_bits(*plan_), direct_->samples.chroma);
    direct_plane_ = direct->planes;
    whole_ = make_whole(*plan_, *direct_, direct->chroma_rows);
    chroma_rows_ = add_table(direct->chroma_rows);
}

void KernelPlan::add_band() {
    const Plan& plan = *plan_;
    BandArgs band{};
    band.num_planes = tile_.num_planes;
    band.grid_width = tile_.grid_width;
    band.grid_height = tile_.grid_height;
    band.color = tile_.color;
    // A plane each; or luma's, and one of both chroma components.
    const bool pairs = band.num_planes == 2;
    std::array<int, 2> parts{1, 1};  // by axis
    std::array<bool, 2> used{};
    for (int i = 0; i < band.num_planes; ++i) {
        const TilePlane& plane = tile_.planes[i];
        const int wanted = pairs && i == 1 ? 2 : 1;
        if (plane.parts != wanted || plane.component[0] != i) return;
        const auto axis = static_cast<std::size_t>(plane.axis);
        if (used[axis] && parts[axis] != wanted) return;  // chroma as wide as luma, side by side
        used[axis] = true;
        parts[axis] = wanted;
    }
    std::array<BandRows, 2> rows;
    std::array<BandColumnsWords, 2> columns;
    int most = 0;
    for (std::size_t axis = 0; axis < 2; ++axis) {
        if (!used[axis]) continue;
        rows[axis] = make_band_rows(plan.filters[2 * axis + 1]);
        columns[axis] = make_band_columns(plan.filters[2 * axis], plan.bytes_per_sample, parts[axis]);
        most = std::max(most, rows[axis].most);
    }
    const int tables_bytes = (columns[0].most + columns[1].most) * static_cast<int>(sizeof(Words4));
    band.stage_bytes = most * kBandBytes;
    band.work_place = kBandStages * band.stage_bytes;
    int place = band.work_place + 3 * static_cast<int>(sizeof(BandWork));
    if (place + tables_bytes > kBandBudgetBytes) return;
    band_shared_bytes_ = static_cast<unsigned>(place + tables_bytes);
    for (std::size_t axis = 0; axis < 2; ++axis) {
        if (!used[axis]) continue;
        band_offsets_.rows[axis] = add_table(rows[axis].ranges);
        band_offsets_.block_rows[axis] = add_table(rows[axis].blocks);
        band_offsets_.row_weights[axis] = add_table(rows[axis].weights);
        band_offsets_.bytes[axis] = add_table(columns[axis].bytes);
        band_offsets_.ranges[axis] = add_table(columns[axis].ranges);
        band_offsets_.words[axis] = add_table(columns[axis].words);
        BandColumnsTable& table = band.columns[band.num_axes];
        table.header = columns[axis].header;
        table.place = place;
        place += columns[axis].most * static_cast<int>(sizeof(Words4));
        for (int i = 0; i < band.num_planes; ++i) {
            const TilePlane& tile_plane = tile_.planes[i];
            if (static_cast<std::size_t>(tile_plane.axis) != axis) continue;
            BandPlane& plane = band.planes[i];
            plane.axis = band.num_axes;
            plane.bits = tile_plane.bits;
            plane.mask = (0xFFFFU << plan.shift & 0xFFFFU) * 0x00010001U;
            plane.row_pitch = rows[axis].pitch;
        }
        ++band.num_axes;
    }
    band_ = band;
    // Of 16 bits, whose arithmetic is twice as much, boxes gain 1 % (1080p to 224x224), not worth kernels of their own.
    if (!pairs || plan.bytes_per_sample != 1) return;
    const auto axis_of = [&](int i) { return static_cast<std::size_t>(tile_.planes[i].axis); };
    const BandColumnsWords both = make_box_columns(columns[axis_of(0)], columns[axis_of(1)]);
    boxes_ = make_boxes(rows[axis_of(0)], rows[axis_of(1)], both);
    if (!boxes_) return;
    box_offsets_.ranges = add_table(both.ranges);
    box_offsets_.words = add_table(both.words);
    for (std::size_t i = 0; i < 2; ++i) {
        boxes_->width[i] = tile_.planes[i].valid_end;
        boxes_->height[i] = plan.filters[2 * axis_of(static_cast<int>(i)) + 1].end;
    }
}

}  // namespace tricodec::image::gpu
