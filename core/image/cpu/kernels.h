// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "image/forward_plan.h"

namespace tricodec::image {

/// Rows of V and P that kernels read and write have this many int16 of room after their last sample: kernels run in
/// whole vectors there. Source planes and outputs have none and are never touched outside.
inline constexpr int kRowPadding = 64;

/// One row of V (docs/reference/transform.md 4.2) of all samples of a plane's row, whatever components they belong to.
struct VerticalRow {
    const std::byte* data = nullptr;  ///< first sample of the first tap's row
    std::ptrdiff_t stride_bytes = 0;
    const std::int16_t* coefs = nullptr;
    int num_taps = 0;
    int width = 0;  ///< samples
    int bytes_per_sample = 1;
    int depth = 8;
    int shift = 0;
};

/// Columns of V come in blocks, of which a vector of AVX-512 holds four.
inline constexpr int kBlockColumns = 8;
/// Outputs that `dot` gives at a time.
inline constexpr int kDotOutputs = 8;

/// Note [Rows side by side]
/// The taps of a horizontal filter are the same in all rows, and a vector that holds a block of each of `rows_at_once`
/// rows multiplies them all by one block of coefficients. `interleave` brings V into that order: block 0 of each row,
/// block 1 of each row. An output's taps begin anywhere in a block; the coefficients before them are zero. Vectors of
/// one block need no other order, and read V from the first tap on.
///
/// P[i] is the sum over its chunks of blocks[offset[i] + chunk * rows * 8 + k] * coefs[(i * chunks + chunk) * 8 + k],
/// of each row. Those that have no last chunk say so. Outputs come in eights, the last ones padded with zeros.
struct DotRows {
    const std::int32_t* offset = nullptr;
    const std::uint8_t* has_last_chunk = nullptr;
    const std::int16_t* coefs = nullptr;
    int chunks = 0;
    int num_outputs = 0;
};
/// A row of each of those that are made at once.
inline constexpr std::size_t kMostRowsAtOnce = 4;
using RowsAtOnce = std::array<std::int16_t*, kMostRowsAtOnce>;

/// Twice as many outputs as samples, each of two taps: P[2 * i + phase] = v[offset[phase] + i] * coefs[phase][0] +
/// v[offset[phase] + i + 1] * coefs[phase][1]. It is what subsampled chroma needs where nothing is resized.
struct DoubleRow {
    std::array<int, 2> offset{};
    std::array<std::array<std::int16_t, 2>, 2> coefs{};
    int num_pairs = 0;
};

/// Sections 5.2: the offsets and the rounding are in `bias`.
struct ByteColor {
    int num_channels = 0;
    std::array<std::array<std::int16_t, 3>, 3> coefs{};
    std::array<std::int32_t, 3> bias{};
    bool neutral_chroma = false;  ///< the offsets of components 1 and 2 are 8192
};

/// Whether all three channels have the same weight of luma, as RGB of YUV and of gray does.
[[nodiscard]] constexpr bool has_one_luma_weight(const ByteColor& color) noexcept {
    return color.neutral_chroma && color.coefs[0][0] == color.coefs[1][0] && color.coefs[0][0] == color.coefs[2][0];
}

/// Section 5.3.
struct FloatColor {
    int num_channels = 0;
    std::array<std::int32_t, 3> offset{};
    std::array<std::array<float, 3>, 3> factor{};
    std::array<float, 3> bias{};
    std::array<float, 3> low{};
    std::array<float, 3> high{};
};

/// Columns of 4:2:0 or 4:2:2 with chroma at the left, nothing resized: column 2 * i takes chroma sample i, and
/// column 2 * i + 1 the mean of samples i and i + 1, or sample i if samples repeat. Luma is the frame's own samples.
struct SharedChromaRow {
    const std::byte* luma = nullptr;
    int bytes_per_sample = 1;  ///< of luma
    int depth = 8;
    int shift = 0;
    /// V of the components 1 and 2, or of both in turns at chroma[0]; the sample after the last one is overwritten.
    std::array<std::int16_t*, 2> chroma{};
    bool mixed = false;
    bool repeated = false;
    int num_chroma = 0;
};

using ComponentRows = std::array<const std::int16_t*, 3>;
/// Where a row of each channel goes, samples side by side. `interleaved`: all channels side by side at channel[0].
struct ChannelRows {
    std::array<std::byte*, 3> channel{};
    bool interleaved = false;
};

/// The kernels of one instruction set. All of them give the bytes of image/ref.
struct Kernels {
    std::string_view feature;  ///< how TRICODEC_DISABLE_CPU_FEATURES names it
    std::string_view name;     ///< how Highway names it
    std::int64_t target = 0;   ///< Highway's bit
    void (*vertical)(const VerticalRow& row, std::int16_t* v) = nullptr;
    void (*split)(const std::int16_t* v, int width, std::span<std::int16_t* const> parts) = nullptr;  ///< 2 or 3 parts
    /// See Note [Rows side by side]; `rows` after the first rows_at_once are not looked at.
    int rows_at_once = 1;
    void (*interleave)(const RowsAtOnce& v, int num_blocks, std::int16_t* blocks) = nullptr;
    void (*dot)(const DotRows& rows, const std::int16_t* blocks, const RowsAtOnce& p) = nullptr;
    void (*double_up)(const DoubleRow& row, const std::int16_t* v, std::int16_t* p) = nullptr;
    void (*bytes)(const ByteColor& color, const ComponentRows& p, int width, const ChannelRows& out) = nullptr;
    void (*shared_chroma)(const ByteColor& color, const SharedChromaRow& row, int width,
                          const ChannelRows& out) =
        nullptr;  ///< three channels of one luma weight, `bytes` with all before it
    void (*floats)(const FloatColor& color, const ComponentRows& p, int width, const ChannelRows& out) = nullptr;
    void (*halves)(const FloatColor& color, const ComponentRows& p, int width, const ChannelRows& out) = nullptr;
    void (*bfloats)(const FloatColor& color, const ComponentRows& p, int width, const ChannelRows& out) = nullptr;
    /// What rgb_to_yuv_ref() makes. Pictures have no room after their rows.
    void (*rgb_to_yuv)(const ForwardPlan& plan, const RgbPicture& picture, const Frame& out) = nullptr;
};

/// Those compiled in that this machine can run, best first.
[[nodiscard]] std::span<const Kernels> supported_kernels();

}  // namespace tricodec::image
