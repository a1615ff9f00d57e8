// SPDX-License-Identifier: Apache-2.0
#include "compress/cpu/bit_shuffle.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace tricodec::compress {
namespace {

constexpr std::size_t kPart = 8192;

/// Bit j of byte i becomes bit i of byte j (Warren, Hacker's Delight, 7-3).
std::uint64_t transposed(std::uint64_t bits) noexcept {
    const auto swap = [&](unsigned distance, std::uint64_t mask) {
        const std::uint64_t changed = (bits ^ (bits >> distance)) & mask;
        bits ^= changed ^ (changed << distance);
    };
    swap(7, 0x00aa'00aa'00aa'00aa);
    swap(14, 0x0000'cccc'0000'cccc);
    swap(28, 0x0000'0000'f0f0'f0f0);
    return bits;
}

/// Calls turn(element place, plane place, plane step) for each byte of each eight elements of a part of 8 KiB at most:
/// where the first element's byte is, the others `element_bytes` apart, and where the byte of its lowest bit goes, the
/// other bits' `plane step` apart. What makes no eight is copied.
template <class Turn>
void for_each_eight(ByteView input, std::size_t element_bytes, bool highest_first, std::span<std::byte> output,
                    Turn turn) {
    const std::size_t planes = 8 * element_bytes;
    for (std::size_t part = 0; part < input.size(); part += kPart) {
        const std::size_t size = std::min(kPart, input.size() - part);
        const std::size_t groups = size / planes;
        const auto step = static_cast<std::ptrdiff_t>(groups) * (highest_first ? -1 : 1);
        for (std::size_t group = 0; group < groups; ++group) {
            for (std::size_t byte = 0; byte < element_bytes; ++byte) {
                const std::size_t plane = highest_first ? planes - 1 - 8 * byte : 8 * byte;
                turn(part + group * planes + byte, part + plane * groups + group, step);
            }
        }
        const std::size_t whole = groups * planes;
        std::memcpy(output.data() + part + whole, input.data() + part + whole, size - whole);
    }
}

/// Eight bytes, each so far behind the one before, with bits and bytes changed round.
void transpose(const std::byte* from, std::ptrdiff_t from_step, std::byte* to, std::ptrdiff_t to_step) {
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits |= static_cast<std::uint64_t>(from[i * from_step]) << 8 * i;
    bits = transposed(bits);
    for (int i = 0; i < 8; ++i) to[i * to_step] = static_cast<std::byte>(bits >> 8 * i);
}

}  // namespace

void shuffle_bits(ByteView input, std::size_t element_bytes, bool highest_first, std::span<std::byte> output) {
    const auto apart = static_cast<std::ptrdiff_t>(element_bytes);
    for_each_eight(input, element_bytes, highest_first, output,
                   [&](std::size_t element, std::size_t plane, std::ptrdiff_t step) {
                       transpose(input.data() + element, apart, output.data() + plane, step);
                   });
}

void unshuffle_bits(std::span<std::byte> bytes, std::size_t element_bytes, bool highest_first) {
    const auto apart = static_cast<std::ptrdiff_t>(element_bytes);
    std::array<std::byte, kPart> shuffled;
    for (std::size_t begin = 0; begin < bytes.size(); begin += kPart) {
        const std::span<std::byte> part = bytes.subspan(begin, std::min(kPart, bytes.size() - begin));
        std::memcpy(shuffled.data(), part.data(), part.size());
        for_each_eight({shuffled.data(), part.size()}, element_bytes, highest_first, part,
                       [&](std::size_t element, std::size_t plane, std::ptrdiff_t step) {
                           transpose(shuffled.data() + plane, step, part.data() + element, apart);
                       });
    }
}

}  // namespace tricodec::compress
