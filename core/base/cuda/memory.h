// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "base/cuda/context.h"
#include "base/cuda/event.h"
#include "base/sized_pool.h"

namespace tricodec::cuda {

/// Device memory of a context in stream order: the host waits neither for its users nor when it is freed.
[[nodiscard]] std::unique_ptr<SizedPool> make_device_pool(Context& context);
/// So much page-locked memory is kept for reuse.
inline constexpr std::size_t kIdlePinnedBytes = 256 << 20;
/// Page-locked host memory of a context, which the GPU copies to and from without the host's help. Its blocks are only
/// given out when no work uses them.
[[nodiscard]] std::unique_ptr<SizedPool> make_pinned_pool(Context& context);

/// The size of the blocks of a GPU's memory, and of page-locked memory, that serve a request.
[[nodiscard]] std::size_t driver_block_bytes(std::size_t requested_bytes) noexcept;

/// Bytes on a GPU or in page-locked host memory, with what is known of their users: the work that writes them, which
/// readers wait for, and the work that reads them, which the pool waits for before anybody else gets them.
/// Thread safety: safe.
class Memory {
public:
    /// Device memory of the context's pool, to be written by work on `stream`. Throws Error(out_of_memory) as
    /// memory_report.h words it, and as expect_not_captured() does.
    [[nodiscard]] static std::shared_ptr<Memory> allocate(std::shared_ptr<Context> context, std::size_t size_bytes,
                                                          StreamView stream);
    /// The same for a stream that expect_not_captured() has passed.
    [[nodiscard]] static std::shared_ptr<Memory> allocate_uncaptured(std::shared_ptr<Context> context,
                                                                     std::size_t size_bytes, StreamView stream);
    [[nodiscard]] static std::shared_ptr<Memory> allocate_pinned(std::shared_ptr<Context> context,
                                                                 std::size_t size_bytes);
    /// Device memory that `owner` keeps valid.
    [[nodiscard]] static std::shared_ptr<Memory> borrow(std::shared_ptr<Context> context, void* data,
                                                        std::size_t size_bytes, std::shared_ptr<const void> owner);
    ~Memory();

    [[nodiscard]] void* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }
    [[nodiscard]] const std::shared_ptr<Context>& context() const noexcept { return context_; }

    /// The bytes are complete once what is queued on `stream` so far is done. While the stream is captured in a CUDA
    /// graph this does nothing, nor does used_on(): the caller keeps the memory and orders its users.
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

private:
    Memory(std::shared_ptr<Context> context, SizedPool* pool, Block block, std::size_t size_bytes,
           std::shared_ptr<const void> owner = nullptr)
        : context_(std::move(context)),
          pool_(pool),
          data_(block.data),
          size_bytes_(size_bytes),
          owner_(std::move(owner)),
          uses_(std::move(block.pending)) {}

    void record_written(StreamView stream);
    void record_lent();

    std::shared_ptr<Context> context_;
    SizedPool* pool_;  // of the context; null for borrowed memory
    void* data_;
    std::size_t size_bytes_;
    std::shared_ptr<const void> owner_;  // of borrowed memory
    mutable std::mutex mutex_;
    mutable SharedEvent written_;    // null once it is known to be done
    std::vector<SharedEvent> uses_;  // the last of each stream
    bool lent_to_default_ = false;
    bool lent_to_others_ = false;
};

/// Throws Error(unsupported) while the stream is captured in a CUDA graph. It asks the driver.
void expect_not_captured(StreamView stream);

/// used_on() of several pieces of memory, with one question to the driver, and one event for each context.
class MemoryUse {
public:
    explicit MemoryUse(StreamView stream) : stream_(stream), is_captured_(is_capturing(stream)) {}
    void add(Memory& memory);

private:
    StreamView stream_;
    bool is_captured_;
    const Context* recorded_in_ = nullptr;
    SharedEvent event_;
};

}  // namespace tricodec::cuda
