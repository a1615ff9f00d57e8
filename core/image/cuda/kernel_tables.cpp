// SPDX-License-Identifier: Apache-2.0
#include "image/cuda/kernel_tables.h"

#include <algorithm>

namespace tricodec::image::gpu {
namespace {

constexpr int round_up(int value, int to) {
    return (value + to - 1) / to * to;
}

}  // namespace

PackedColumns pack_columns(const Filter& filter) {
    PackedColumns packed;
    const auto outputs = static_cast<std::size_t>(filter.num_outputs);
    for (std::size_t i = 0; i < outputs; ++i) {
        packed.first.push_back(filter.first[i] & ~3);
        packed.pitch = std::max(packed.pitch, round_up((filter.first[i] & 3) + filter.count[i], 4));
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
    packed.pitch = round_up(filter.max_taps, 4);
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
        tiles.end.push_back(round_up(end, 16));
        tiles.most = std::max(tiles.most, tiles.end.back() - tiles.begin.back());
    }
    return tiles;
}

}  // namespace tricodec::image::gpu
