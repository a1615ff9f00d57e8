// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/cuda/context.h"
#include "base/cuda/event.h"
#include "base/fork.h"
#include "base/memory_counter.h"

namespace tricodec::cuda {

/// Pieces of memory that are used by the same work share the event behind it.
using SharedEvent = std::shared_ptr<const Event>;

/// A piece of a pool's memory, and the work that must be done before its bytes may be written again.
struct Block {
    void* data = nullptr;  // a device pointer, or pinned host memory
    std::size_t size_bytes = 0;
    std::vector<SharedEvent> pending;
    std::uint64_t idle_since = 0;  // the pool's count of blocks given back
    bool in_order = false;         // as it is given out: to be used after what its first stream has queued by then
};

/// Device memory in stream order: what is freed is kept, by size, and given to the next caller, once the last
/// users' work is done. Where it is not done for any block of the size, fresh memory is taken, as long as the blocks
/// that wait so are no more than may be kept; then the asker's stream waits for that work. The host never does. Fresh
/// memory comes from the driver's stream-ordered pool where there is one (CUDA 11.2 and a GPU that has it), so that
/// growing and shrinking do not stop the device either. Thread safety: safe.
class DevicePool {
public:
    explicit DevicePool(Context& context);
    DevicePool(const DevicePool&) = delete;
    DevicePool& operator=(const DevicePool&) = delete;
    ~DevicePool();

    /// Memory for a first use on `stream`, in order. Throws Error(out_of_memory) as memory_report.h words it.
    [[nodiscard]] Block allocate(std::size_t size_bytes, StreamView stream);
    void release(Block block) noexcept;
    /// Gives idle memory back to the driver.
    void trim() noexcept;
    [[nodiscard]] const MemoryCounter& use() const noexcept { return counter_; }

private:
    enum class Taken { unused, any };  // which of the blocks
    /// An idle block of the size, or an empty one.
    [[nodiscard]] Block take_idle(std::size_t size_bytes, Taken which);
    [[nodiscard]] Block allocate_fresh(std::size_t size_bytes, StreamView stream);
    [[nodiscard]] Result try_allocate(DevicePointer& pointer, std::size_t size_bytes, StreamView stream);
    void free(Block block) noexcept;
    [[nodiscard]] std::vector<Block> take_surplus(std::size_t keep_bytes);

    Context& context_;
    StreamHandle service_stream_ = nullptr;   // memory is freed on it
    MemoryPoolHandle driver_pool_ = nullptr;  // null where the driver has none
    std::size_t kept_bytes_;
    ForkSafeMutex mutex_;
    std::map<std::size_t, std::deque<Block>> idle_;  // by size, the longest idle first
    std::uint64_t num_given_back_ = 0;
    MemoryCounter counter_;
};

/// Page-locked host memory, which the GPU copies to and from without the host's help. Locking pages is slow: freed
/// blocks are kept. Thread safety: safe.
class PinnedPool {
public:
    explicit PinnedPool(Context& context) : context_(context), counter_(MemoryKind::pinned, context.device()) {}
    PinnedPool(const PinnedPool&) = delete;
    PinnedPool& operator=(const PinnedPool&) = delete;
    ~PinnedPool();

    /// Memory that no work uses any more. Throws Error(out_of_memory).
    [[nodiscard]] Block allocate(std::size_t size_bytes);
    void release(Block block) noexcept;
    [[nodiscard]] const MemoryCounter& use() const noexcept { return counter_; }

private:
    /// Gives idle memory back that no work uses any more.
    void trim() noexcept;

    Context& context_;
    ForkSafeMutex mutex_;
    std::map<std::size_t, std::vector<Block>> idle_;
    MemoryCounter counter_;
};

/// Bytes on a GPU or in page-locked host memory, with what is known of their users: the work that writes them, which
/// readers wait for, and the work that reads them, which the pool waits for before anybody else gets them.
/// Thread safety: safe.
class Memory {
public:
    /// Device memory of the context's pool, to be written by work on `stream`.
    [[nodiscard]] static std::shared_ptr<Memory> allocate(std::shared_ptr<Context> context, std::size_t size_bytes,
                                                          StreamView stream);
    [[nodiscard]] static std::shared_ptr<Memory> allocate_pinned(std::shared_ptr<Context> context,
                                                                 std::size_t size_bytes);
    /// Device memory that `owner` keeps valid.
    [[nodiscard]] static std::shared_ptr<Memory> borrow(std::shared_ptr<Context> context, void* data,
                                                        std::size_t size_bytes, std::shared_ptr<const void> owner);
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory();

    [[nodiscard]] void* data() const noexcept { return block_.data; }
    [[nodiscard]] DevicePointer pointer() const noexcept { return reinterpret_cast<DevicePointer>(block_.data); }
    [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }
    [[nodiscard]] const std::shared_ptr<Context>& context() const noexcept { return context_; }

    /// The bytes are complete once what is queued on `stream` so far is done.
    void written_on(StreamView stream);
    /// What is queued on `stream` so far reads the bytes: no other owner gets the memory before it is done.
    void used_on(StreamView stream);
    /// The same with an event that was recorded behind the reading work.
    void used_until(SharedEvent event);
    /// Work queued on `stream` from now on sees the complete bytes; the host does not wait.
    void wait_on(StreamView stream) const;
    /// wait_on(), and what is queued on `stream` by the end of the memory's life reads the bytes. The stream may be
    /// gone by then.
    void lend_to(StreamView stream);
    /// The host waits until the bytes are complete. Throws Error(device) if the work failed.
    void wait() const;
    [[nodiscard]] bool ready() const;

private:
    enum class Kind { device, pinned, borrowed };
    Memory(std::shared_ptr<Context> context, Kind kind, Block block, std::size_t size_bytes,
           std::shared_ptr<const void> owner)
        : context_(std::move(context)),
          kind_(kind),
          block_(std::move(block)),
          size_bytes_(size_bytes),
          owner_(std::move(owner)) {}

    void record_lent();

    std::shared_ptr<Context> context_;
    Kind kind_;
    Block block_;
    std::size_t size_bytes_;
    std::shared_ptr<const void> owner_;  // of borrowed memory
    mutable std::mutex mutex_;
    mutable SharedEvent written_;    // null once it is known to be done
    std::vector<SharedEvent> uses_;  // the last of each stream
    bool lent_to_default_ = false;
    bool lent_to_others_ = false;
};

}  // namespace tricodec::cuda
