// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "media/sps.h"
#include "tricodec/media/packet.h"

namespace tricodec {

/// Whether the numbers in the slices of H.264 fit the packets' order and times. No decoder reports a damaged one, and
/// it changes which frames come out, and when.
///
/// Of streams of whole frames with one parameter set and pic_order_cnt_type 0. Of others it knows nothing.
class H264Order {
public:
    explicit H264Order(const StreamInfo& stream);
    /// Of all packets in their order. False if its picture contradicts those before it.
    [[nodiscard]] bool add(const Packet& packet);

private:
    int length_size_ = 0;
    std::optional<H264Sps> sps_;  // nothing where nothing is known
    // Of the last reference picture; 8.2.1 of H.264.
    std::optional<std::uint32_t> frame_num_;
    std::int64_t high_ = 0;
    std::int64_t low_ = 0;
    std::deque<std::pair<std::int64_t, std::int64_t>> latest_;  // pictures since an IDR picture: times and places
};

}  // namespace tricodec
