// SPDX-License-Identifier: Apache-2.0
/// Little-endian numbers at any address.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tricodec::compress {

static_assert(std::endian::native == std::endian::little, "the containers are little-endian, and so is this library");

template <class T>
[[nodiscard]] T load(const std::byte* from) noexcept {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class T>
void store(std::byte* to, T value) noexcept {
    std::memcpy(to, &value, sizeof value);
}

[[nodiscard]] constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t to) noexcept {
    return (value + to - 1) / to * to;
}

[[nodiscard]] constexpr std::uint64_t ceil_div(std::uint64_t value, std::uint64_t by) noexcept {
    return value / by + (value % by != 0 ? 1 : 0);
}

}  // namespace tricodec::compress
