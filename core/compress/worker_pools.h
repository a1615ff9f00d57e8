// SPDX-License-Identifier: Apache-2.0
/// The checked options of a codec, and the workers of each algorithm.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "base/fork.h"
#include "compress/chunk_codec.h"
#include "tricodec/compress/compress.h"

namespace tricodec::compress {

[[nodiscard]] bool computes(ChecksumPolicy policy) noexcept;
[[nodiscard]] bool verifies(ChecksumPolicy policy) noexcept;
/// Bytes of the size before a raw stream; 0 where there is none.
[[nodiscard]] std::size_t prefix_bytes(Compression algorithm, BitstreamKind bitstream) noexcept;

/// An algorithm and its workers. A worker is made when a thread needs one, and kept. Thread safety: safe.
class WorkerPool {
public:
    explicit WorkerPool(std::unique_ptr<ChunkCodec> codec) : codec_(std::move(codec)) {}

    [[nodiscard]] const ChunkCodec& codec() const noexcept { return *codec_; }

    /// Lends a worker to the caller.
    class Lease {
    public:
        explicit Lease(WorkerPool& pool) : pool_(pool), worker_(pool.take()) {}
        ~Lease() { pool_.give_back(std::move(worker_)); }
        [[nodiscard]] ChunkWorker& operator*() const noexcept { return *worker_; }
        [[nodiscard]] ChunkWorker* operator->() const noexcept { return worker_.get(); }

    private:
        WorkerPool& pool_;
        std::unique_ptr<ChunkWorker> worker_;
    };

private:
    std::unique_ptr<ChunkWorker> take();
    void give_back(std::unique_ptr<ChunkWorker> worker) noexcept;

    std::unique_ptr<ChunkCodec> codec_;
    ForkSafeMutex mutex_;
    std::vector<std::unique_ptr<ChunkWorker>> idle_;
};

/// The pools of a codec, one for each kind of stream. Thread safety: safe.
class WorkerPools {
public:
    /// Throws as the constructor of Codec does.
    explicit WorkerPools(const CodecOptions& options);

    [[nodiscard]] const CodecOptions& options() const noexcept { return options_; }
    /// The options of the algorithm that is compressed with.
    [[nodiscard]] const ChunkOptions& chunk_options() const noexcept { return chunk_options_; }
    /// The workers that compress. Throws Error(invalid_argument) if the options name no algorithm.
    [[nodiscard]] WorkerPool& encoder();
    /// The workers that decompress a stream. Throws Error(unsupported) if the algorithm is not in this build.
    [[nodiscard]] WorkerPool& of(const ChunkOptions& stream);

private:
    /// Streams of one kind share workers: the algorithm, its bit shuffle and the element size of that.
    using Kind = std::tuple<Compression, BitShuffle, std::size_t>;
    [[nodiscard]] static Kind kind_of(const ChunkOptions& options);

    CodecOptions options_;
    ChunkOptions chunk_options_;
    ForkSafeMutex mutex_;
    std::map<Kind, std::unique_ptr<WorkerPool>> pools_;
};

}  // namespace tricodec::compress
