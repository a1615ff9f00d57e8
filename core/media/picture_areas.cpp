// SPDX-License-Identifier: Apache-2.0
#include "media/picture_areas.h"

#include "media/bit_reader.h"
#include "media/ffmpeg.h"
#include "media/sps.h"

namespace tricodec {
namespace {

constexpr unsigned kH264Sps = 7, kH264Pps = 8, kHevcSps = 33, kHevcPps = 34;

template <typename Sps>
PictureArea area_of(const Sps& sps) {
    return {sps.crop_left, sps.crop_top, sps.coded_width - sps.crop_left - sps.crop_right,
            sps.coded_height - sps.crop_top - sps.crop_bottom};
}

}  // namespace

PictureAreas::PictureAreas(const StreamInfo& stream) : codec_(stream.codec) {
    if (codec_ != CodecId::h264 || !stream.parameters) return;
    container_width_ = stream.parameters->width;
    container_height_ = stream.parameters->height;
}

void PictureAreas::learn(Bytes annexb) {
    const bool hevc = codec_ == CodecId::hevc;
    const std::size_t header_bytes = hevc ? 2 : 1;
    for (const auto nal : nals_to_picture(annexb, 0, codec_)) {
        if (nal.size() <= header_bytes) continue;
        const unsigned first = byte_at(nal, 0);
        const unsigned type = hevc ? first >> 1 & 63 : first & 31;
        const bool base_layer = !hevc || ((first & 1) == 0 && byte_at(nal, 1) >> 3 == 0);
        if (!base_layer) continue;
        if (type == (hevc ? kHevcSps : kH264Sps)) learn_sequence(nal);
        if (type == (hevc ? kHevcPps : kH264Pps)) {
            const auto payload = nal_payload(nal.subspan(header_bytes));
            BitReader bits(payload);
            const auto id = bits.exp_golomb();
            const auto sequence_set = bits.exp_golomb();
            if (bits.ok() && id < 256) sequence_sets_[id] = sequence_set;
        }
    }
}

void PictureAreas::learn_sequence(Bytes nal) {
    constexpr unsigned kMostSets = 32;
    if (codec_ == CodecId::hevc) {
        if (const auto sps = parse_hevc_sps(nal); sps && sps->id < kMostSets) by_sequence_set_[sps->id] = area_of(*sps);
    } else {
        if (const auto sps = parse_h264_sps(nal); sps && sps->id < kMostSets) by_sequence_set_[sps->id] = area_of(*sps);
    }
}

std::optional<PictureArea> PictureAreas::of(unsigned picture_set) {
    const auto sequence_set = sequence_sets_.find(picture_set);
    if (sequence_set == sequence_sets_.end()) return std::nullopt;
    const auto area = by_sequence_set_.find(sequence_set->second);
    if (area == by_sequence_set_.end()) return std::nullopt;
    return cut_by_container(area->second);
}

PictureArea PictureAreas::cut_by_container(const PictureArea& area) {
    const auto blocks = [](int samples) { return (samples + 15) / 16; };
    const bool fits = container_width_ > 0 && container_height_ > 0 && area.left == 0 && area.top == 0 &&
                      blocks(container_width_) == blocks(area.width) &&
                      blocks(container_height_) == blocks(area.height) && container_width_ <= area.width &&
                      container_height_ <= area.height;
    if (fits) return {0, 0, container_width_, container_height_};
    container_width_ = container_height_ = 0;
    return area;
}

}  // namespace tricodec
