// SPDX-License-Identifier: Apache-2.0
/// The arrays in a Cascaded block, packed or not (Note [Cascaded]).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>

#include "base/bytes.h"
#include "tricodec/base/error.h"
#include "tricodec/compress/compress.h"

namespace tricodec::compress::cascaded {

[[noreturn]] inline void damaged(const char* what) {
    fail(ErrorCode::corrupt_data, std::string("the Cascaded chunk is damaged: ") + what);
}

template <class T>
constexpr std::size_t packed_header() {
    return align_up(align_up(sizeof(T), 4) + 4, std::max<std::size_t>(4, sizeof(T)));
}

/// Whether `size` bytes at `at` are inside. A chunk with arrays that do not fit is stored uncompressed.
[[nodiscard]] inline bool fits(MutableBytes output, std::size_t at, std::size_t size) noexcept {
    return at <= output.size() && size <= output.size() - at;
}

/// Writes an array at `at`, packed or not, padded to 4 bytes. Returns its size without padding, none if it does not
/// fit.
template <class T>
std::optional<std::size_t> write_array(const T* values, std::size_t count, bool bitpack, MutableBytes output,
                                       std::size_t at) {
    using Signed = std::make_signed_t<T>;
    if (!bitpack) {
        const std::size_t size = count * sizeof(T);
        if (!fits(output, at, align_up(size, 4))) return std::nullopt;
        std::memset(output.data() + at + size, 0, align_up(size, 4) - size);
        if (size > 0) std::memcpy(output.data() + at, values, size);
        return size;
    }
    Signed least = 0;
    Signed most = 0;
    if (count > 0) {
        least = most = static_cast<Signed>(values[0]);
        for (std::size_t i = 1; i < count; ++i) {
            least = std::min(least, static_cast<Signed>(values[i]));
            most = std::max(most, static_cast<Signed>(values[i]));
        }
    }
    const auto range = static_cast<std::uint64_t>(static_cast<T>(static_cast<T>(most) - static_cast<T>(least)));
    const auto bits = static_cast<unsigned>(std::bit_width(range));
    const std::size_t num_words = ceil_div(count * bits, 32);
    const std::size_t size = packed_header<T>() + 4 * num_words;
    if (!fits(output, at, size)) return std::nullopt;
    std::byte* to = output.data() + at;
    std::memset(to, 0, packed_header<T>());
    store<T>(to, static_cast<T>(least));
    store<std::uint32_t>(to + align_up(sizeof(T), 4), bits << 16 | static_cast<std::uint32_t>(count));
    std::byte* words = to + packed_header<T>();
    std::memset(words, 0, 4 * num_words);
    const auto add = [&](std::size_t word, std::uint64_t value) {
        store<std::uint32_t>(words + 4 * word,
                             load<std::uint32_t>(words + 4 * word) | static_cast<std::uint32_t>(value));
    };
    for (std::size_t i = 0; i < count && bits > 0; ++i) {
        const auto value = static_cast<std::uint64_t>(static_cast<T>(values[i] - static_cast<T>(least)));
        const std::size_t word = i * bits / 32;
        const auto shift = static_cast<unsigned>(i * bits % 32);
        add(word, value << shift);
        if (shift + bits > 32) add(word + 1, value << shift >> 32);
        if (shift + bits > 64) add(word + 2, value >> (64 - shift));
    }
    return size;
}

/// Reads an array of at most `room` values that takes `size` bytes. Returns how many there are.
template <class T>
std::size_t read_array(ByteView bytes, bool bitpack, T* values, std::size_t room) {
    if (!bitpack) {
        const std::size_t count = bytes.size() / sizeof(T);
        if (count > room || bytes.size() % sizeof(T) != 0) damaged("an array has more values than its block");
        if (count > 0) std::memcpy(values, bytes.data(), bytes.size());
        return count;
    }
    if (bytes.size() < packed_header<T>()) damaged("a packed array is shorter than its header");
    const T least = load<T>(bytes.data());
    const auto described = load<std::uint32_t>(bytes.data() + align_up(sizeof(T), 4));
    const unsigned bits = described >> 16;
    const std::size_t count = described & 0xffffu;
    if (bits > 8 * sizeof(T)) damaged("packed values have more bits than their type");
    if (count > room) damaged("an array has more values than its block");
    const std::size_t num_words = ceil_div(count * bits, 32);
    if (bytes.size() - packed_header<T>() < 4 * num_words) damaged("a packed array is shorter than its values");
    if (bits == 0) {
        std::fill_n(values, count, least);
        return count;
    }
    const std::byte* words = bytes.data() + packed_header<T>();
    const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t word = i * bits / 32;
        const auto shift = static_cast<unsigned>(i * bits % 32);
        std::uint64_t value = load<std::uint32_t>(words + 4 * word) >> shift;
        if (shift + bits > 32) value |= std::uint64_t{load<std::uint32_t>(words + 4 * (word + 1))} << (32 - shift);
        if (shift + bits > 64) value |= std::uint64_t{load<std::uint32_t>(words + 4 * (word + 2))} << (64 - shift);
        values[i] = static_cast<T>(static_cast<T>(value & mask) + least);
    }
    return count;
}

}  // namespace tricodec::compress::cascaded
