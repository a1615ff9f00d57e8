// SPDX-License-Identifier: Apache-2.0
#include "image/cuda/band_plan.h"

#include <algorithm>
#include <array>

#include "image/cuda/band_args.h"

namespace tricodec::image::gpu {
namespace {

/// What outputs [begin, end) read.
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

/// The coefficient of a sample, zero for what the output does not read and for outputs that do not exist.
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

/// The coefficients of a tile for a group of columns, of which `first` is the first; false if all are zero.
bool make_entry(const Filter& filter, int first_output, int first, int columns, int group,
                std::array<Words4, 32>& entry) {
    bool any = false;
    entry = {};
    for (std::size_t lane = 0; lane < entry.size(); ++lane) {
        for (int i = 0; i < 8; ++i) {
            const int k = i / 4 * 16 + static_cast<int>(lane) % 4 * 4 + i % 4;
            if (k >= columns) continue;
            const int column = first + band_column(columns, group, k);
            const int coef = coefficient(filter, first_output + static_cast<int>(lane) / 4, column);
            entry[lane].w[i / 4] |= byte_of(coef, true, i % 4);
            entry[lane].w[2 + i / 4] |= byte_of(coef, false, i % 4);
            any = any || coef != 0;
        }
    }
    return any;
}

}  // namespace

BandRows make_band_rows(const Filter& filter) {
    BandRows rows;
    const int tiles = (filter.num_outputs + kBandRows - 1) / kBandRows;
    for (int tile = 0; tile < tiles; ++tile) {
        const Span span = span_of(filter, tile * kBandRows, (tile + 1) * kBandRows);
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
                                        band_row(16 * half + 4 * (lane % 4) + k);
                        const int coef = coefficient(filter, tile * kBandRows + lane / 4, row);
                        words.w[2 * half] |= byte_of(coef, true, k);
                        words.w[2 * half + 1] |= byte_of(coef, false, k);
                    }
                }
            }
        }
    }
    for (int tile = 0; tile < tiles; tile += kBandWarps) {
        const Span span = span_of(filter, tile * kBandRows, (tile + kBandWarps) * kBandRows);
        rows.blocks.push_back({span.first, span.last - span.first});
        for (int i = tile; i < std::min(tile + kBandWarps, tiles); ++i) {
            const BandRange range = rows.ranges[static_cast<std::size_t>(i)];
            rows.most = std::max(rows.most, range.first - span.first + (range.count + 15) / 16 * 16);
        }
    }
    return rows;
}

BandColumnsWords make_band_columns(const Filter& filter, int sample_bytes, int parts) {
    BandColumnsWords columns;
    const int column_bytes = sample_bytes * parts;
    const int of_step = kBandBytes / column_bytes;
    int steps = 0;
    for (int output = 0; output < filter.num_outputs; output += kBandWidth) {
        const Span span = span_of(filter, output, output + kBandWidth);
        const int first = span.first * column_bytes / 32 * 32;
        // Whole copies of 16 bytes, but nothing beyond the crop.
        const int last = std::min((span.last * column_bytes + 15) / 16 * 16, filter.end * column_bytes);
        columns.bytes.push_back({first, last - first});
        steps = std::max(steps, (last - first + kBandBytes - 1) / kBandBytes);
    }
    columns.header = (steps + 3) / 4;
    std::array<Words4, 32> entry;
    for (std::size_t unit = 0; unit < columns.bytes.size(); ++unit) {
        const std::size_t begin = columns.words.size();
        columns.words.resize(begin + static_cast<std::size_t>(columns.header));
        for (int step = 0; step * kBandBytes < columns.bytes[unit].count; ++step) {
            const int first = columns.bytes[unit].first / column_bytes + step * of_step;
            std::uint32_t active = 0;
            for (int tile = 0; tile < kBandTiles; ++tile) {
                const int output = static_cast<int>(unit) * kBandWidth + tile * 8;
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

}  // namespace tricodec::image::gpu
