// SPDX-License-Identifier: Apache-2.0
/// Runs of chunks: how a batch is divided among threads, and how the compressed runs of an item are joined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "tricodec/base/buffer.h"
#include "tricodec/base/thread_pool.h"

namespace tricodec::compress {

/// Chunks [first, first + count) of item `item`: what one thread does at a time.
struct Run {
    std::size_t item = 0;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};

/// The chunks of one item of a batch.
struct Chunks {
    std::uint64_t total_bytes = 0;
    std::uint64_t chunk_bytes = 0;
    std::uint64_t count = 0;
};

/// Divides the items into runs: small enough to keep all threads busy to the end, large enough that their number costs
/// nothing.
[[nodiscard]] std::vector<Run> cut_into_runs(std::span<const Chunks> items, int num_threads);

/// Calls task(i) for each i below `count`, on `num_threads`. The first failure stops the others and is rethrown.
void for_each_run(std::size_t count, int num_threads, const TaskRunner& runner,
                  const std::function<void(std::size_t)>& task);

/// The compressed runs of one item of a batch.
///
/// Note [Packing in order]. The place of a run is known when all runs before it are compressed. If it is known when a
/// thread starts the run (one thread, small items), the thread compresses to that place. Otherwise it compresses to a
/// buffer that is used again and stays in the cache, and the thread that finishes the run before copies it.
/// A worst-case place for each run and a copy at the end read and write all bytes once more: up to a fifth slower for
/// LZ4. Thread safety: safe.
class Packing {
public:
    /// `room` begins at the place of the first run and has the worst-case size of all runs.
    Packing(std::span<std::byte> room, std::size_t num_runs) : room_(room), sizes_(num_runs, kUnknown) {}

    /// Memory to compress a run to.
    class Target {
    public:
        [[nodiscard]] std::byte* data() const noexcept { return buffer_ ? buffer_->data() : place_; }

    private:
        friend class Packing;
        std::byte* place_ = nullptr;
        std::shared_ptr<Buffer> buffer_;
    };
    /// Memory of at least `worst_bytes`. Start runs in order.
    [[nodiscard]] Target start(std::size_t run, std::size_t worst_bytes);
    /// The run has `size_bytes`. Copies every run that has its place now.
    void finish(std::size_t run, Target target, std::size_t size_bytes);

    /// Bytes of all finished runs with the alignment between them.
    [[nodiscard]] std::size_t total_bytes() const noexcept { return end_; }

private:
    static constexpr std::size_t kUnknown = ~std::size_t{0};

    struct Move {
        std::byte* to;
        std::shared_ptr<Buffer> from;
        std::size_t size;
    };
    struct Waiting {
        std::size_t run;
        std::shared_ptr<Buffer> buffer;
    };
    [[nodiscard]] std::vector<Move> advance();

    std::span<std::byte> room_;
    std::mutex mutex_;
    std::vector<std::size_t> sizes_;  // by run
    std::size_t next_ = 0;            // the first run that is not finished: its place is known
    std::size_t start_ = 0;           // of that run, aligned
    std::size_t end_ = 0;             // of the run before it
    std::vector<Waiting> waiting_;
    std::vector<std::shared_ptr<Buffer>> spare_;
};

}  // namespace tricodec::compress
