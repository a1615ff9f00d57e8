// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tricodec/tensor/frame.h"

namespace tricodec {

/// Where the frames of a read go. A frame's position counts the frames of the read.
class FrameSink {
public:
    virtual ~FrameSink() = default;
    /// Takes the frame at `position`. Called by several threads at once, for different positions.
    virtual void put(std::int64_t position, Frame frame) = 0;
    /// Takes memory for the frame at `position`, which its consumer does not wait for yet. False if there is none now.
    [[nodiscard]] virtual bool make_room(std::int64_t /*position*/) { return true; }
    /// The frames were numbered again: the read has `count` frames now, and those from `position` on come again.
    virtual void restart(std::int64_t position, std::int64_t count) = 0;
};

}  // namespace tricodec
