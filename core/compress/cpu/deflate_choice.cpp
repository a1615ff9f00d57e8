// SPDX-License-Identifier: Apache-2.0
#include "compress/cpu/deflate_choice.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tricodec::compress {
namespace {

// Note [Three ways]
// libdeflate's level 3 beats zlib's level 1 wherever matches of four bytes and more do the work: text, tables,
// programs, most pictures. In numbers that hardly repeat, matches are of three bytes, met by chance, and other ways do
// better:
// - Such matches are worth a little in fields of floats (a smooth quantity's upper bytes). zlib's level 1 takes all of
//   them, libdeflate's levels up to 9 none that are far away, and lose by up to 3 %. Its level 10 weighs each against
//   its literals and wins, at a third of the speed.
// - They are worth less than their literals in bfloat16 and random integers, and too few to matter in float32 weights.
//   Literals alone are smallest there; ISA-L's level 3, which takes no match of three bytes, is smaller than both
//   libraries and four times as fast as libdeflate's level 3.
// - ISA-L makes one block of 64 KiB of literals where zlib begins another after each 16 KiB. Where the frequencies
//   change from one to the next, as along a random walk, that costs ISA-L more than its way gains.
// The thresholds below lie between the sets that each way wins: arrays, weights, tables and text of other projects, and
// 70 made ones of floats of 16 to 64 bits, integers, pictures and text. tests/python/test_compress_strengths.py has one
// of each.

constexpr std::size_t kPieceBytes = 65536;
constexpr std::size_t kSampleBytes = 8192;
constexpr std::size_t kBlockBytes = 16384;  // of literals, in zlib's streams
constexpr float kLeastBits = 5;             // a byte: text has less

/// Frequencies of bytes.
class Histogram {
public:
    explicit Histogram(ByteView bytes) {
        for (const std::byte value : bytes) ++counts_[static_cast<std::size_t>(value)];
        size_ = static_cast<float>(bytes.size());
    }

    void add(const Histogram& other) noexcept {
        for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
        size_ += other.size_;
    }

    /// What an ideal code takes for a byte that is there.
    [[nodiscard]] float bits_of(std::size_t value) const noexcept {
        return std::log2(size_ / static_cast<float>(counts_[value]));
    }

    /// What it takes for all of them.
    [[nodiscard]] float bits() const noexcept {
        float result = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            if (counts_[i] > 0) result += static_cast<float>(counts_[i]) * bits_of(i);
        }
        return result;
    }

    [[nodiscard]] std::array<int, 256> sixteenths_of_bits() const noexcept {
        std::array<int, 256> result{};
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            if (counts_[i] > 0) result[i] = static_cast<int>(16 * bits_of(i));
        }
        return result;
    }

private:
    std::array<std::uint32_t, 256> counts_{};
    float size_ = 0;
};

/// What one who takes every match finds.
struct Matches {
    std::size_t of_three = 0;
    std::size_t longer = 0;
    // Sixteenths of bits by which matches of three bytes are shorter than their literals, and longer.
    std::size_t gained = 0;
    std::size_t lost = 0;
};

std::uint32_t word_at(ByteView bytes, std::size_t position) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + position, sizeof(word));
    return word;
}

/// Length and distance take some 9 bits and the distance's extra ones. Ends early with more than `most_longer`.
Matches find_matches(ByteView bytes, const std::array<int, 256>& costs, std::size_t most_longer) {
    static_assert(kSampleBytes <= UINT16_MAX);
    constexpr std::uint32_t kThreeBytes = std::endian::native == std::endian::little ? 0xFFFFFF : 0xFFFFFF00;
    constexpr unsigned kHashBits = 12;
    std::array<std::uint16_t, 1 << kHashBits> last{};
    Matches matches;
    for (std::size_t i = 0; i + 4 <= bytes.size() && matches.longer <= most_longer;) {
        const std::uint32_t word = word_at(bytes, i);
        std::uint16_t& place = last[(word & kThreeBytes) * 0x9E3779B1U >> (32 - kHashBits)];
        const std::size_t before = place;
        place = static_cast<std::uint16_t>(i);
        const std::uint32_t differing = word ^ word_at(bytes, before);
        if (before >= i || (differing & kThreeBytes) != 0) {
            ++i;
        } else if (differing == 0) {
            ++matches.longer;
            std::size_t length = 4;
            while (i + length < bytes.size() && bytes[i + length] == bytes[before + length]) ++length;
            i += length;
        } else {
            ++matches.of_three;
            const int extra_bits = std::max(static_cast<int>(std::bit_width(i - before - 1)), 2) - 2;
            int gain = -16 * (9 + extra_bits);
            for (std::size_t k = 0; k < 3; ++k) gain += costs[static_cast<std::size_t>(bytes[i + k])];
            (gain > 0 ? matches.gained : matches.lost) += static_cast<std::size_t>(std::abs(gain));
            i += 3;
        }
    }
    return matches;
}

/// True where one block costs hardly more than one for each 16 KiB; Gaussian noise has 0.1 %, as there are few of each
/// byte in a block.
bool is_one_block(ByteView piece) {
    Histogram whole{ByteView{}};
    float blocks = 0;
    for (std::size_t i = 0; i < piece.size(); i += kBlockBytes) {
        const Histogram block(piece.subspan(i, std::min(kBlockBytes, piece.size() - i)));
        blocks += block.bits();
        whole.add(block);
    }
    return whole.bits() < 1.003F * blocks;
}

DeflateWay choose_for(ByteView piece) {
    if (piece.size() < kBlockBytes) return DeflateWay::usual;
    // From its middle: a file's header is no sample.
    const ByteView sample = piece.subspan((piece.size() - kSampleBytes) / 2, kSampleBytes);
    const Histogram histogram(sample);
    if (histogram.bits() < kLeastBits * kSampleBytes) return DeflateWay::usual;
    const std::size_t most_longer = kSampleBytes / 64;
    const Matches found = find_matches(sample, histogram.sixteenths_of_bits(), most_longer);
    if (found.longer > most_longer) return DeflateWay::usual;
    const bool worthless = found.of_three < kSampleBytes / 100 || found.lost > 12 * found.gained;
    if (found.longer < kSampleBytes / 200 && worthless && is_one_block(piece)) return DeflateWay::literals;
    const bool alone = found.of_three > 40 * found.longer;
    const bool worthwhile = found.gained > found.lost && found.of_three > 7 * found.longer;
    return found.of_three > kSampleBytes / 64 && (alone || worthwhile) ? DeflateWay::weighing : DeflateWay::usual;
}

}  // namespace

DeflateWay choose_deflate_way(ByteView input) {
    std::array<std::size_t, 3> votes{};
    for (std::size_t i = 0; i < input.size(); i += kPieceBytes) {
        ++votes[static_cast<std::size_t>(choose_for(input.subspan(i, std::min(kPieceBytes, input.size() - i))))];
    }
    return static_cast<DeflateWay>(std::max_element(votes.begin(), votes.end()) - votes.begin());
}

}  // namespace tricodec::compress
