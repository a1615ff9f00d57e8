// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>

namespace tricodec {

/// Memory with a page after its end that may not be touched.
class Guarded {
public:
    explicit Guarded(std::size_t num_bytes) : num_bytes_(num_bytes) {
        constexpr std::size_t kPage = 65536;  // a multiple of every page size in use
        const std::size_t size = (num_bytes + kPage - 1) / kPage * kPage;
        size_ = size + kPage;
        base_ = static_cast<std::uint8_t*>(
            mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (base_ == MAP_FAILED || mprotect(base_ + size, kPage, PROT_NONE) != 0) std::abort();
        data_ = base_ + size - num_bytes;
    }
    explicit Guarded(std::span<const std::uint8_t> bytes) : Guarded(bytes.size()) {
        std::copy(bytes.begin(), bytes.end(), data_);
    }
    Guarded(Guarded&& other) noexcept
        : base_(std::exchange(other.base_, nullptr)),
          data_(other.data_),
          size_(other.size_),
          num_bytes_(other.num_bytes_) {}
    Guarded& operator=(Guarded&&) = delete;
    ~Guarded() {
        if (base_ != nullptr) munmap(base_, size_);
    }
    [[nodiscard]] std::uint8_t* data() const { return data_; }
    [[nodiscard]] std::span<std::byte> bytes() const { return {reinterpret_cast<std::byte*>(data_), num_bytes_}; }

private:
    std::uint8_t* base_ = nullptr;
    std::uint8_t* data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t num_bytes_ = 0;
};

}  // namespace tricodec
