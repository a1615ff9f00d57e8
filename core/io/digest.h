// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

struct AVSHA;

namespace tricodec {

/// SHA-256 of the added bytes.
class Digest {
public:
    using Value = std::array<std::byte, 32>;

    Digest();
    void add(std::span<const std::byte> bytes);
    void add(std::string_view text);
    void add(std::int64_t number);
    /// Ends the digest; nothing can be added afterwards.
    [[nodiscard]] Value finish();

private:
    std::unique_ptr<AVSHA, void (*)(AVSHA*)> state_;
};

}  // namespace tricodec
