// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tricodec::image::gpu {

// What a launch is given by value. Kernels' constants stand here, where reading them costs nothing; tables as long as a
// picture's side are in device memory, uploaded once a plan (device_plan.h).

/// What one launch takes: so many that the arguments stay below the 4 KiB that every driver passes.
inline constexpr int kMaxFrames = 64;

/// Planes in the kernel's order (TileArgs::planes, DirectArgs), not the frame's.
struct FrameArgs {
    const unsigned char* planes[3];
    unsigned char* out;  ///< of grid point (0, 0)
    std::int32_t strides[3];
    std::int32_t padding;
};

enum class Element : std::int32_t { uint8, float16, bfloat16, float32 };

/// docs/transform.md 5.2 and 5.3; offsets are subtracted from P.
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

/// The elements of a grid point in memory: groups of `group_size` side by side. HWC is one group of C, CHW are C groups
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

/// How the taps of one axis stand in device memory: output o reads rows first[o] .. first[o] + count[o] - 1, with
/// coefficients coefs[o * pitch + k], zero up to `pitch`, a multiple of 4.
struct RowTable {
    const std::int32_t* first;
    const std::int32_t* count;
    const std::int16_t* coefs;
    std::int32_t pitch;
};

/// The same for columns, in whole words of four: first[o] is a multiple of 4, and pitch coefficients follow from it,
/// zero before and after the output's own.
struct ColumnTable {
    const std::int32_t* first;
    const std::int16_t* coefs;
    const std::int32_t* tile_begin;  ///< by tile: the first column that it reads, a multiple of 16
    const std::int32_t* tile_end;    ///< one past the last
    std::int32_t pitch;
    std::int32_t identity;  ///< output o is column begin + o
    std::int32_t begin;
};

}  // namespace tricodec::image::gpu
