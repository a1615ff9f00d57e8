// SPDX-License-Identifier: Apache-2.0
/// What compressing and decompressing share: the options, checked, and the workers of each algorithm.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "base/fork.h"
#include "compress/chunk_codec.h"
#include "compress/runs.h"
#include "tricodec/compress.h"

namespace tricodec::compress {

[[nodiscard]] bool computes(ChecksumPolicy policy) noexcept;
[[nodiscard]] bool verifies(ChecksumPolicy policy) noexcept;
/// Bytes of the size before a raw stream; 0 where there is none.
[[nodiscard]] std::size_t prefix_bytes(Compression algorithm, BitstreamKind bitstream) noexcept;

/// Thread safety: safe.
class WorkerPools {
public:
    /// Throws as Compressor's constructor does.
    explicit WorkerPools(const CodecOptions& options);

    [[nodiscard]] const CodecOptions& options() const noexcept { return options_; }
    /// Of the algorithm that the options name.
    [[nodiscard]] const ChunkOptions& chunk_options() const noexcept { return chunk_options_; }
    /// The workers of that algorithm. Throws Error(invalid_argument) if the options name none.
    [[nodiscard]] WorkerPool& encoder();
    /// The workers for a stream's options; made when first asked for. Throws Error(unsupported) if nothing here can do
    /// it.
    [[nodiscard]] WorkerPool& of(const ChunkOptions& stream);

private:
    /// What makes workers differ that streams alone do not steer: the algorithm, the bit shuffle, bytes of its
    /// elements.
    using Kind = std::tuple<Compression, BitShuffle, std::size_t>;
    [[nodiscard]] static Kind kind_of(const ChunkOptions& options);

    CodecOptions options_;
    ChunkOptions chunk_options_;
    ForkSafeMutex mutex_;
    std::map<Kind, std::unique_ptr<WorkerPool>> pools_;
};

}  // namespace tricodec::compress
