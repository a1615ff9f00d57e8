// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tricodec::image {

/// Rows of V and P that kernels read and write have this many int16 of room after their last sample: kernels run in
/// whole vectors there. Source planes and outputs have none and are never touched outside.
inline constexpr int kRowPadding = 64;

/// Note [Lines ahead]
/// Rows of memory that the next rows of the grid need and the current ones do not: the samples that they read, and the
/// outputs that they write (a store to a part of a line reads the line first). These are more streams than the
/// hardware's prefetcher follows, and it starts again with each row. A line that comes from memory also holds one of
/// the few buffers of the first-level cache until it arrives. So all kernels fetch a few lines into the second level at
/// each step: memory is always busy, and a miss of the first level takes some ten cycles. The first level has no room
/// for these lines beside V of several rows.
struct LinesAhead {
    struct Rows {
        const std::byte* data = nullptr;
        std::ptrdiff_t stride_bytes = 0;
        int num_rows = 0;
        std::ptrdiff_t row_bytes = 0;
    };
    std::array<Rows, 6> rows{};  ///< of up to three planes, and of as many runs of outputs
    std::size_t current = 0;     ///< where fetching stands
    const std::byte* at = nullptr;
    const std::byte* row_end = nullptr;
    std::ptrdiff_t bytes_a_step = 0;  ///< for columns to store, eight dot products, or a cache line of a vertical pass

    /// To the start of the next row; where there is none, steps fetch nothing from then on.
    void next_row() noexcept {
        for (; current < rows.size(); ++current) {
            Rows& of = rows[current];
            if (of.num_rows-- <= 0) continue;
            at = of.data;
            row_end = of.data + of.row_bytes;
            of.data += of.stride_bytes;
            return;
        }
        static constexpr std::byte kNowhere{};
        bytes_a_step = 0;
        at = nullptr;
        row_end = &kNowhere;
    }
};

inline constexpr int kLineBytes = 64;  ///< of a cache
/// Columns that kernels store between two steps of fetching.
inline constexpr int kByteColumnsAStep = 64;
inline constexpr int kFloatColumnsAStep = 32;

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
    LinesAhead* ahead = nullptr;
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
    LinesAhead* ahead = nullptr;
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
    int bytes_per_sample = 1;  ///< of luma; also says what `chroma` holds: 1: quarters(), 2: V
    int depth = 8;
    int shift = 0;
    /// The components 1 and 2, or both in turns at chroma[0]; the sample after the last one is overwritten.
    std::array<std::int16_t*, 2> chroma{};
    bool mixed = false;
    bool repeated = false;
    int num_chroma = 0;
};

/// One row of each component.
using ComponentRows = std::array<const std::int16_t*, 3>;
/// Where a row of each channel goes, samples side by side. `interleaved`: all channels side by side at channel[0].
struct ChannelRows {
    std::array<std::byte*, 3> channel{};
    bool interleaved = false;
    LinesAhead* ahead = nullptr;
};

/// Rows of up to three channels that go into groups of `slots` elements, 2 or 8, of `value_bytes` bytes each.
struct WeaveRow {
    std::array<const std::byte*, 3> channel{};
    int num_channels = 0;
    int slots = 2;
    int value_bytes = 1;
};

/// The kernels of one instruction set. All of them give the bytes of image/ref.
struct Kernels {
    std::string_view feature;  ///< how TRICODEC_DISABLE_CPU_FEATURES names it
    std::string_view name;     ///< how Highway names it
    std::int64_t target = 0;   ///< Highway's bit
    void (*vertical)(const VerticalRow& row, std::int16_t* v) = nullptr;
    /// Of 8-bit samples with coefficients that are multiples of 4096: V / 16 - 512, a whole number.
    void (*quarters)(const VerticalRow& row, std::int16_t* v) = nullptr;
    /// The same of two rows that stand between the same two rows a and b: (3 a + b) / 4, as `row` says, and (a + 3 b)
    /// / 4.
    void (*quarters_between)(const VerticalRow& row, std::int16_t* nearer_a, std::int16_t* nearer_b) = nullptr;
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
    /// Elements of no channel become zero.
    void (*weave)(const WeaveRow& row, int width, std::byte* out) = nullptr;
    void (*floats)(const FloatColor& color, const ComponentRows& p, int width, const ChannelRows& out) = nullptr;
    void (*halves)(const FloatColor& color, const ComponentRows& p, int width, const ChannelRows& out) = nullptr;
    void (*bfloats)(const FloatColor& color, const ComponentRows& p, int width, const ChannelRows& out) = nullptr;
};

/// Those compiled in that this machine can run, best first.
[[nodiscard]] std::span<const Kernels> supported_kernels();

}  // namespace tricodec::image
