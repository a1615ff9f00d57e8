// SPDX-License-Identifier: Apache-2.0
/// Canonical Huffman codes of DEFLATE (RFC 1951, 3.2.2), and what the symbols stand for.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace tricodec::compress {

inline constexpr int kMaxCodeLength = 15;
inline constexpr unsigned kEndOfBlock = 256;

struct Symbol {
    unsigned value = 0;
    unsigned length = 0;  ///< bits of its code; 0 if the bits are no code
};

/// A set of codes. Bits come in the order of the stream, the first in bit 0.
class HuffmanCode {
public:
    /// Lengths of the codes of symbols 0, 1, ...; 0 for those without. False if there are more codes than fit.
    [[nodiscard]] bool build(std::span<const std::uint8_t> lengths) noexcept {
        count_.fill(0);
        for (const unsigned length : lengths) ++count_[length];
        count_[0] = 0;
        int left = 1;
        std::array<std::uint16_t, kMaxCodeLength + 2> place{};
        std::array<std::uint32_t, kMaxCodeLength + 2> next{};
        std::uint32_t code = 0;
        for (unsigned length = 1; length <= kMaxCodeLength; ++length) {
            left = 2 * left - count_[length];
            if (left < 0) return false;
            code = (code + count_[length - 1]) << 1;
            next[length] = code;
            place[length + 1] = static_cast<std::uint16_t>(place[length] + count_[length]);
        }
        fast_.fill(0);
        for (unsigned symbol = 0; symbol < lengths.size(); ++symbol) {
            const unsigned length = lengths[symbol];
            if (length == 0) continue;
            symbols_[place[length]++] = static_cast<std::uint16_t>(symbol);
            const std::uint32_t bits = next[length]++;
            if (length > kFastBits) continue;
            std::uint32_t reversed = 0;
            for (unsigned bit = 0; bit < length; ++bit) reversed |= (bits >> bit & 1u) << (length - 1 - bit);
            for (std::uint32_t i = reversed; i < fast_.size(); i += 1u << length) {
                fast_[i] = static_cast<std::uint16_t>(symbol << 4 | length);
            }
        }
        return true;
    }

    /// The symbol whose code starts `bits`, of which at least 15 are valid.
    [[nodiscard]] Symbol decode(std::uint32_t bits) const noexcept {
        const unsigned entry = fast_[bits & (fast_.size() - 1)];
        if (entry != 0) return {entry >> 4, entry & 15};
        return decode_long(bits);
    }

private:
    static constexpr unsigned kFastBits = 11;

    [[nodiscard]] Symbol decode_long(std::uint32_t bits) const noexcept {
        int code = 0;
        int first = 0;
        int index = 0;
        for (unsigned length = 1; length <= kMaxCodeLength; ++length) {
            code |= static_cast<int>(bits & 1u);
            bits >>= 1;
            const int count = count_[length];
            if (code - count < first) return {symbols_[static_cast<unsigned>(index + (code - first))], length};
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        return {};
    }

    std::array<std::uint16_t, 1u << kFastBits> fast_{};  // symbol << 4 | length; 0 for longer codes and none
    std::array<std::uint16_t, kMaxCodeLength + 1> count_{};
    std::array<std::uint16_t, 320> symbols_{};
};

/// A block's two codes.
struct BlockCodes {
    HuffmanCode literals;
    HuffmanCode distances;
};

inline constexpr std::array<std::uint16_t, 29> kLengthBase = {
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
inline constexpr std::array<std::uint8_t, 29> kLengthExtra = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                              2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
/// The last two are of GDeflate and Deflate64.
inline constexpr std::array<std::uint16_t, 32> kDistanceBase = {
    1,   2,   3,   4,   5,    7,    9,    13,   17,   25,   33,   49,    65,    97,    129,   193,
    257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577, 32769, 49153};
inline constexpr std::array<std::uint8_t, 32> kDistanceExtra = {
    0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14};
/// In what order the lengths of the code of code lengths stand.
inline constexpr std::array<std::uint8_t, 19> kCodeLengthOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                                  11, 4,  12, 3, 13, 2, 14, 1, 15};

/// Lengths of the codes of a fixed block: 288 literals and lengths, then 32 distances.
[[nodiscard]] inline std::array<std::uint8_t, 320> fixed_code_lengths() noexcept {
    std::array<std::uint8_t, 320> lengths{};
    for (unsigned i = 0; i < lengths.size(); ++i) {
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : i < 288 ? 8 : 5;
    }
    return lengths;
}

}  // namespace tricodec::compress
