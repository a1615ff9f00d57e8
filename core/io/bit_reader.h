// SPDX-License-Identifier: Apache-2.0
/// Numbers in the headers of media.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tricodec {

/// Reads the bits of a header, most significant first. Past the end it gives zeros and ok() stays false, so that a
/// parser checks once, at the end.
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

/// The number in these bytes (std::byte or std::uint8_t), most significant first.
template <class Byte>
[[nodiscard]] std::uint64_t big_endian(std::span<const Byte> bytes) noexcept {
    std::uint64_t value = 0;
    for (const auto byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
    return value;
}

/// leb128() of AV1 (4.10.5): the number at the start of the bytes, and its length.
struct Leb128 {
    std::uint64_t value = 0;
    std::size_t num_bytes = 0;
};
/// Nothing if the number does not end.
template <class Byte>
[[nodiscard]] std::optional<Leb128> read_leb128(std::span<const Byte> bytes) noexcept {
    constexpr std::size_t kLongest = 8;
    Leb128 number;
    for (const auto each : bytes.first(bytes.size() < kLongest ? bytes.size() : kLongest)) {
        const auto byte = static_cast<std::uint8_t>(each);
        number.value |= std::uint64_t{byte & 0x7fU} << (7 * number.num_bytes++);
        if ((byte & 0x80) == 0) return number;
    }
    return std::nullopt;
}

}  // namespace tricodec
