// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "tricodec/compress.h"

namespace tricodec::compress {

/// Puts like bits of neighbouring elements side by side, as nvCOMP does before LZ4 where it is asked to.
///
/// Note [Bit shuffle]. Each 8 KiB of a chunk by themselves: of every eight elements a byte for each bit, the first
/// element in bit 0; the bytes of one bit stand together, those of the highest bit first, or of the lowest. Elements
/// that make no eight, and bytes that make no element, follow as they are. `output` is as large as `input`.
void shuffle_bits(ByteView input, std::size_t element_bytes, bool highest_first, std::span<std::byte> output);
/// The way back, in place.
void unshuffle_bits(std::span<std::byte> bytes, std::size_t element_bytes, bool highest_first);

}  // namespace tricodec::compress
