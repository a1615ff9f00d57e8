// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

namespace tricodec {

/// Bounds that are checked before memory is taken for untrusted input. Process-wide; read when an object is opened.
struct Limits {
    /// Pixels of a frame: of the size that a container states, and of every decoded picture, which may differ.
    std::int64_t max_width = 16384;
    std::int64_t max_height = 16384;
    std::int64_t max_pixels = 134217728;        ///< width * height of one frame (2^27, 16384 x 8192)
    std::int64_t max_packet_bytes = 268435456;  ///< one access unit (256 MiB)
    std::int64_t max_packets = 50000000;        ///< packets of one stream that an index will hold
    std::int64_t max_streams = 256;             ///< tracks of one container
    std::int64_t max_output_bytes =
        17179869184;  ///< what a call gives: a tensor, a list of frames, a batch of DALI (16 GiB)
    std::int64_t max_buffered_bytes = 536870912;  ///< frames a reader decodes ahead of its consumer (512 MiB)
    /// The same of all readers of a GPU, in its memory, and never more than an eighth of that (16 GiB).
    std::int64_t max_device_buffered_bytes = 17179869184;
    /// Of a source that cannot seek, what is kept to be read again: in memory (64 MiB), the rest in a temporary file.
    std::int64_t max_spool_memory_bytes = 67108864;
    std::int64_t max_spool_bytes = 17179869184;  ///< both together (16 GiB)
};

/// The fields and their names.
inline constexpr std::pair<const char*, std::int64_t Limits::*> kLimitFields[] = {
    {"max_width", &Limits::max_width},
    {"max_height", &Limits::max_height},
    {"max_pixels", &Limits::max_pixels},
    {"max_packet_bytes", &Limits::max_packet_bytes},
    {"max_packets", &Limits::max_packets},
    {"max_streams", &Limits::max_streams},
    {"max_output_bytes", &Limits::max_output_bytes},
    {"max_buffered_bytes", &Limits::max_buffered_bytes},
    {"max_device_buffered_bytes", &Limits::max_device_buffered_bytes},
    {"max_spool_memory_bytes", &Limits::max_spool_memory_bytes},
    {"max_spool_bytes", &Limits::max_spool_bytes},
};

[[nodiscard]] Limits limits() noexcept;

/// Replaces the limits of the process. Throws Error(invalid_argument) naming the field if one is not positive.
/// Thread safety: safe; objects already open keep the limits they started with.
void set_limits(const Limits& limits);

}  // namespace tricodec
