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
        default:
            TRICODEC_INVARIANT(bytes == 12);
            return move_units<12>;
    }
}

}  // namespace

RowStore::RowStore(const Plan& plan, const Target& target)
    : target_(target), width_(plan.grid.width), num_channels_(plan.color.num_channels) {
    const int value_bytes = static_cast<int>(size_of(plan.dtype));
    const auto& offset = target_.slot_offset;
    packed_ = num_channels_ == 3 && target_.num_slots == 3 && offset[1] == offset[0] + value_bytes &&
              offset[2] == offset[1] + value_bytes;
    num_planes_ = packed_ ? 1 : target_.num_slots;
    unit_bytes_ = packed_ ? 3 * value_bytes : value_bytes;
    direct_ = target_.step_x == unit_bytes_ && target_.num_slots == num_channels_;
    if (direct_) return;
    if (std::abs(target_.step_y) < std::abs(target_.step_x)) most_rows_ = std::min(kTurnedRows, plan.grid.height);
    plane_bytes_ = static_cast<std::size_t>(width_) * static_cast<std::size_t>(unit_bytes_);
    // An odd number of cache lines: the rows of a column then fall into different sets of the cache.
    row_bytes_ = (plane_bytes_ * static_cast<std::size_t>(num_planes_) / 128 * 2 + 3) * 64;
    collected_.assign(row_bytes_ * static_cast<std::size_t>(most_rows_), std::byte{0});
}

std::byte* RowStore::plane_of(int y, int plane) {
    if (direct_) return target_.data + y * target_.step_y + target_.slot_offset[static_cast<std::size_t>(plane)];
    return collected_.data() + static_cast<std::size_t>(count_) * row_bytes_ +
           static_cast<std::size_t>(plane) * plane_bytes_;
}

ChannelRows RowStore::begin_row(int y) {
    ChannelRows rows;
    rows.interleaved = packed_;
    for (int i = 0; i < (packed_ ? 1 : num_channels_); ++i) rows.channel[static_cast<std::size_t>(i)] = plane_of(y, i);
    return rows;
}

void RowStore::end_row(int y) {
    if (direct_) return;
    if (count_ == 0) first_ = y;
    if (++count_ == most_rows_) flush();
}

void RowStore::flush() {
    if (count_ == 0) return;
    const MoveUnits move = move_units_of(unit_bytes_);
    for (int plane = 0; plane < num_planes_; ++plane) {
        const std::byte* const from = collected_.data() + static_cast<std::size_t>(plane) * plane_bytes_;
        std::byte* const to =
            target_.data + first_ * target_.step_y + target_.slot_offset[static_cast<std::size_t>(plane)];
        move(from, row_bytes_, count_, width_, to, target_.step_x, target_.step_y);
    }
    count_ = 0;
}

}  // namespace tricodec::image
