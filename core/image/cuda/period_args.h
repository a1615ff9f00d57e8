// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/intrinsics.h"
#include "image/cuda/kernel_args.h"

namespace tricodec::image::gpu {

// What period_kernel.h takes, and the ratios that it is made for.

inline constexpr int kPeriodWarps = 2;   ///< of a block, each alone
inline constexpr int kPeriodPoints = 8;  ///< side by side, a thread's: a "unit"
inline constexpr int kMaxPhases = 4;
inline constexpr int kMaxPeriodTaps = 5;
inline constexpr int kPeriodHalo = 16;  ///< bytes beside a warp's that its threads may read too

/// Three columns become two. A unit reads luma columns -1 to 12 of its own 12, chroma columns -1 to 6 of its six.
struct ThreeToTwo {
    static constexpr int kColumns = 12;  ///< of luma, a unit's; as many bytes of chroma pairs
    static constexpr int kLumaPhases = 2;
    static constexpr int kLumaTaps = 3;
    static constexpr int kChromaPhases = 4;
    static constexpr int kLumaRows = 3;  ///< of the source that a row is made from, or fewer
    static constexpr int kChromaRows = 2;
    static constexpr int kRows = 8;  ///< that a warp makes at the most, one after the other

    TRICODEC_KERNEL static constexpr int luma_first(int point) { return point / 2 * 3 + (point % 2 == 0 ? -1 : 1); }
    /// Where chroma is sited decides which two of the first phase's three count.
    TRICODEC_KERNEL static constexpr int chroma_first(int point) { return point / 4 * 3 + point % 4 - 1; }
    TRICODEC_KERNEL static constexpr int chroma_taps(int point) { return point % 4 == 0 ? 3 : 2; }
};

/// Two columns become one. A unit reads luma columns -1 to 16 of its own 16, chroma columns 0 to 8 of its eight.
struct TwoToOne {
    static constexpr int kColumns = 16;
    static constexpr int kLumaPhases = 1;
    static constexpr int kLumaTaps = 4;
    static constexpr int kChromaPhases = 1;
    static constexpr int kLumaRows = 4;
    static constexpr int kChromaRows = 2;
    static constexpr int kRows = 4;

    TRICODEC_KERNEL static constexpr int luma_first(int point) { return 2 * point - 1; }
    TRICODEC_KERNEL static constexpr int chroma_first(int point) { return point; }
    TRICODEC_KERNEL static constexpr int chroma_taps(int) { return 2; }
};

/// Three columns become one. A unit reads luma columns -1 to 24 of its own 24, chroma columns -1 to 12 of its twelve.
struct ThreeToOne {
    static constexpr int kColumns = 24;
    static constexpr int kLumaPhases = 1;
    static constexpr int kLumaTaps = 5;
    static constexpr int kChromaPhases = 2;
    static constexpr int kLumaRows = 5;
    static constexpr int kChromaRows = 3;
    static constexpr int kRows = 2;

    TRICODEC_KERNEL static constexpr int luma_first(int point) { return 3 * point - 1; }
    TRICODEC_KERNEL static constexpr int chroma_first(int point) { return ThreeToTwo::luma_first(point); }
    TRICODEC_KERNEL static constexpr int chroma_taps(int) { return 3; }
};

/// Bytes of a row that a warp has in shared memory.
template <class Ratio>
inline constexpr int kPeriodPitch = 32 * Ratio::kColumns + 2 * kPeriodHalo;

/// By red, green and blue; P comes with its offset taken away.
struct PeriodColor {
    std::int32_t fixed_luma;
    std::int32_t fixed_chroma[3][2];  ///< red has no U, blue no V
    float factor[3][3];
    float bias[3];
    float low[3];
    float high[3];
    std::uint32_t low_pair[3];  ///< the same in 16 bits, for the pairs of elements that follow one another in memory
    std::uint32_t high_pair[3];
};

/// What a row of the grid is made from: rows of the source from `first` on, coefficients two by two.
struct alignas(16) PeriodRow {
    std::int32_t first;
    std::uint32_t coefs[3];
};

/// The coefficients of columns by phase; and those of the picture's first and last output, which may be others.
struct PeriodCoefs {
    std::int32_t phases[kMaxPhases][kMaxPeriodTaps];
    std::int32_t edges[2][kMaxPeriodTaps];
};

struct PeriodArgs {
    const PeriodRow* rows[2];  ///< luma's, chroma's: the grid's
    std::int32_t row_end[2];   ///< one past the last row of the source
    PeriodCoefs columns[2];    ///< likewise
    std::int32_t start[2];     ///< of a sum of columns: what rounds, less the offset
    std::int32_t begin[2];     ///< bytes before the crop in a plane's row, a multiple of 16
    std::int32_t row_bytes;    ///< of the crop, luma's and chroma's
    std::int32_t stage_rows[2];
    std::int32_t strip_rows;  ///< of the grid, that a warp makes
    std::int32_t grid_width;  ///< a multiple of kPeriodPoints
    std::int32_t grid_height;
    std::int32_t side_by_side;  ///< HWC, else CHW
    std::int64_t step_y;
    std::int64_t channel_offset[3];  ///< of red, green and blue
    PeriodColor color;
    FrameArgs frames[kMaxFrames];
};

}  // namespace tricodec::image::gpu
