// SPDX-License-Identifier: Apache-2.0
#include "compress/cpu/bit_shuffle.h"

#include <algorithm>
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

/// Calls visit(element place, plane place) for each byte of each eight elements: where the first element's byte is,
/// the others `element_bytes` apart, and where the byte of its lowest bit goes.
template <class Visit>
void for_each_eight(std::size_t size, std::size_t element_bytes, bool highest_first, Visit visit) {
    const std::size_t groups = size / element_bytes / 8;
    const std::size_t planes = 8 * element_bytes;
    for (std::size_t group = 0; group < groups; ++group) {
        for (std::size_t byte = 0; byte < element_bytes; ++byte) {
            const std::size_t plane = highest_first ? planes - 1 - 8 * byte : 8 * byte;
            visit(group * planes + byte, plane * groups + group,
                  highest_first ? -static_cast<std::ptrdiff_t>(groups) : static_cast<std::ptrdiff_t>(groups));
        }
    }
}

void shuffle_part(const std::byte* input, std::size_t size, std::size_t element_bytes, bool highest_first,
                  std::byte* output) {
    for_each_eight(size, element_bytes, highest_first,
                   [&](std::size_t element, std::size_t plane, std::ptrdiff_t step) {
                       std::uint64_t bits = 0;
                       for (unsigned i = 0; i < 8; ++i) {
                           bits |= static_cast<std::uint64_t>(input[element + i * element_bytes]) << 8 * i;
                       }
                       bits = transposed(bits);
                       std::byte* to = output + plane;
                       for (int i = 0; i < 8; ++i) to[i * step] = static_cast<std::byte>(bits >> 8 * i);
                   });
    const std::size_t whole = size / (8 * element_bytes) * 8 * element_bytes;
    std::memcpy(output + whole, input + whole, size - whole);
}

void unshuffle_part(const std::byte* input, std::size_t size, std::size_t element_bytes, bool highest_first,
                    std::byte* output) {
    for_each_eight(size, element_bytes, highest_first,
                   [&](std::size_t element, std::size_t plane, std::ptrdiff_t step) {
                       std::uint64_t bits = 0;
                       const std::byte* from = input + plane;
                       for (int i = 0; i < 8; ++i) bits |= static_cast<std::uint64_t>(from[i * step]) << 8 * i;
                       bits = transposed(bits);
                       for (unsigned i = 0; i < 8; ++i)
                           output[element + i * element_bytes] = static_cast<std::byte>(bits >> 8 * i);
                   });
    const std::size_t whole = size / (8 * element_bytes) * 8 * element_bytes;
    std::memcpy(output + whole, input + whole, size - whole);
}

template <class Part>
void for_each_part(ByteView input, std::span<std::byte> output, Part part) {
    for (std::size_t at = 0; at < input.size(); at += kPart) {
        part(input.data() + at, std::min(kPart, input.size() - at), output.data() + at);
    }
}

}  // namespace

void shuffle_bits(ByteView input, std::size_t element_bytes, bool highest_first, std::span<std::byte> output) {
    for_each_part(input, output, [&](const std::byte* from, std::size_t size, std::byte* to) {
        shuffle_part(from, size, element_bytes, highest_first, to);
    });
}

void unshuffle_bits(ByteView input, std::size_t element_bytes, bool highest_first, std::span<std::byte> output) {
    for_each_part(input, output, [&](const std::byte* from, std::size_t size, std::byte* to) {
        unshuffle_part(from, size, element_bytes, highest_first, to);
    });
}

}  // namespace tricodec::compress
