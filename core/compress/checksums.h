// SPDX-License-Identifier: Apache-2.0
/// CRC-32C, and the checksums after a container.
///
/// Note [Checksum trailer]. NVIDIA's checksum function is not public, so these are ours: from the next multiple of 8
/// after the last chunk "TCRC32C\1", u64 chunks, u32 CRC-32C of each chunk's uncompressed bytes, u32 CRC-32C of
/// everything before the first chunk. The container's own sizes do not include them, and other readers ignore them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tricodec/compress/compress.h"

namespace tricodec::compress {

/// CRC-32C (RFC 3720, B.4) of bytes that follow those with the checksum `before`, 0 at the start.
[[nodiscard]] std::uint32_t crc32c(ByteView bytes, std::uint32_t before = 0) noexcept;

[[nodiscard]] std::uint64_t trailer_bytes(std::uint64_t num_chunks) noexcept;
void write_trailer(std::byte* to, ByteView head, std::span<const std::uint32_t> chunk_sums);
/// The checksums of the chunks, then that of the head; empty if there are none. `rest` is what follows the container,
/// from the next multiple of 8. Throws Error(corrupt_data) if the trailer or the head is damaged.
[[nodiscard]] std::vector<std::uint32_t> read_trailer(ByteView rest, ByteView head, std::uint64_t num_chunks);

}  // namespace tricodec::compress
