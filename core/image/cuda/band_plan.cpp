// SPDX-License-Identifier: Apache-2.0
#include "image/cuda/band_plan.h"

#include <algorithm>

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

/// How the columns of a plane go into steps of 64 bytes.
struct Steps {
    int of_lane;             ///< columns in 8 bytes
    int groups;              ///< of 32 columns of V
    int num_units;           ///< of the grid
    int most = 1;            ///< steps of a unit
    std::vector<int> begin;  ///< by unit, columns
    std::vector<int> count;

    Steps(const Filter& filter, int sample_bytes, int parts)
        : of_lane(8 / (sample_bytes * parts)),
          groups((of_lane / 2 + 1) / 2),
          num_units((filter.num_outputs + kBandWidth - 1) / kBandWidth) {
        for (int unit = 0; unit < num_units; ++unit) {
            const Span span = span_of(filter, unit * kBandWidth, (unit + 1) * kBandWidth);
            begin.push_back(span.first / (2 * of_lane) * (2 * of_lane));  // 16 bytes
            count.push_back((span.last - begin.back() + of_step() - 1) / of_step());
            most = std::max(most, count.back());
        }
    }

    [[nodiscard]] int of_step() const { return 8 * of_lane; }
    [[nodiscard]] std::size_t words() const {
        return static_cast<std::size_t>(num_units) * static_cast<std::size_t>(most * groups * kBandTiles * 32);
    }
};

}  // namespace

BandRows make_band_rows(const Filter& filter) {
    BandRows rows;
    const int tiles = (filter.num_outputs + kBandRows - 1) / kBandRows;
    for (int tile = 0; tile < tiles; ++tile) {
        const Span span = span_of(filter, tile * kBandRows, (tile + 1) * kBandRows);
        rows.first.push_back(span.first);
        rows.count.push_back(span.last - span.first);
        rows.pitch = std::max(rows.pitch, (rows.count.back() + 31) / 32);
    }
    rows.weights.assign(static_cast<std::size_t>(tiles * rows.pitch) * 32, Words4{});
    for (int tile = 0; tile < tiles; ++tile) {
        for (int step = 0; step < rows.pitch; ++step) {
            for (int lane = 0; lane < 32; ++lane) {
                Words4& words = rows.weights[static_cast<std::size_t>((tile * rows.pitch + step) * 32 + lane)];
                for (int k = 0; k < 4; ++k) {
                    for (int half = 0; half < 2; ++half) {
                        const int row = rows.first[static_cast<std::size_t>(tile)] + 32 * step +
                                        band_row(16 * half + 4 * (lane % 4) + k);
                        const int coef = coefficient(filter, tile * kBandRows + lane / 4, row);
                        words.w[2 * half] |= byte_of(coef, true, k);
                        words.w[2 * half + 1] |= byte_of(coef, false, k);
                    }
                }
            }
        }
    }
    return rows;
}

std::size_t band_columns_bytes(const Filter& filter, int sample_bytes, int parts) {
    return Steps(filter, sample_bytes, parts).words() * sizeof(Words4);
}

BandColumnsTable make_band_columns(const Filter& filter, int sample_bytes, int parts) {
    const Steps steps(filter, sample_bytes, parts);
    BandColumnsTable columns;
    columns.pitch = steps.most;
    columns.weights.assign(steps.words(), Words4{});
    std::size_t at = 0;
    for (int unit = 0; unit < steps.num_units; ++unit) {
        const int begin = steps.begin[static_cast<std::size_t>(unit)];
        columns.begin.push_back(begin * sample_bytes * parts);
        columns.steps.push_back(steps.count[static_cast<std::size_t>(unit)]);
        for (int step = 0; step < steps.most; ++step) {
            const int first = begin + step * steps.of_step();
            std::int32_t active = 0;
            for (int group = 0; group < steps.groups; ++group) {
                for (int tile = 0; tile < kBandTiles; ++tile) {
                    for (int lane = 0; lane < 32; ++lane, ++at) {
                        const int output = unit * kBandWidth + tile * 8 + lane / 4;
                        for (int i = 0; i < 8; ++i) {
                            const int quad = 2 * group + i / 4;
                            if (quad >= steps.of_lane / 2) continue;
                            const int column = first + band_column(steps.of_lane, quad, i % 4, lane % 4);
                            const int coef = coefficient(filter, output, column);
                            columns.weights[at].w[i / 4] |= byte_of(coef, true, i % 4);
                            columns.weights[at].w[2 + i / 4] |= byte_of(coef, false, i % 4);
                            if (coef != 0) active |= 1 << tile;
                        }
                    }
                }
            }
            columns.active.push_back(active);
        }
    }
    return columns;
}

}  // namespace tricodec::image::gpu
