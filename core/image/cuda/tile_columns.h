// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/intrinsics.h"
#include "image/cuda/kernel_args.h"

namespace tricodec::image::gpu {

inline constexpr int kThreadRows = 4;  ///< rows of the grid that a thread makes: they share coefficients

/// The sums of docs/transform.md 4.3 that grow while columns come in.
struct ColumnSums {
    std::int32_t low[kThreadRows];
    std::int32_t high[kThreadRows];  ///< of the high bytes

    TRICODEC_KERNEL std::int32_t p(int row) const { return (low[row] + high[row] * 256 + 8192) >> 14; }
};

/// The part that columns [begin, begin + num_columns) give to an output's sums of `kComponents` components, whose low
/// bytes are at `low[i]`. Rows beyond the tile are summed up too, from whatever stands there.
template <int kComponents>
TRICODEC_KERNEL void add_columns(const ColumnTable& table, const unsigned char* const (&low)[kComponents], int pitch,
                                 int to_high, int output, int begin, int num_columns, ColumnSums (&sums)[kComponents]) {
    if (table.identity != 0) {
        const int column = table.begin + output - begin;
        if (column < 0 || column >= num_columns) return;
        TRICODEC_UNROLL
        for (int i = 0; i < kComponents; ++i) {
            TRICODEC_UNROLL
            for (int row = 0; row < kThreadRows; ++row) {
                const unsigned char* const at = low[i] + row * pitch + column;
                sums[i].low[row] += at[0] * 16384;
                sums[i].high[row] += static_cast<signed char>(at[to_high]) * 16384;
            }
        }
        return;
    }
    const int first = table.first[output] - begin;
    const std::int16_t* const coefs = table.coefs + output * table.pitch;
    const int end = num_columns - first < table.pitch ? num_columns - first : table.pitch;
    for (int k = first < 0 ? -first : 0; k < end; k += 4) {
        const auto four = load<Words2>(coefs + k);
        TRICODEC_UNROLL
        for (int i = 0; i < kComponents; ++i) {
            const unsigned char* const at = low[i] + first + k;
            TRICODEC_UNROLL
            for (int row = 0; row < kThreadRows; ++row) {
                const auto lows = load<std::uint32_t>(at + row * pitch);
                const auto highs = load<std::uint32_t>(at + row * pitch + to_high);
                sums[i].low[row] = dot_high(four.w[1], lows, dot_low(four.w[0], lows, sums[i].low[row]));
                sums[i].high[row] = dot_signed(four, highs, sums[i].high[row]);
            }
        }
    }
}

}  // namespace tricodec::image::gpu
