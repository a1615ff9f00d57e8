// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/cuda/event.h"
#include "base/fork.h"
#include "base/memory_counter.h"

namespace tricodec {

/// A block of a SizedPool.
struct Block {
    void* data = nullptr;                      // in host memory, or a device pointer
    std::vector<cuda::SharedEvent> pending{};  // work on a GPU that must end before the bytes are written again
    bool fresh = false;                        // never given out before
};

/// How a SizedPool gets memory of one kind from the system, and returns it. Thread safety: safe.
class MemorySource {
public:
    virtual ~MemorySource() = default;

    /// The size of the blocks that serve a request, so that nearly equal requests share blocks.
    [[nodiscard]] virtual std::size_t block_bytes(std::size_t requested_bytes) const noexcept = 0;
    /// The size of the memory that such blocks are cut from: of one block, or of several.
    [[nodiscard]] virtual std::size_t slab_bytes(std::size_t block_bytes) const noexcept { return block_bytes; }
    /// Memory for a first use on `stream`; null if none is left. Throws Error(device).
    [[nodiscard]] virtual void* allocate(std::size_t size_bytes, StreamView stream) = 0;
    /// Returns memory to the system after the work that its blocks wait for.
    virtual void free(void* data, std::size_t size_bytes, const std::vector<Block>& blocks) noexcept = 0;
    /// Makes the system take back what it keeps of freed memory.
    virtual void trim() noexcept {}
    /// Frees what others keep of such memory. Called when there is too little.
    virtual void reclaim() noexcept {}
    /// True if the stream that uses a block next can wait for its pending work, so that the host need not.
    [[nodiscard]] virtual bool waits_in_stream() const noexcept { return false; }
};

/// The pool of all memory that is kept for reuse, with one policy for each kind of memory:
///
/// - Blocks are kept by size. A caller gets the block that came back last, which caches may hold. If a GPU still uses
///   it, the caller gets the one that came back first, because its work is most likely done.
/// - If all blocks of a size wait for work, the caller gets fresh memory. If as much is idle as the bound allows, or no
///   memory is left, it gets a waiting block instead, provided that its stream can do the waiting.
/// - Idle memory past the bound is returned to the system, the longest idle first: a caller with new sizes must not
///   lose its blocks to sizes that are no longer used. A block larger than the bound drives out no other one.
///
/// The source is called without the lock, because some drivers take milliseconds. Thread safety: safe, also if a thread
/// forks the process.
class SizedPool {
public:
    /// Memory of the source, and its blocks. It is returned to the system when none of them is in use.
    struct Slab {
        std::byte* data = nullptr;
        std::size_t size_bytes = 0;
        std::size_t block_bytes = 0;
        std::size_t num_cut = 0;       // blocks that were ever given out
        std::vector<Block> idle{};     // the one that came back last at the end
        std::uint64_t idle_since = 0;  // the pool's count of blocks that came back
        [[nodiscard]] bool has_room() const noexcept { return (num_cut + 1) * block_bytes <= size_bytes; }
        [[nodiscard]] bool is_full() const noexcept { return idle.empty() && !has_room(); }
        [[nodiscard]] bool is_unused() const noexcept { return idle.size() == num_cut; }
        [[nodiscard]] bool is_ready() const noexcept;
    };
    using Slabs = std::list<Slab>;

    SizedPool(std::unique_ptr<MemorySource> source, MemoryKind kind, Device device, std::size_t most_idle_bytes);
    /// All blocks must have come back.
    ~SizedPool() { trim(); }

    /// A block of at least `size_bytes`, for a first use on `stream`; null data if no memory is left. The caller makes
    /// its stream wait for the pending work, if there is any.
    [[nodiscard]] Block take(std::size_t size_bytes, StreamView stream = {});
    void give_back(Block block) noexcept { free(take_back(std::move(block))); }
    /// The same without the freeing, which may take long: the caller passes what is past the bound to free().
    [[nodiscard]] Slabs take_back(Block block) noexcept;
    void free(const Slabs& slabs) noexcept;
    /// Returns all idle memory to the system.
    void trim() noexcept;
    [[nodiscard]] const MemoryCounter& use() const noexcept { return counter_; }

private:
    /// The slabs of one size of blocks.
    struct SizeClass {
        Slabs open;  // those with idle blocks or room, in the order in which blocks came back
        Slabs full;
    };
    enum class Taken { ready, any };

    [[nodiscard]] Block take_kept(std::size_t block_bytes, Taken which);
    [[nodiscard]] Block take_fresh(std::size_t block_bytes, StreamView stream);
    [[nodiscard]] Block take_from(SizeClass& its, Slabs::iterator slab);
    [[nodiscard]] Slabs take_surplus(std::size_t most_idle_bytes) noexcept;

    const std::unique_ptr<MemorySource> source_;
    const std::size_t most_idle_bytes_;
    ForkSafeMutex mutex_;
    std::map<std::size_t, SizeClass> classes_;          // by the size of their blocks
    std::map<std::byte*, Slabs::iterator> by_address_;  // all slabs
    std::uint64_t num_given_back_ = 0;
    MemoryCounter counter_;
};

}  // namespace tricodec
