// SPDX-License-Identifier: Apache-2.0
#include "media/h264_order.h"

#include <algorithm>

#include "media/bit_reader.h"
#include "media/stream_info.h"
#include "tricodec/base/rational.h"

namespace tricodec {
namespace {

constexpr unsigned kSlice = 1, kIdr = 5, kSps = 7;  // NAL unit types
constexpr std::size_t kHeaderBytes = 32;            // more than the numbers take
constexpr std::size_t kMostCompared = 32;           // no picture is shown so far from its place

bool is_known(const std::optional<H264Sps>& sps) {
    return sps && sps->frames_only && !sps->separate_planes && sps->order_bits > 0 && sps->frame_num_bits > 0;
}

}  // namespace

H264Order::H264Order(const StreamInfo& stream) {
    if (stream.codec != CodecId::h264) return;
    const Bytes extradata = extradata_of(stream.parameters.get());
    length_size_ = nal_length_size(stream.codec, extradata);
    sps_ = only_h264_sps(extradata);
    if (!is_known(sps_)) sps_.reset();
}

bool H264Order::add(const Packet& packet) {
    if (!sps_) return true;
    Bytes slice;
    for (const auto nal : nals_to_picture(packet.data, length_size_, CodecId::h264)) {
        const unsigned type = nal.empty() ? 0 : byte_at(nal, 0) & 31;
        if (type == kSlice || type == kIdr) slice = nal;
        if (type != kSps || !sps_) continue;
        const auto sps = parse_h264_sps(nal);
        const bool same = is_known(sps) && sps->id == sps_->id && sps->frame_num_bits == sps_->frame_num_bits &&
                          sps->order_bits == sps_->order_bits;
        if (!same) sps_.reset();
    }
    if (!sps_ || slice.empty()) return true;
    const bool is_idr = (byte_at(slice, 0) & 31) == kIdr;
    const auto payload = nal_payload(slice.subspan(1, std::min(slice.size() - 1, kHeaderBytes)));
    BitReader bits(payload);
    for (int i = 0; i < 3; ++i) (void)bits.exp_golomb();  // the first block, the type and the parameter set
    const auto frame_num = bits.bits(sps_->frame_num_bits);
    if (is_idr) {
        (void)bits.exp_golomb();
        latest_.clear();
        frame_num_.reset();
        high_ = low_ = 0;
    }
    const auto low = std::int64_t{bits.bits(sps_->order_bits)};
    if (!bits.ok()) return false;
    const auto steps = (frame_num - frame_num_.value_or(frame_num)) & ((1U << sps_->frame_num_bits) - 1);
    const auto range = std::int64_t{1} << sps_->order_bits;
    const auto high = low_ - low >= range / 2 ? high_ + range : low - low_ > range / 2 ? high_ - range : high_;
    const auto place = high + low;
    const bool is_reference = (byte_at(slice, 0) & 0x60) != 0;
    if (is_reference) {
        frame_num_ = frame_num;
        high_ = high;
        low_ = low;
    }
    const bool fits = packet.pts == kNoTimestamp || std::ranges::all_of(latest_, [&](const auto& other) {
                          return (other.first < packet.pts) == (other.second < place);
                      });
    if (packet.pts != kNoTimestamp) latest_.emplace_back(packet.pts, place);
    if (latest_.size() > kMostCompared) latest_.pop_front();
    return fits && (sps_->allows_gaps || steps <= 1);
}

}  // namespace tricodec
