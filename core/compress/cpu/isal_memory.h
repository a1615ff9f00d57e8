// SPDX-License-Identifier: Apache-2.0
/// Memory for ISA-L's compressor, at addresses that do not change what it makes.
#pragma once

#include <cstddef>

namespace tricodec::compress {

/// Zeros for a stream of ISA-L's and what goes with it; Note [ISA-L hashes its own address]. Where the kernel gives no
/// such address, other memory: one stream in a hundred is then another one, as valid.
class IsalMemory {
public:
    /// Throws Error(out_of_memory).
    explicit IsalMemory(std::size_t size_bytes);
    ~IsalMemory();
    IsalMemory(const IsalMemory&) = delete;
    IsalMemory& operator=(const IsalMemory&) = delete;

    [[nodiscard]] void* data() const noexcept { return data_; }

private:
    std::size_t size_bytes_;
    void* data_ = nullptr;
};

}  // namespace tricodec::compress
