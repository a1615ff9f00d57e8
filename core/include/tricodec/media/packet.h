// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tricodec/base/rational.h"

namespace tricodec {

/// One access unit of a stream. Copies share the bytes, which stay valid as long as one of them lives.
struct Packet {
    std::span<const std::byte> data;
    std::int64_t pts = kNoTimestamp;  ///< in time_base units
    std::int64_t dts = kNoTimestamp;  ///< in time_base units
    std::int64_t duration = 0;        ///< in time_base units, 0 unknown
    std::int64_t pos = -1;            ///< byte position in the file, -1 unknown
    Rational time_base{};
    int stream_index = 0;
    bool key = false;      ///< as the container flags it; Frame::key says what the codec's headers say
    bool discard = false;  ///< decoded for its references only, not shown (edit lists)
    bool corrupt = false;
    std::shared_ptr<const void> owner;

    /// A packet over a copy of `bytes`, padded as decoders need it.
    [[nodiscard]] static Packet copy(std::span<const std::byte> bytes);
};

}  // namespace tricodec
