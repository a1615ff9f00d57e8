// SPDX-License-Identifier: Apache-2.0
/// Runs of compressed chunks, put one behind the other while threads finish them in any order.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "tricodec/buffer.h"

namespace tricodec::compress {

/// The compressed runs of one item of a batch.
///
/// Note [Packing in order]. Where a run belongs is known once those before it are compressed. A thread compresses it
/// to its place if that is known when it starts, as it is on one thread and for small items; else to memory that is
/// used over and over and stays in a cache, from where whoever finishes the run before it copies it on. Compressing to
/// one place for the worst case each and gathering afterwards reads and writes everything once more, from memory:
/// LZ4 took up to a fifth longer (EPYC, two threads, 21 November 2026). Thread safety: safe.
class Packing {
public:
    /// `room` is where the first run belongs, with as many bytes as all runs take at worst.
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
    /// Of at least `worst_bytes`. Runs are started in order.
    [[nodiscard]] Target start(std::size_t run, std::size_t worst_bytes);
    /// The run took `size_bytes`; whatever has its place by that is put there.
    void finish(std::size_t run, Target target, std::size_t size_bytes);

    /// Bytes of all runs, alignment between them included; all must be finished.
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
