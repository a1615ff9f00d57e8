// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "tricodec/base/device.h"

namespace tricodec {

namespace cuda {
class Context;
class Memory;
}  // namespace cuda

/// Where buffers get their memory from. Implementations must be thread safe.
class Allocator {
public:
    virtual ~Allocator() = default;
    /// Returns memory aligned to 64 bytes. Throws Error(out_of_memory) saying what was asked.
    [[nodiscard]] virtual void* allocate(std::size_t size_bytes) = 0;
    virtual void deallocate(void* data, std::size_t size_bytes) noexcept = 0;
    /// Nothing past the first `used_bytes` of a block will be read again: the system may take those pages back while
    /// the block lives. Returns whether it can.
    virtual bool give_up_tail(void* /*data*/, std::size_t /*size_bytes*/, std::size_t /*used_bytes*/) noexcept {
        return false;
    }
};

/// The allocator of host buffers; the default one keeps freed blocks of frame size for reuse, because fresh pages
/// cost more than decoding into them.
[[nodiscard]] std::shared_ptr<Allocator> host_allocator();
/// Null restores the default. Buffers keep the allocator that made them.
void set_host_allocator(std::shared_ptr<Allocator> allocator);

/// Bytes in memory: owned (freed with the last reference) or borrowed (an owner is kept alive instead).
///
/// Bytes on a GPU are written and read by work that is queued on streams. The buffer knows that work: readers wait for
/// the writer by wait_on() or wait(), and memory is not given to another owner before the uses that used_on() reported
/// are done. On the CPU these calls do nothing. Thread safety: safe, except for the bytes themselves.
class Buffer {
public:
    /// Uninitialised bytes in host memory; throws Error(out_of_memory).
    [[nodiscard]] static std::shared_ptr<Buffer> allocate(std::size_t size_bytes);
    /// Uninitialised bytes on `device`, for work on `stream` to write; the call does not wait. On a GPU they come from
    /// the pool of the stream's context. Throws Error(out_of_memory) saying what was asked and what is free.
    [[nodiscard]] static std::shared_ptr<Buffer> allocate(std::size_t size_bytes, Device device,
                                                          StreamView stream = {});
    /// Uninitialised page-locked host memory, which the GPU `device` copies to and from by itself. device() is the CPU.
    [[nodiscard]] static std::shared_ptr<Buffer> allocate_pinned(std::size_t size_bytes, Device device);
    /// Wraps bytes that `owner` keeps valid; nothing is copied.
    [[nodiscard]] static std::shared_ptr<Buffer> borrow(void* data, std::size_t size_bytes,
                                                        std::shared_ptr<const void> owner);
    /// The same for bytes on a GPU, complete once what is queued on `stream` so far is done.
    [[nodiscard]] static std::shared_ptr<Buffer> borrow(void* data, std::size_t size_bytes,
                                                        std::shared_ptr<const void> owner, Device device,
                                                        StreamView stream);

    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer();

    [[nodiscard]] std::byte* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }
    [[nodiscard]] Device device() const noexcept { return device_; }
    /// The CUDA context of bytes on a GPU and of page-locked ones; null for other host memory.
    [[nodiscard]] std::shared_ptr<cuda::Context> context() const;
    /// Host memory only.
    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data_, size_bytes_}; }

    /// The bytes past the first `used_bytes` hold nothing any more; they may be written again. False where that does
    /// not make their memory free for others: small blocks, borrowed ones, other allocators than the default one.
    bool give_up_tail(std::size_t used_bytes) noexcept;

    /// The bytes are complete once what is queued on `stream` so far is done.
    void written_on(StreamView stream);
    /// What is queued on `stream` so far reads the bytes: the memory stays theirs until it is done.
    void used_on(StreamView stream) const;
    /// The same for many, told to the driver once.
    static void used_on(std::span<const std::shared_ptr<Buffer>> buffers, StreamView stream);
    /// Work queued on `stream` from now on sees the complete bytes; the host does not wait.
    void wait_on(StreamView stream) const;
    /// Gives the bytes to the work on `stream`: work queued there from now on sees them complete, and the memory
    /// is reused only after the work that is queued there when the last reference goes has finished. The stream may end
    /// before.
    void lend_to(StreamView stream);
    /// The host waits until the bytes are complete. Throws Error(device) if the work failed.
    void wait() const;

private:
    Buffer() = default;
    std::byte* data_ = nullptr;
    std::size_t size_bytes_ = 0;
    Device device_{};
    std::shared_ptr<Allocator> allocator_;  // null when borrowed
    std::shared_ptr<const void> owner_;     // null when owned
    std::shared_ptr<cuda::Memory> memory_;  // on a GPU or page-locked: what owns the bytes
};

}  // namespace tricodec
