// SPDX-License-Identifier: Apache-2.0
/// nvCOMP's container: a header, what the algorithm must know, a table of chunks, the chunks.
///
/// Note [Container layout]. Little endian. Version 5 (magic 0x52911326): u32 magic, u8 major, u8 minor, u8 algorithm,
/// u8; u64 bytes of the chunks, u64 uncompressed bytes, u64 chunks; u8 table present, 3 bytes; u32 checksum, u32
/// checksum; u8 and u8 whether checksums are stored per chunk, 2 bytes; u64 uncompressed bytes of a chunk; u32 where
/// the chunks start, 4 bytes: 64 in all. The algorithm's options follow, and from the next multiple of 8 on u64 offsets
/// and u64 sizes, one of each a chunk. Version 6 (magic 0x52911327) has the same fields in another order, 56 bytes.
/// LZ4's options are u32 data type, whose highest two bits are bitshuffle_mode in version 5; version 6 has u32
/// bitshuffle_mode behind it.
/// NVIDIA's CPU reader takes each chunk to start at the next multiple of 8 after the one before, so chunks are written
/// so.
#pragma once

#include <cstdint>
#include <vector>

#include "compress/chunk_codec.h"
#include "tricodec/compress.h"

namespace tricodec::compress {

inline constexpr std::size_t kLargestHeader = 96;  // header and options of any version
inline constexpr std::uint64_t kChunkAlignment = 8;

/// A container whose header has been checked.
struct Container {
    int version = 5;
    ChunkOptions options;
    std::uint64_t uncompressed_bytes = 0;
    std::uint64_t chunk_bytes = 0;
    std::uint64_t num_chunks = 0;
    std::uint64_t table_offset = 0;
    std::uint64_t data_offset = 0;
    std::uint64_t data_bytes = 0;
    bool has_foreign_checksums = false;  ///< NVIDIA's, whose function is not public

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

/// True if the bytes start as a container of either version does.
[[nodiscard]] bool is_container(ByteView start) noexcept;

/// Reads the header from the first bytes of a stream of `total_bytes`: kLargestHeader of them, or all if there are
/// fewer. Throws Error(corrupt_data) naming the field, Error(unsupported) for what no decoder here reads.
[[nodiscard]] Container read_header(ByteView start, std::uint64_t total_bytes);

/// The table, checked: chunks in order, apart, inside the stream, none empty, none impossibly small for what it holds.
[[nodiscard]] std::vector<ChunkPlace> read_table(const Container& container, ByteView table);

/// Bytes of header, options and table.
[[nodiscard]] std::uint64_t head_bytes(Compression algorithm, std::uint64_t num_chunks) noexcept;

/// Writes header, options and table of version 5 to `to`, which has head_bytes(). `sizes` are the chunks'.
void write_head(std::byte* to, const ChunkOptions& options, std::uint64_t uncompressed_bytes, std::uint64_t chunk_bytes,
                std::span<const std::uint64_t> sizes);

/// Throws Error(invalid_argument) for more bytes than a process can address, of which no bound could be told.
void expect_addressable(std::uint64_t size_bytes);

/// Throws Error(corrupt_data) if `compressed` bytes cannot hold `uncompressed`, whatever they are.
void expect_possible_ratio(Compression algorithm, std::uint64_t compressed, std::uint64_t uncompressed);

}  // namespace tricodec::compress
