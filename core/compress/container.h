// SPDX-License-Identifier: Apache-2.0
/// nvCOMP's container: a header, the options of the algorithm, a table of chunks, the chunks.
///
/// Note [Container layout]. Little endian. Version 5 (magic 0x52911326): u32 magic, u8 major, u8 minor, u8 algorithm,
/// u8; u64 bytes of the chunks, u64 uncompressed bytes, u64 chunks; u8 table present, 3 bytes; u32 checksum, u32
/// checksum; u8 and u8 whether checksums are stored per chunk, 2 bytes; u64 uncompressed bytes of a chunk; u32
/// offset of the chunks, 4 bytes: 64 in all. The algorithm's options follow, and from the next multiple of 8 on u64
/// offsets and u64 sizes, one of each a chunk. Version 6 (magic 0x52911327) has the same fields in another order, 56
/// bytes. LZ4's options are u32 data type; bitshuffle_mode is its highest two bits in version 5, and a u32 after it in
/// version 6, which also numbers the types of floats otherwise. NVIDIA's CPU reader expects each chunk at the next
/// multiple of 8 after the one before, so chunks are written there.
///
/// Note [Checksum trailer]. NVIDIA's checksum function is not public, so these are ours: from the next multiple of 8
/// after the last chunk "TCRC32\0\1", u64 chunks, u32 CRC-32 of each chunk's uncompressed bytes, u32 CRC-32 of
/// everything before the first chunk. The container's own sizes do not include them, and other readers ignore them.
#pragma once

#include <cstdint>
#include <vector>

#include "compress/chunk_codec.h"
#include "tricodec/compress/compress.h"

namespace tricodec::compress {

inline constexpr std::size_t kLargestHeader = 96;  // header and options of any version
inline constexpr std::uint64_t kChunkAlignment = 8;

/// Where chunks begin: at multiples of this, as their readers need them. NVIDIA's reads ANS of release 6 in place.
[[nodiscard]] constexpr std::uint64_t chunk_alignment(const ChunkOptions& options) noexcept {
    return options.algorithm == Compression::ans && options.release == 6 ? 16 : kChunkAlignment;
}

/// The checked header of a container.
struct Container {
    int version = 5;
    ChunkOptions options;
    std::uint64_t uncompressed_bytes = 0;
    std::uint64_t chunk_bytes = 0;
    std::uint64_t num_chunks = 0;
    std::uint64_t table_offset = 0;
    std::uint64_t data_offset = 0;
    std::uint64_t data_bytes = 0;
    bool has_foreign_checksums = false;  ///< NVIDIA's, with a function that is not public

    [[nodiscard]] std::uint64_t total_bytes() const noexcept { return data_offset + data_bytes; }
    [[nodiscard]] std::uint64_t chunk_size(std::uint64_t index) const noexcept {
        const std::uint64_t begin = index * chunk_bytes;
        return std::min(chunk_bytes, uncompressed_bytes - begin);
    }
};

struct ChunkPlace {
    std::uint64_t offset = 0;  ///< from the start of the stream
    std::uint64_t size = 0;
};

/// Reads the header from the first bytes of a stream of `total_bytes`: kLargestHeader of them, or all if there are
/// fewer. Throws Error(corrupt_data) naming the field, Error(unsupported) for a format without a decoder here.
[[nodiscard]] Container read_header(ByteView start, std::uint64_t total_bytes);

/// Reads and checks the table: chunks are in order, inside the stream, do not overlap, and have possible sizes.
[[nodiscard]] std::vector<ChunkPlace> read_table(const Container& container, ByteView table);

/// Bytes of header, options and table.
[[nodiscard]] std::uint64_t head_bytes(const ChunkOptions& options, std::uint64_t num_chunks) noexcept;

/// Writes header, options and table to `to`, which has head_bytes(). `sizes` are those of the chunks. The version is 5,
/// or 6 for ANS of that release.
void write_head(std::byte* to, const ChunkOptions& options, std::uint64_t uncompressed_bytes, std::uint64_t chunk_bytes,
                std::span<const std::uint64_t> sizes);

/// CRC-32 as in gzip (RFC 1952, 8).
[[nodiscard]] std::uint32_t checksum(ByteView bytes) noexcept;

[[nodiscard]] std::uint64_t trailer_bytes(std::uint64_t num_chunks) noexcept;
void write_trailer(std::byte* to, ByteView head, std::span<const std::uint32_t> chunk_sums);
/// The checksums of the chunks, then that of the head; empty if there are none. `rest` is what follows the container,
/// from the next multiple of 8. Throws Error(corrupt_data) if the trailer or the head is damaged.
[[nodiscard]] std::vector<std::uint32_t> read_trailer(ByteView rest, ByteView head, std::uint64_t num_chunks);

/// The number of a type in interfaces and containers of a release, 5 or 6.
[[nodiscard]] std::uint32_t type_number(ElementType type, int release) noexcept;

/// Throws Error(invalid_argument) for more bytes than a process can address.
void expect_addressable(std::uint64_t size_bytes);

/// Throws Error(invalid_argument) if a stream of `size` bytes of data is for an output of `expected` bytes.
void expect_size(std::uint64_t size, std::uint64_t expected);

/// Throws Error(corrupt_data) if `compressed` bytes cannot hold `uncompressed`, whatever they are.
void expect_possible_ratio(Compression algorithm, std::uint64_t compressed, std::uint64_t uncompressed);

}  // namespace tricodec::compress
