// SPDX-License-Identifier: Apache-2.0
/// The compressing half of Compressor.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compress/worker_pools.h"

namespace tricodec::compress {

/// Thread safety: safe.
class Encoder {
public:
    explicit Encoder(WorkerPools& pools) : pools_(pools), options_(pools.options()) {}

    /// An input and who compresses it.
    struct Job {
        const Encoder* encoder = nullptr;
        ByteView input;
    };

    [[nodiscard]] std::size_t max_compressed_bytes(std::size_t size_bytes) const;
    /// The jobs of a batch, on as many threads as the first one's options say.
    static void compress(std::span<const Job> jobs, const BatchPlacer& place, const TaskRunner& runner);
    [[nodiscard]] static std::vector<std::size_t> compress_to(std::span<const Job> jobs,
                                                              std::span<const std::span<std::byte>> outputs,
                                                              const TaskRunner& runner);
    /// Inputs that are all for this one.
    [[nodiscard]] std::vector<Job> jobs_of(std::span<const ByteView> inputs) const;

private:
    struct Item;
    [[nodiscard]] static int threads_of(std::span<const Job> jobs) noexcept;
    [[nodiscard]] Chunks chunks_of(ByteView input) const;
    [[nodiscard]] std::size_t head_of(std::size_t num_chunks) const;
    void compress_run(Item& item, const Run& run, std::size_t index, WorkerPool& workers) const;
    [[nodiscard]] std::size_t complete(Item& item) const;

    WorkerPools& pools_;
    const CodecOptions& options_;
};

}  // namespace tricodec::compress
