// SPDX-License-Identifier: Apache-2.0
/// What compressing and decompressing share: the options, checked, and the workers of each algorithm.
#pragma once

#include <array>
#include <memory>
#include <mutex>

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
    /// The workers of any; made when first asked for. Throws Error(unsupported) if nothing here can do it.
    [[nodiscard]] WorkerPool& of(Compression algorithm);

private:
    CodecOptions options_;
    ChunkOptions chunk_options_;
    std::mutex mutex_;
    std::array<std::unique_ptr<WorkerPool>, kNumCompressions> pools_;
};

}  // namespace tricodec::compress
