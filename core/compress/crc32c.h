// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tricodec/compress.h"

namespace tricodec::compress {

/// CRC-32C (RFC 3720, B.4) of bytes that follow those with the checksum `before`; 0 to begin.
[[nodiscard]] std::uint32_t crc32c(ByteView bytes, std::uint32_t before = 0) noexcept;

}  // namespace tricodec::compress
