// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tricodec/image/transform.h"

namespace tricodec::image {

inline constexpr int kCoefBits = 14;
inline constexpr int kCoefOne = 1 << kCoefBits;

/// No output's coefficients may add up, by magnitude, to more than this (1.375): every bound of
/// docs/reference/transform.md section 4.4 follows from it, so that kernels need neither saturation nor 64-bit sums.
inline constexpr int kMaxAbsCoefSum = kCoefOne + kCoefOne * 3 / 8;

/// How the outputs along one axis read the samples of one plane. Sample numbers count from the plane's own start.
struct AxisGeometry {
    int crop_start = 0;  ///< luma pixels
    int crop_size = 0;   ///< luma pixels
    int num_outputs = 0;
    int log2_subsampling = 0;  ///< of the plane
    double first_sample = 0;   ///< luma coordinate of the plane's sample 0 (docs/reference/transform.md 2.2)
};

/// Coefficients of one axis: output i is the sum over k < count[i] of sample[first[i] + k] * coefs[i * max_taps + k].
/// Plain data: a kernel may copy the arrays to a device as they are.
struct Filter {
    int num_outputs = 0;
    int max_taps = 0;
    int begin = 0;          ///< first sample that any output reads
    int end = 0;            ///< one past the last
    bool identity = false;  ///< output i is sample begin + i
    std::vector<std::int32_t> first;
    std::vector<std::int32_t> count;  ///< at least 1
    std::vector<std::int16_t> coefs;  ///< Q14, max_taps an output, zero beyond count

    [[nodiscard]] const std::int16_t* taps(int output) const noexcept {
        return coefs.data() + static_cast<std::size_t>(output) * static_cast<std::size_t>(max_taps);
    }
};

/// Throws Error(unsupported) where rounding to Q14 breaks kMaxAbsCoefSum (no such geometry is known within the limits).
[[nodiscard]] Filter make_filter(const AxisGeometry& axis, Resize resize, bool antialias);

/// The filter of a plane that is subsampled along the axis which gives what `filter` gives of the plane with each
/// sample repeated 2^log2_subsampling times (docs/reference/transform.md section 3.4).
[[nodiscard]] Filter of_repeated_samples(const Filter& filter, int log2_subsampling);

}  // namespace tricodec::image
