// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tricodec {

/// Frames that are decoded from one random access point on, and the bytes of the source that have their packets.
struct Gop {
    std::int64_t first_frame = 0;  ///< number of the first frame that is decoded from here
    std::int64_t num_frames = 0;
    std::int64_t offset = -1;     ///< of the first byte; -1 unknown
    std::int64_t size_bytes = 0;  ///< packets of other streams in between included
    bool open = false;            ///< frames shown before its first one are coded in it
};

/// What a reader knows of the packets and frames of its source, for other readers of the same source to begin with.
/// Never changes. Thread safety: safe.
class FrameIndex;
/// How much memory it takes.
[[nodiscard]] std::int64_t size_bytes(const FrameIndex& index) noexcept;

/// The index for frame_index_of(), maybe in another process. Only the facts that are known by now.
[[nodiscard]] std::vector<std::byte> to_bytes(const FrameIndex& index);
/// Throws Error(corrupt_data) for bytes that are damaged, or that another version of tricodec wrote.
[[nodiscard]] std::shared_ptr<const FrameIndex> frame_index_of(std::span<const std::byte> bytes);
/// A checksum of the source: of its first and last bytes, its size and the facts of the stream.
[[nodiscard]] std::array<std::byte, 32> source_checksum(const FrameIndex& index) noexcept;

/// What numbers the frames of a source that is opened.
enum class IndexOrigin : std::uint8_t {
    automatic,  ///< `container` if the source has 16 MiB or more, or fetches ahead; else `packets`
    container,  ///< what the container lists of its packets if that leaves no doubt, else the packets
    packets     ///< the headers of all packets, which are read when the index is first needed
};

}  // namespace tricodec
