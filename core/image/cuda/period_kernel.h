// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/async_copy.h"
#include "image/cuda/period_args.h"
#include "image/cuda/period_colors.h"

namespace tricodec::image::gpu {

// The kernel for pictures of 8 bits, chroma in pairs, that shrink across by one of a few ratios, to RGB. Such a ratio's
// coefficients repeat after a few columns: they are constants of the launch, and which columns they belong to is known
// when the kernel is compiled, so that both passes of docs/transform.md 4 run in registers. Down, any ratio will do
// whose rows are few. A warp makes rows of 32 units, each thread eight points of a row:
//   1. copies: all source rows that the warp's rows need, to shared memory;
//   2. for each row: V of the unit's columns, then P, colors and stores.
// Warps know nothing of each other.

/// Sixteen bytes, both addresses multiples of 16, or the first ones of them. They have come after wait_for_copies().
TRICODEC_KERNEL void copy_sixteen(unsigned char* to, const unsigned char* from, int num_bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    start_copy(static_cast<unsigned>(__cvta_generic_to_shared(to)), from, num_bytes);
#else
    if (num_bytes == 16) {
        store(to, load<Words4>(from));
    } else {
        for (int i = 0; i < num_bytes; ++i) to[i] = from[i];
    }
#endif
}

/// Rows of the grid that a warp makes, and where their source rows begin.
struct PeriodStrip {
    int y;
    int num_rows;
    int first[2];  ///< luma's, chroma's
};

TRICODEC_KERNEL PeriodStrip period_strip(const PeriodArgs& args, int number) {
    PeriodStrip strip{};
    strip.y = number * args.strip_rows;
    const int left = args.grid_height - strip.y;
    strip.num_rows = left < args.strip_rows ? left : args.strip_rows;
    if (left <= 0) return strip;
    for (int i = 0; i < 2; ++i) strip.first[i] = args.rows[i][strip.y].first;
    return strip;
}

/// Step 1, a lane's part.
template <class Ratio>
TRICODEC_KERNEL void period_copy(const PeriodArgs& args, const PeriodStrip& strip, const FrameArgs& frame, int segment,
                                 unsigned char* stage, int lane) {
    if (strip.num_rows <= 0) return;
    const int last = strip.y + strip.num_rows - 1;
    TRICODEC_UNROLL
    for (int i = 0; i < 2; ++i) {
        const int end = args.rows[i][last].first + (i == 0 ? Ratio::kLumaRows : Ratio::kChromaRows);
        const int rows = (end < args.row_end[i] ? end : args.row_end[i]) - strip.first[i];
        for (int piece = lane; piece < kPeriodPitch<Ratio> / 16; piece += 32) {
            const int byte = segment * 32 * Ratio::kColumns - kPeriodHalo + 16 * piece;
            const int num_bytes = args.row_bytes - byte < 16 ? args.row_bytes - byte : 16;
            if (byte < 0 || num_bytes <= 0) continue;
            const unsigned char* from =
                frame.planes[i] + static_cast<std::int64_t>(strip.first[i]) * frame.strides[i] + args.begin[i] + byte;
            unsigned char* to = stage + 16 * piece;
            for (int row = 0; row < rows; ++row, from += frame.strides[i], to += kPeriodPitch<Ratio>) {
                copy_sixteen(to, from, num_bytes);
            }
        }
        stage += args.stage_rows[i] * kPeriodPitch<Ratio>;
    }
}

/// V of four bytes side by side, from kRows rows that are `pitch` apart.
template <int kRows>
TRICODEC_KERNEL void four_columns(const unsigned char* from, int pitch, const PeriodRow& row, std::int32_t (&v)[4]) {
    TRICODEC_UNROLL
    for (int i = 0; i < 4; ++i) v[i] = 128;
    TRICODEC_UNROLL
    for (int tap = 0; tap < kRows; tap += 2) {
        const std::uint32_t both = row.coefs[tap / 2];
        const auto a = load<std::uint32_t>(from + tap * pitch);
        if (tap + 1 == kRows) {
            // A coefficient beside a zero needs no other row.
            const std::uint32_t even = both & 0xFFFFU;
            const std::uint32_t odd = both << 16;
            v[0] = dot_low(even, a, v[0]);
            v[1] = dot_low(odd, a, v[1]);
            v[2] = dot_high(even, a, v[2]);
            v[3] = dot_high(odd, a, v[3]);
            break;
        }
        const auto b = load<std::uint32_t>(from + (tap + 1) * pitch);
        const std::uint32_t first = permute(a, b, 0x5140);
        const std::uint32_t second = permute(a, b, 0x7362);
        v[0] = dot_low(both, first, v[0]);
        v[1] = dot_high(both, first, v[1]);
        v[2] = dot_low(both, second, v[2]);
        v[3] = dot_high(both, second, v[3]);
    }
    TRICODEC_UNROLL
    for (int i = 0; i < 4; ++i) v[i] >>= 8;
}

/// V of kParts components of a unit's columns from -1 on. Those that nothing needs, or that lie beside the crop, where
/// coefficients are zero, are of whatever stands there.
template <class Ratio, int kParts>
struct PeriodColumns {
    static constexpr int kRows = kParts == 1 ? Ratio::kLumaRows : Ratio::kChromaRows;

    TRICODEC_KERNEL static constexpr int first(int point) {
        return kParts == 1 ? Ratio::luma_first(point) : Ratio::chroma_first(point);
    }
    TRICODEC_KERNEL static constexpr int taps(int point) {
        return kParts == 1 ? Ratio::kLumaTaps : Ratio::chroma_taps(point);
    }
    static constexpr int kLast = kPeriodPoints - 1;
    static constexpr int kEnd = kParts == 1 ? Ratio::luma_first(kLast) + Ratio::kLumaTaps
                                            : Ratio::chroma_first(kLast) + Ratio::chroma_taps(kLast);

    std::int32_t v[kParts][kEnd + 1];

    /// `stage` has the unit's columns of rows from `first` on.
    TRICODEC_KERNEL PeriodColumns(const unsigned char* stage, const PeriodRow& row, int first) {
        const unsigned char* const from = stage + (row.first - first) * kPeriodPitch<Ratio>;
        TRICODEC_UNROLL
        for (int word = -1; word * 4 < kEnd * kParts; ++word) {
            std::int32_t four[4];
            four_columns<kRows>(from + 4 * word, kPeriodPitch<Ratio>, row, four);
            TRICODEC_UNROLL
            for (int k = 0; k < 4; ++k) {
                const int column = (4 * word + 4 + k) / kParts - 4 / kParts;
                if (column >= -1 && column < kEnd) v[k % kParts][column + 1] = four[k];
            }
        }
    }

    /// P of a point, with `start` in the sum.
    TRICODEC_KERNEL std::int32_t p(const PeriodCoefs& coefs, int part, int point, std::int32_t start, bool is_first,
                                   bool is_last) const {
        constexpr int kPhases = kParts == 1 ? Ratio::kLumaPhases : Ratio::kChromaPhases;
        std::int32_t sum = start;
        TRICODEC_UNROLL
        for (int k = 0; k < taps(point); ++k) {
            std::int32_t coef = coefs.phases[point % kPhases][k];
            if (point == 0 && is_first) coef = coefs.edges[0][k];
            if (point == kLast && is_last) coef = coefs.edges[1][k];
            sum += v[part][first(point) + 1 + k] * coef;
        }
        return sum >> 14;
    }
};

/// Step 2, a thread's part: its unit of each of the strip's rows.
template <class Ratio, Element kElement>
TRICODEC_KERNEL void period_rows(const PeriodArgs& args, const PeriodStrip& strip, const FrameArgs& frame, int segment,
                                 const unsigned char* stage, int lane) {
    const int x = (segment * 32 + lane) * kPeriodPoints;
    if (x >= args.grid_width) return;
    const int units = args.grid_width / kPeriodPoints - segment * 32;
    const std::uint32_t active = units < 32 ? (1U << units) - 1U : ~0U;
    const bool is_first = x == 0;
    const bool is_last = x + kPeriodPoints == args.grid_width;
    constexpr int kBytes = PeriodWords<kElement>::kBytes;
    const unsigned char* const luma_stage = stage + kPeriodHalo + lane * Ratio::kColumns;
    const unsigned char* const chroma_stage = luma_stage + args.stage_rows[0] * kPeriodPitch<Ratio>;
    unsigned char* to = frame.out + strip.y * args.step_y + x * (args.side_by_side != 0 ? 3 * kBytes : kBytes);
    TRICODEC_NO_UNROLL
    for (int row = 0; row < strip.num_rows; ++row, to += args.step_y) {
        const auto luma_row = load<PeriodRow>(args.rows[0] + strip.y + row);
        const auto chroma_row = load<PeriodRow>(args.rows[1] + strip.y + row);
        std::int32_t luma[kPeriodPoints];
        {
            const PeriodColumns<Ratio, 1> columns(luma_stage, luma_row, strip.first[0]);
            TRICODEC_UNROLL
            for (int i = 0; i < kPeriodPoints; ++i) {
                luma[i] = columns.p(args.columns[0], 0, i, args.start[0], is_first, is_last);
            }
        }
        const PeriodColumns<Ratio, 2> columns(chroma_stage, chroma_row, strip.first[1]);
        PeriodWords<kElement> words;
        TRICODEC_UNROLL
        for (int i = 0; i < kPeriodPoints; ++i) {
            const std::int32_t u = columns.p(args.columns[1], 0, i, args.start[1], is_first, is_last);
            const std::int32_t v = columns.p(args.columns[1], 1, i, args.start[1], is_first, is_last);
            words.put(args.color, i, luma[i], u, v);
        }
        words.store_all(args, to, {lane, active});
    }
}

}  // namespace tricodec::image::gpu
