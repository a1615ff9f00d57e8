// SPDX-License-Identifier: Apache-2.0
#include "bitstream/picture_areas.h"

#include "bitstream/nal.h"
#include "bitstream/sps.h"
#include "ffmpeg/ffmpeg.h"
#include "io/bit_reader.h"

namespace tricodec {
namespace {

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
    const std::size_t header_bytes = hevc ? hevc_nal::kHeaderBytes : 1;
    for (const auto nal : nals_to_picture(annexb, 0, codec_)) {
        if (nal.size() <= header_bytes) continue;
        const unsigned type = hevc ? hevc_nal::type_of(nal) : h264_nal::type_of(nal);
        if (hevc && !hevc_nal::is_base_layer(nal)) continue;
        if (type == (hevc ? hevc_nal::kSps : h264_nal::kSps)) learn_sequence(nal);
        if (type == (hevc ? hevc_nal::kPps : h264_nal::kPps)) {
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
