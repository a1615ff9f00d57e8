// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "tricodec/device.h"

namespace tricodec {

/// Where buffers get their memory from. Implementations must be thread safe.
class Allocator {
public:
    virtual ~Allocator() = default;
    /// Returns memory aligned to 64 bytes. Throws Error(out_of_memory) saying what was asked.
    [[nodiscard]] virtual void* allocate(std::size_t size_bytes) = 0;
    virtual void deallocate(void* data, std::size_t size_bytes) noexcept = 0;
};

/// The allocator of host buffers; the default one keeps freed blocks of frame size for reuse, because fresh pages
/// cost more than decoding into them.
[[nodiscard]] std::shared_ptr<Allocator> host_allocator();
/// Null restores the default. Buffers keep the allocator that made them.
void set_host_allocator(std::shared_ptr<Allocator> allocator);

/// Bytes in memory: owned (freed with the last reference) or borrowed (an owner is kept alive instead).
class Buffer {
public:
    /// Uninitialised bytes; throws Error(out_of_memory).
    [[nodiscard]] static std::shared_ptr<Buffer> allocate(std::size_t size_bytes);
    /// Wraps bytes that `owner` keeps valid; nothing is copied.
    [[nodiscard]] static std::shared_ptr<Buffer> borrow(void* data, std::size_t size_bytes,
                                                        std::shared_ptr<const void> owner);

    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer();

    [[nodiscard]] std::byte* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }
    [[nodiscard]] Device device() const noexcept { return device_; }
    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data_, size_bytes_}; }

private:
    Buffer() = default;
    std::byte* data_ = nullptr;
    std::size_t size_bytes_ = 0;
    Device device_{};
    std::shared_ptr<Allocator> allocator_;  // null when borrowed
    std::shared_ptr<const void> owner_;     // null when owned
};

}  // namespace tricodec
