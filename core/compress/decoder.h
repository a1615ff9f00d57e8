// SPDX-License-Identifier: Apache-2.0
/// The decompressing half of Compressor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compress/container.h"
#include "compress/worker_pools.h"

namespace tricodec::compress {

/// Thread safety: safe.
class Decoder {
public:
    explicit Decoder(WorkerPools& pools) : pools_(pools), options_(pools.options()) {}

    [[nodiscard]] std::vector<std::size_t> decompressed_sizes(std::span<const ByteView> streams) const;
    void decompress(std::span<const ByteView> streams, std::span<const std::span<std::byte>> outputs,
                    const TaskRunner& runner) const;
    void decompress_range(ByteView stream, std::uint64_t begin, std::uint64_t end, const Placer& place) const;
    [[nodiscard]] CompressedInfo inspect(ByteView stream) const;

private:
    /// A stream, checked.
    struct Stream {
        Compression algorithm = Compression::lz4;
        Container container;  // of one chunk if there is none
        std::vector<ChunkPlace> places;
        std::vector<std::uint32_t> sums;
    };
    [[nodiscard]] std::uint64_t size_of_stream(ByteView stream, std::uint64_t most) const;
    [[nodiscard]] static Stream open_container(ByteView stream);
    [[nodiscard]] Stream open(ByteView stream, std::optional<std::size_t> expected) const;
    void expect_declared(const Stream& opened, ByteView stream, std::uint64_t first, std::uint64_t count) const;
    void read_sums(Stream& opened, ByteView stream) const;
    void decode_chunks(const Stream& stream, ByteView bytes, std::uint64_t first, std::uint64_t count,
                       std::span<std::byte> output) const;

    WorkerPools& pools_;
    const CodecOptions& options_;
};

}  // namespace tricodec::compress
