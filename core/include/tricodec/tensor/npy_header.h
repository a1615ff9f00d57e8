// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tricodec {

/// The bytes before the elements of a .npy file, and of compressed arrays that carry their dtype and shape: numpy's own
/// format (NEP 1), so numpy.load reads the result of any decompressor.
struct NpyHeader {
    std::string typestr;              ///< numpy's array protocol string: "<f4", "|u1"
    std::size_t item_bytes = 0;       ///< of an element
    std::vector<std::int64_t> shape;  ///< in C order
    std::size_t header_bytes = 0;     ///< where the elements begin
};

/// No header that is accepted is longer; numpy has the same bound.
inline constexpr std::size_t kLargestNpyHeader = 12 + 10000;

/// The bytes that numpy.save writes before the elements of an array in C order.
[[nodiscard]] std::vector<std::byte> make_npy_header(std::string_view typestr, std::span<const std::int64_t> shape);

/// Reads the header from the first bytes of a file of `total_bytes`: kLargestNpyHeader of them, or all if there are
/// fewer. Throws Error(corrupt_data) if it is damaged or the file has not the bytes that it promises,
/// Error(unsupported) for elements of several fields, objects, big-endian ones and Fortran order.
[[nodiscard]] NpyHeader read_npy_header(std::span<const std::byte> start, std::uint64_t total_bytes);

}  // namespace tricodec
