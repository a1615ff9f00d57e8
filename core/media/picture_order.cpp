// SPDX-License-Identifier: Apache-2.0
#include "media/picture_order.h"

#include <algorithm>

#include "media/bit_reader.h"
#include "media/nal_types.h"
#include "media/stream_info.h"
#include "tricodec/base/rational.h"

namespace tricodec {
namespace {

constexpr std::size_t kHeaderBytes = 32;   // more than the numbers take
constexpr std::size_t kMostCompared = 32;  // no picture is shown so far from its place

bool is_known(const std::optional<H264Sps>& sps) {
    return sps && sps->frames_only && !sps->separate_planes && sps->order_bits > 0 && sps->frame_num_bits > 0;
}

}  // namespace

PictureOrder::PictureOrder(const StreamInfo& stream) : codec_(stream.codec) {
    const Bytes extradata = extradata_of(stream.parameters.get());
    length_size_ = nal_length_size(codec_, extradata);
    if (codec_ == CodecId::h264) {
        h264_sps_ = only_h264_sps(extradata);
        known_ = is_known(h264_sps_);
    } else if (codec_ == CodecId::hevc) {
        known_ = true;
        for_each_hevc_set(extradata, [this](Bytes nal) { learn_hevc(nal); });
    }
}

void PictureOrder::learn_hevc(Bytes nal) {
    if (nal.empty()) return;
    if (hevc_nal::type_of(nal) == hevc_nal::kSps) {
        const auto sps = parse_hevc_sps(nal);
        known_ = known_ && sps && sps->order_bits > 0 && (!hevc_sps_ || sps->order_bits == hevc_sps_->order_bits) &&
                 !sps->separate_planes;
        hevc_sps_ = sps;
    } else if (hevc_nal::type_of(nal) == hevc_nal::kPps) {
        const auto pps = parse_hevc_pps(nal);
        known_ = known_ && pps && (!hevc_pps_ || *pps == *hevc_pps_);
        hevc_pps_ = pps;
    }
}

std::optional<PictureOrder::Picture> PictureOrder::h264_picture(Bytes packet) {
    Bytes slice;
    for (const auto nal : nals_to_picture(packet, length_size_, codec_)) {
        const unsigned type = nal.empty() ? 0 : h264_nal::type_of(nal);
        if (type == h264_nal::kSlice || type == h264_nal::kIdr) slice = nal;
        if (type != h264_nal::kSps) continue;
        const auto sps = parse_h264_sps(nal);
        known_ = known_ && is_known(sps) && sps->id == h264_sps_->id &&
                 sps->frame_num_bits == h264_sps_->frame_num_bits && sps->order_bits == h264_sps_->order_bits;
    }
    if (!known_ || slice.empty()) return std::nullopt;
    return h264_slice(slice);
}

PictureOrder::Picture PictureOrder::h264_slice(Bytes slice) const {
    Picture picture;
    picture.restarts = h264_nal::type_of(slice) == h264_nal::kIdr;
    picture.is_anchor = h264_nal::is_reference(slice);
    const auto payload = nal_payload(slice.subspan(1, std::min(slice.size() - 1, kHeaderBytes)));
    BitReader bits(payload);
    (void)bits.exp_golomb();  // the first block
    (void)bits.exp_golomb();  // the type
    (void)bits.exp_golomb();  // the parameter set
    picture.frame_num = bits.bits(h264_sps_->frame_num_bits);
    if (picture.restarts) (void)bits.exp_golomb();  // idr_pic_id
    picture.low = bits.bits(h264_sps_->order_bits);
    picture.whole = bits.ok();
    return picture;
}

std::optional<PictureOrder::Picture> PictureOrder::hevc_picture(Bytes packet) {
    Bytes slice;
    for (const auto nal : nals_to_picture(packet, length_size_, codec_)) {
        if (nal.size() <= hevc_nal::kHeaderBytes) continue;
        learn_hevc(nal);
        if (hevc_nal::is_slice(hevc_nal::type_of(nal))) slice = nal;
    }
    if (!known_ || !hevc_sps_ || !hevc_pps_ || slice.empty()) return std::nullopt;
    if (!hevc_nal::is_base_layer(slice)) return std::nullopt;
    return hevc_slice(slice);
}

PictureOrder::Picture PictureOrder::hevc_slice(Bytes slice) const {
    const unsigned type = hevc_nal::type_of(slice);
    const bool is_irap = hevc_nal::is_irap(type);
    Picture picture;
    picture.restarts = is_irap && type <= hevc_nal::kIdrWithoutLeading;  // IDR and broken links
    picture.is_anchor =
        hevc_nal::temporal_layer(slice) == 0 && !hevc_nal::is_leading(type) && !hevc_nal::is_non_reference(type);
    const auto payload = nal_payload(
        slice.subspan(hevc_nal::kHeaderBytes, std::min(slice.size() - hevc_nal::kHeaderBytes, kHeaderBytes)));
    BitReader bits(payload);
    if (!bits.flag()) return picture;  // not the first slice: that one is lost
    if (is_irap) bits.skip(1);         // no_output_of_prior_pics_flag
    (void)bits.exp_golomb();           // the parameter set
    bits.skip(hevc_pps_->num_extra_bits);
    (void)bits.exp_golomb();  // the type
    if (hevc_pps_->has_output_flag) bits.skip(1);
    if (!hevc_nal::is_idr(type)) picture.low = bits.bits(hevc_sps_->order_bits);
    picture.whole = bits.ok();
    return picture;
}

bool PictureOrder::add(const Packet& packet) {
    if (!known_) return true;
    auto picture = codec_ == CodecId::h264 ? h264_picture(packet.data) : hevc_picture(packet.data);
    if (!picture) return true;
    if (!picture->whole) return false;
    if (picture->restarts) {
        latest_.clear();
        frame_num_.reset();
        high_ = low_ = 0;
    }
    const int num_bits = codec_ == CodecId::h264 ? h264_sps_->order_bits : hevc_sps_->order_bits;
    const auto range = std::int64_t{1} << num_bits;
    const auto low = picture->low;
    const auto high = low_ - low >= range / 2 ? high_ + range : low - low_ > range / 2 ? high_ - range : high_;
    const auto place = high + low;
    bool follows = true;
    if (const auto frame_num = picture->frame_num) {
        const auto steps = (*frame_num - frame_num_.value_or(*frame_num)) & ((1U << h264_sps_->frame_num_bits) - 1);
        follows = h264_sps_->allows_gaps || steps <= 1;
    }
    if (picture->is_anchor) {
        frame_num_ = picture->frame_num;
        high_ = high;
        low_ = low;
    }
    if (packet.pts == kNoTimestamp) return follows;
    const bool fits = std::ranges::all_of(
        latest_, [&](const auto& other) { return (other.first < packet.pts) == (other.second < place); });
    latest_.emplace_back(packet.pts, place);
    if (latest_.size() > kMostCompared) latest_.pop_front();
    return fits && follows;
}

}  // namespace tricodec
