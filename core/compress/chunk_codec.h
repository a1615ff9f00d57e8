// SPDX-License-Identifier: Apache-2.0
/// One algorithm on single chunks. The engine divides, orders and checks; a worker converts bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "tricodec/compress/compress.h"

namespace tricodec::compress {

/// The options of an algorithm. resolve_options() fills in its defaults.
struct ChunkOptions {
    Compression algorithm = Compression::lz4;
    ElementType element_type = ElementType::uint8;
    int algorithm_type = 1;
    int num_rles = 2;
    int num_deltas = 1;
    bool use_bitpack = true;
    std::optional<int> level;
    BitShuffle bit_shuffle = BitShuffle::none;
    bool trusted = true;
    int release = 5;  ///< of nvCOMP, 5 or 6: their streams of ANS and of Cascaded differ, all others are the same

    friend bool operator==(const ChunkOptions&, const ChunkOptions&) = default;
};

/// Compresses and decompresses chunks, with scratch memory of its own. One thread at a time.
class ChunkWorker {
public:
    virtual ~ChunkWorker() = default;
    /// `output` has bound(input.size()) bytes. Returns the size of the result.
    virtual std::size_t compress(ByteView input, std::span<std::byte> output) = 0;
    /// Fills `output` exactly, or throws Error(corrupt_data). Never reads or writes outside, whatever the bytes are.
    virtual void decompress(ByteView input, std::span<std::byte> output) = 0;
};

/// An algorithm with its options. Thread safety: safe.
class ChunkCodec {
public:
    virtual ~ChunkCodec() = default;
    [[nodiscard]] virtual std::size_t bound(std::size_t size_bytes) const = 0;
    /// The largest chunk that the algorithm accepts.
    [[nodiscard]] virtual std::uint64_t largest_chunk() const noexcept = 0;
    [[nodiscard]] virtual std::unique_ptr<ChunkWorker> make_worker() const = 0;
    /// The size that a chunk declares for its data, if it does. Throws Error(corrupt_data).
    [[nodiscard]] virtual std::optional<std::uint64_t> declared_bytes(ByteView /*chunk*/) const { return std::nullopt; }
    /// The size of the data of a raw stream: the declared one, else by a walk through the stream, which may end past
    /// `most`. Throws Error(corrupt_data).
    [[nodiscard]] virtual std::uint64_t measure(ByteView stream, std::uint64_t /*most*/) const {
        return declared_bytes(stream).value();
    }
};

// Bitcomp's gives null where libnvcomp is missing.
[[nodiscard]] std::unique_ptr<ChunkCodec> make_lz4(const ChunkOptions& options);
[[nodiscard]] std::unique_ptr<ChunkCodec> make_snappy(const ChunkOptions& options);
[[nodiscard]] std::unique_ptr<ChunkCodec> make_zstd(const ChunkOptions& options);
[[nodiscard]] std::unique_ptr<ChunkCodec> make_deflate(const ChunkOptions& options);  // and Gzip
[[nodiscard]] std::unique_ptr<ChunkCodec> make_gdeflate(const ChunkOptions& options);
[[nodiscard]] std::unique_ptr<ChunkCodec> make_cascaded(const ChunkOptions& options);
[[nodiscard]] std::unique_ptr<ChunkCodec> make_bitcomp(const ChunkOptions& options);

/// The codec of an algorithm. Throws Error(unsupported) with compression_unavailable_reason().
[[nodiscard]] std::unique_ptr<ChunkCodec> make_chunk_codec(const ChunkOptions& options);

/// The options of an algorithm from those of a caller, with defaults filled in. Throws Error(invalid_argument) naming
/// the value that is not accepted.
[[nodiscard]] ChunkOptions resolve_options(const CodecOptions& options, Compression algorithm);

}  // namespace tricodec::compress
