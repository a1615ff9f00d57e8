// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "media/sps.h"
#include "tricodec/media/packet.h"

namespace tricodec {

/// Whether the numbers in the slices of H.264 and HEVC fit the packets' order and times. No decoder reports a damaged
/// one, and it changes which frames come out, and when.
///
/// Of H.264 with whole frames, one parameter set and pic_order_cnt_type 0; of HEVC with parameter sets that agree. Of
/// other streams it knows nothing.
class PictureOrder {
public:
    explicit PictureOrder(const StreamInfo& stream);
    /// Of all packets in their order, from the first or from a key frame on. False if the picture contradicts those
    /// before it.
    [[nodiscard]] bool add(const Packet& packet);

private:
    struct Picture {
        bool whole = false;      ///< its header could be read
        bool restarts = false;   ///< the numbers begin again
        bool is_anchor = false;  ///< numbers of later pictures continue from it
        std::optional<std::uint32_t> frame_num{};
        std::int64_t low = 0;  ///< pic_order_cnt_lsb
    };
    /// Nothing where nothing is known.
    [[nodiscard]] std::optional<Picture> h264_picture(Bytes packet);
    [[nodiscard]] Picture h264_slice(Bytes slice) const;
    [[nodiscard]] std::optional<Picture> hevc_picture(Bytes packet);
    [[nodiscard]] Picture hevc_slice(Bytes slice) const;
    void learn_hevc(Bytes nal);

    CodecId codec_;
    int length_size_ = 0;
    bool known_ = false;
    std::optional<H264Sps> h264_sps_;
    std::optional<HevcSps> hevc_sps_;
    std::optional<HevcPps> hevc_pps_;
    // Of the last anchor; 8.2.1 of H.264, 8.3.1 of HEVC.
    std::optional<std::uint32_t> frame_num_;
    std::int64_t high_ = 0;
    std::int64_t low_ = 0;
    std::deque<std::pair<std::int64_t, std::int64_t>> latest_;  // pictures since a restart: times and places
};

}  // namespace tricodec
