// SPDX-License-Identifier: Apache-2.0
/// Numbers at any address, and sizes in whole blocks.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tricodec {

static_assert(std::endian::native == std::endian::little, "samples, containers and this library are little-endian");

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

/// The next multiple of `to`, which must be a power of two.
template <class T>
[[nodiscard]] constexpr T align_up(T value, std::type_identity_t<T> to) noexcept {
    return (value + to - 1) & ~(to - 1);
}

[[nodiscard]] constexpr std::uint64_t ceil_div(std::uint64_t value, std::uint64_t by) noexcept {
    return value / by + (value % by != 0 ? 1 : 0);
}

}  // namespace tricodec
