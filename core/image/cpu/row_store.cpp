// SPDX-License-Identifier: Apache-2.0
#include "image/cpu/row_store.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tricodec/base/error.h"

namespace tricodec::image {
namespace {

constexpr int kTurnedRows = 32;  // collected of a turned picture: columns of 32 pixels fill cache lines

/// Moves `rows` x `columns` units. The inner loop is the one along which the output is contiguous.
template <std::size_t kBytes>
void move_units(const std::byte* from, std::size_t row_bytes, int rows, int columns, std::byte* to,
                std::ptrdiff_t step_x, std::ptrdiff_t step_y) {
    if (rows == 1) {
        for (int x = 0; x < columns; ++x, from += kBytes, to += step_x) std::memcpy(to, from, kBytes);
        return;
    }
    for (int x = 0; x < columns; ++x, from += kBytes, to += step_x) {
        const std::byte* unit = from;
        std::byte* at = to;
        for (int y = 0; y < rows; ++y, unit += row_bytes, at += step_y) std::memcpy(at, unit, kBytes);
    }
}

using MoveUnits = void (*)(const std::byte*, std::size_t, int, int, std::byte*, std::ptrdiff_t, std::ptrdiff_t);

MoveUnits move_units_of(int bytes) {
    switch (bytes) {
        case 1:
            return move_units<1>;
        case 2:
            return move_units<2>;
        case 3:
            return move_units<3>;
        case 4:
            return move_units<4>;
        case 6:
            return move_units<6>;
        case 8:
            return move_units<8>;
        case 12:
            return move_units<12>;
        case 16:
            return move_units<16>;
        default:
            TRICODEC_INVARIANT(bytes == 32);
            return move_units<32>;
    }
}

}  // namespace

RowStore::RowStore(const Kernels& kernels, const Plan& plan, const Target& target)
    : kernels_(kernels),
      target_(target),
      width_(plan.grid.width),
      num_channels_(plan.color.num_channels),
      value_bytes_(static_cast<int>(size_of(plan.dtype))),
      layout_(plan.layout) {
    choose_kind();
    const auto width = static_cast<std::size_t>(width_);
    if (kind_ == Kind::groups) {
        woven_.resize(width * static_cast<std::size_t>(num_channels_ * value_bytes_));
    }
    if (direct_) return;
    if (std::abs(target_.step_y) < std::abs(target_.step_x)) most_rows_ = std::min(kTurnedRows, plan.grid.height);
    plane_bytes_ = width * static_cast<std::size_t>(unit_bytes_);
    // An odd number of cache lines: the rows of a column then fall into different sets of the cache.
    row_bytes_ = (plane_bytes_ * static_cast<std::size_t>(num_planes_) / 128 * 2 + 3) * 64;
    collected_.assign(row_bytes_ * static_cast<std::size_t>(most_rows_), std::byte{0});
}

void RowStore::choose_kind() {
    if (layout_ == Layout::chw2 || layout_ == Layout::hwc8) {
        kind_ = Kind::groups;
        unit_slots_ = layout_ == Layout::chw2 ? 2 : kMaxSlots;
    } else if (layout_ == Layout::hwc && num_channels_ == 3) {
        kind_ = Kind::packed;
        unit_slots_ = 3;
    }
    for (int i = 0; i < target_.num_slots; ++i) {
        const std::ptrdiff_t first = target_.slot_offset[static_cast<std::size_t>(i / unit_slots_ * unit_slots_)];
        if (target_.slot_offset[static_cast<std::size_t>(i)] != first + i % unit_slots_ * value_bytes_) {
            kind_ = Kind::planar;  // and planes of zeros for the elements of no channel
            unit_slots_ = 1;
            break;
        }
    }
    unit_bytes_ = unit_slots_ * value_bytes_;
    num_planes_ = target_.num_slots / unit_slots_;
    const bool has_padding_planes = kind_ == Kind::planar && target_.num_slots > num_channels_;
    direct_ = target_.step_x == unit_bytes_ && !has_padding_planes;
}

std::byte* RowStore::plane_of(int y, int plane) {
    if (direct_) {
        return target_.data + y * target_.step_y + target_.slot_offset[static_cast<std::size_t>(plane * unit_slots_)];
    }
    return collected_.data() + static_cast<std::size_t>(count_) * row_bytes_ +
           static_cast<std::size_t>(plane) * plane_bytes_;
}

std::array<LinesAhead::Rows, 3> RowStore::memory_of(int y, int count) noexcept {
    std::array<LinesAhead::Rows, 3> rows{};
    for (int plane = 0; plane < num_planes_; ++plane) {
        rows[static_cast<std::size_t>(plane)] = {plane_of(y, plane), target_.step_y, count,
                                                 std::ptrdiff_t{width_} * unit_bytes_};
    }
    return rows;
}

ChannelRows RowStore::begin_row(int y) {
    rows_ = {};
    if (kind_ == Kind::packed) {
        rows_ = {{plane_of(y, 0), nullptr, nullptr}, true};
        return rows_;
    }
    for (int i = 0; i < num_channels_; ++i) {
        rows_.channel[static_cast<std::size_t>(i)] =
            kind_ == Kind::planar ? plane_of(y, i)
                                  : woven_.data() + static_cast<std::ptrdiff_t>(i) * width_ * value_bytes_;
    }
    return rows_;
}

void RowStore::end_row(int y) {
    if (kind_ == Kind::groups) weave(y);
    if (direct_) return;
    if (count_ == 0) first_ = y;
    if (++count_ == most_rows_) flush();
}

void RowStore::weave(int y) {
    for (int plane = 0; plane < num_planes_; ++plane) {
        const int first = plane * unit_slots_;
        WeaveRow row{{}, std::min(unit_slots_, num_channels_ - first), unit_slots_, value_bytes_};
        for (int i = 0; i < row.num_channels; ++i) {
            row.channel[static_cast<std::size_t>(i)] = rows_.channel[static_cast<std::size_t>(first + i)];
        }
        kernels_.weave(row, width_, plane_of(y, plane));
    }
}

void RowStore::flush() {
    if (count_ == 0) return;
    const MoveUnits move = move_units_of(unit_bytes_);
    for (int plane = 0; plane < num_planes_; ++plane) {
        const std::byte* const from = collected_.data() + static_cast<std::size_t>(plane) * plane_bytes_;
        std::byte* const to =
            target_.data + first_ * target_.step_y + target_.slot_offset[static_cast<std::size_t>(plane * unit_slots_)];
        move(from, row_bytes_, count_, width_, to, target_.step_x, target_.step_y);
    }
    count_ = 0;
}

}  // namespace tricodec::image
