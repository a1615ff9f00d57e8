// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "image/cuda/intrinsics.h"

namespace tricodec::image::gpu {

// The arguments of the kernels, which the host passes by value: reading them costs a kernel nothing. Tables as long as
// a picture's side are in device memory, uploaded once for each plan (kernel_plan.h).

/// Frames of one launch: their arguments stay below the 4 KiB that every driver passes.
inline constexpr int kMaxFrames = 64;

/// Planes are in the kernel's order, not the frame's.
struct FrameArgs {
    const unsigned char* planes[3];
    unsigned char* out;  ///< of grid point (0, 0)
    std::int32_t strides[3];
    std::int32_t padding;
};

enum class Element : std::int32_t { uint8, float16, bfloat16, float32 };

constexpr int bytes_of(Element element) {
    return element == Element::uint8 ? 1 : element == Element::float32 ? 4 : 2;
}

/// docs/reference/transform.md 5.2 and 5.3; offsets are subtracted from P.
struct ColorArgs {
    std::int32_t num_channels;
    std::int32_t fixed[3][3];    ///< [channel][component]
    std::int32_t fixed_bias[3];  ///< rounding, and what the offsets contribute
    float offset[3];
    float factor[3][3];
    float bias[3];
    float low[3];
    float high[3];
};

inline constexpr int kMaxElements = 8;

/// The elements of a grid point in memory: groups of `group_size` side by side. HWC is one group of C, CHW is C groups
/// of one, CHW2 is groups of two, HWC8 is one group of eight. Elements after the last channel's are zero.
struct OutputArgs {
    Element element;
    std::int32_t element_bytes;
    std::int32_t num_groups;
    std::int32_t group_size;
    std::int32_t aligned;  ///< every element of every frame is at a multiple of its size
    std::int64_t step_x;   ///< bytes from one grid point to the next, either sign
    std::int64_t step_y;
    std::int64_t element_offset[kMaxElements];  ///< bytes from the grid point's address
};

// resample_tile.h

/// How the taps of one axis are in device memory: output o reads rows first[o] .. first[o] + count[o] - 1, with
/// coefficients coefs[o * pitch + k], zero up to `pitch`, a multiple of 4.
struct RowTable {
    const std::int32_t* first;
    const std::int32_t* count;
    const std::int16_t* coefs;
    std::int32_t pitch;
};

/// The same for columns, in words of four: first[o] is a multiple of 4, and pitch coefficients follow from it, zero
/// before and after the output's own.
struct ColumnTable {
    const std::int32_t* first;
    const std::int16_t* coefs;
    const std::int32_t* tile_begin;  ///< by tile: the first column that it reads, a multiple of 16
    const std::int32_t* tile_end;    ///< one past the last
    std::int32_t pitch;
    std::int32_t identity;  ///< output o is column begin + o
    std::int32_t begin;
};

/// One plane of the frame and the components that are side by side in it.
struct TilePlane {
    std::int32_t parts;         ///< components side by side: 1, 2 or 3
    std::int32_t component[3];  ///< by place; -1 for one that no channel needs
    std::int32_t axis;          ///< of the tables: 0 luma, 1 chroma
    std::int32_t valid_begin;   ///< bytes of a row that belong to the crop: nothing else is read
    std::int32_t valid_end;
    std::int32_t bits;   ///< of a stored sample, unused low bits included
    std::uint32_t mask;  ///< clears unused bits in four bytes that are the low bytes of samples of 16 bits
};

/// V of a tile in shared memory: the low bytes of a component's rows, then the high bytes, so that columns can be
/// multiplied four at a time.
struct VRows {
    std::int32_t offset[3];   ///< by component
    std::int32_t pitch[2];    ///< by axis, bytes: a multiple of 16
    std::int32_t to_high[2];  ///< from a low byte to its high byte
};

/// Where the elements of a tile wait until they are stored.
enum class Staging : std::int32_t {
    none,     ///< nowhere: each is stored at once
    along_x,  ///< in shared memory; a row of the tile is a run of memory
    along_y,  ///< a column of the tile is
};

struct TileArgs {
    TilePlane planes[3];
    std::int32_t num_planes;
    RowTable rows[2];        ///< luma's, chroma's
    ColumnTable columns[2];  ///< likewise
    VRows v;
    std::int32_t component_axis[3];  ///< of the tables; -1 if no channel needs the component; both of chroma or none
    std::int32_t grid_width;
    std::int32_t grid_height;
    std::int32_t tile_width;
    std::int32_t tile_height;
    std::int32_t num_segments;
    std::int32_t segment_columns;  ///< a multiple of 16
    std::int32_t sums_offset;      ///< in shared memory, of sums that wait for the next segment
    std::int32_t stage_offset;     ///< of elements that wait
    std::int32_t stage_pitch;      ///< bytes from one run to the next
    Staging staging;
    OutputArgs output;
    ColorArgs color;
    FrameArgs frames[kMaxFrames];
};

// convert.h

inline constexpr int kConvertWarps = 4;         ///< of a block, one below the other: they share chroma rows
inline constexpr int kConvertRows = 2;          ///< of the grid, that a thread makes
inline constexpr int kStageRow = 32 * 48 + 16;  ///< bytes of a warp's row; copy_run reads a little beyond

enum class Chroma : std::int32_t {
    none,         ///< no channel needs it
    half_pairs,   ///< half the width, components side by side
    half_planes,  ///< half the width, a plane each
    full_pairs,   ///< as wide as luma
    full_planes,
    repeated_pairs,  ///< half the width, each sample for two columns
    repeated_planes,
};

struct SamplesArgs {
    Chroma chroma;
    std::int32_t log2_repeated_rows;  ///< of luma, that take one row of repeated chroma
    std::int32_t aligned;             ///< planes and strides of every frame are multiples of 16 bytes
    std::int32_t to_top;              ///< of 16 bits: shifts significant bits up to the top of their word,
    std::uint32_t mask;               ///< and those bits then, in both halves
    std::uint32_t neutral;            ///< stored samples of no color, as many as a word holds
    std::int32_t luma_begin;          ///< columns of the crop; nothing else is read
    std::int32_t luma_end;
    std::int32_t chroma_begin;
    std::int32_t chroma_end;
};

/// The chroma of two rows: the first is made of row[0] and row[1], the second of row[1] and row[2].
struct alignas(16) ChromaRows {
    std::int32_t row[3];
    std::uint32_t weight[2][2];  ///< in quarters times chroma_unit()
    std::int32_t padding;
};

/// What the weights of rows, integer quarters of at most 4, are multiplied by: for 8 bits so that sums are 2 V, for 16
/// bits so that V is the middle bytes of a sum.
constexpr std::uint32_t chroma_unit(int bits) {
    return bits == 8 ? 32 : 16;
}

/// docs/reference/transform.md 5.2 for integers that are multiples of P. With samples of 8 bits luma comes as it is,
/// and sums are 2^20 or 2^21 times the result. Samples of 16 bits come as P, and sums are 2^19 times the result.
struct ConvertColor {
    std::int32_t luma_2p[3];    ///< by channel, in sums of 2 P
    std::int32_t luma_4p[3];    ///< in sums of 4 P, or of P
    std::int32_t chroma[3][2];  ///< of 2 V, of what makes 4 P, or of P
    std::int32_t bias[3];       ///< of 2 P with half chroma, of 4 P with full chroma, of P
};

struct ConvertArgs {
    SamplesArgs samples;
    const ChromaRows* chroma_rows;  ///< by pair of rows
    std::int32_t grid_width;
    std::int32_t grid_height;
    std::int32_t crop_left;  ///< luma column and row of grid point (0, 0)
    std::int32_t crop_top;
    std::int32_t first_x;     ///< of the first warp's pixels: 0, or less where the crop begins within a word
    std::int32_t first_y;     ///< of the first warp's rows: 0 or -1
    std::int32_t aligned;     ///< every row of every channel of every frame begins at a multiple of 16 bytes
    std::int32_t full_width;  ///< a row is a multiple of a thread's pixels, and first_x is 0
    OutputArgs output;
    ConvertColor convert_color;
    ColorArgs color;
    FrameArgs frames[kMaxFrames];
};

}  // namespace tricodec::image::gpu
