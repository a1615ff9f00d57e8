// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "base/stage_scope.h"
#include "tricodec/tensor/frame.h"

namespace tricodec {

/// The stage of a decoder's call. Its frames are those that the call adds to `decoded`.
class DecodeScope {
public:
    /// `num_packets` are what the call works on; a packet may give no frame, and frames of earlier packets.
    DecodeScope(const std::deque<Frame>& decoded, std::int64_t num_packets) noexcept
        : decoded_(decoded), num_before_(decoded.size()), scope_(Stage::decode, num_packets) {}
    DecodeScope(const DecodeScope&) = delete;
    DecodeScope& operator=(const DecodeScope&) = delete;
    ~DecodeScope() { scope_.set_num_frames(static_cast<std::int64_t>(decoded_.size() - num_before_)); }

private:
    const std::deque<Frame>& decoded_;
    std::size_t num_before_;
    StageScope scope_;
};

}  // namespace tricodec
