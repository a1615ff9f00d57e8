// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tricodec {

/// Bits of a header, most significant first. Reading past the end gives zeros and makes ok() false for good, so that a
/// parser may read on and ask once.
class BitReader {
public:
    explicit BitReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    [[nodiscard]] bool ok() const noexcept { return ok_; }

    bool flag() { return bits(1) != 0; }
    std::uint32_t bits(int count) {
        std::uint32_t value = 0;
        for (int i = 0; i < count; ++i) value = value << 1 | bit();
        return value;
    }
    void skip(int count) { (void)bits(count); }

    /// ue(v) of H.264 and HEVC (9.1).
    std::uint32_t exp_golomb() {
        int zeros = 0;
        while (ok_ && bit() == 0) ++zeros;
        if (!ok_ || zeros > 31) {
            ok_ = false;
            return 0;
        }
        return ((std::uint32_t{1} << zeros) - 1) + bits(zeros);
    }
    /// se(v).
    std::int32_t signed_exp_golomb() {
        const auto code = std::int64_t{exp_golomb()};
        return static_cast<std::int32_t>((code & 1) != 0 ? (code + 1) / 2 : -(code / 2));
    }

private:
    std::uint32_t bit() {
        if (at_ >= bytes_.size() * 8) {
            ok_ = false;
            return 0;
        }
        const std::uint32_t value = bytes_[at_ / 8] >> (7 - at_ % 8) & 1U;
        ++at_;
        return value;
    }

    std::span<const std::uint8_t> bytes_;
    std::size_t at_ = 0;
    bool ok_ = true;
};

}  // namespace tricodec
