// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/fork.h"
#include "compress/chunk_codec.h"

namespace tricodec::compress {

/// A codec and workers for it, which are made as threads ask and kept. Thread safe.
class WorkerPool {
public:
    explicit WorkerPool(std::unique_ptr<ChunkCodec> codec) : codec_(std::move(codec)) {}

    [[nodiscard]] const ChunkCodec& codec() const noexcept { return *codec_; }

    /// A worker for the caller alone as long as this lives.
    class Lease {
    public:
        explicit Lease(WorkerPool& pool) : pool_(pool), worker_(pool.take()) {}
        ~Lease() { pool_.give_back(std::move(worker_)); }
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
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

/// Chunks [first, first + count) of item `item`: what one thread does at a time.
struct Run {
    std::size_t item = 0;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};

/// What is known of the chunks of one item of a batch.
struct Chunks {
    std::uint64_t total_bytes = 0;
    std::uint64_t chunk_bytes = 0;
    std::uint64_t count = 0;
};

/// Cuts the items into runs: small enough for all threads to have work to the end, large enough that handing them out
/// costs nothing.
[[nodiscard]] std::vector<Run> cut_into_runs(std::span<const Chunks> items, int num_threads);

/// task(i) for each i below `count`, on as many threads; the first failure stops the others and is rethrown.
void for_each_run(std::size_t count, int num_threads, const TaskRunner& runner,
                  const std::function<void(std::size_t)>& task);

}  // namespace tricodec::compress
