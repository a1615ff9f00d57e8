// SPDX-License-Identifier: Apache-2.0
#include "bitstream/packet_inspector.h"

#include <algorithm>
#include <utility>

#include "bitstream/nal.h"
#include "bitstream/sps.h"
#include "bitstream/vp9_frames.h"
#include "ffmpeg/conversions.h"
#include "ffmpeg/ffmpeg.h"
#include "ffmpeg/stream_info.h"

namespace tricodec {
namespace {

constexpr unsigned kMpegTypeB = 3, kMpeg4TypeB = 2;

/// Frames that a VP9 packet shows; a superframe holds several, most of them hidden. -1 when it cannot be read.
int vp9_shown_in_packet(Bytes packet) {
    const auto frames = vp9_frames(packet);
    if (!frames) return -1;
    int shown = 0;
    for (const auto frame : *frames) {
        const auto header = parse_vp9_header(frame);
        if (!header) return -1;
        shown += header->shown ? 1 : 0;
    }
    return shown;
}

struct MpegPictures {
    int num = 0;
    bool all_b = true;  ///< no picture of these codecs refers to a B picture
};

MpegPictures mpeg_pictures(CodecId codec, Bytes packet) {
    const bool mpeg4 = codec == CodecId::mpeg4;
    MpegPictures pictures;
    for_each_nal(packet, 0, [&](Bytes unit) {
        if (byte_at(unit, 0) != (mpeg4 ? kMpeg4Vop : kMpegPicture)) return;
        ++pictures.num;
        const std::size_t type_at = mpeg4 ? 1 : 2;  // after the 10 bits of temporal_reference
        const unsigned type = unit.size() <= type_at ? 0
                              : mpeg4                ? byte_at(unit, type_at) >> 6
                                                     : byte_at(unit, type_at) >> 3 & 7;
        pictures.all_b = pictures.all_b && type == (mpeg4 ? kMpeg4TypeB : kMpegTypeB);
    });
    return pictures;
}

}  // namespace

PacketInspector::PacketInspector(const StreamInfo& stream) : codec_(stream.codec), keys_(stream) {
    const Bytes extradata = extradata_of(stream.parameters.get());
    if (codec_ == CodecId::av1) av1_units_.emplace(extradata);
    length_size_ = nal_length_size(codec_, extradata);
    if (codec_ == CodecId::h264) {
        context_.reset(avcodec_alloc_context3(nullptr), [](AVCodecContext* mine) { avcodec_free_context(&mine); });
        parser_.reset(av_parser_init(AV_CODEC_ID_H264), [](AVCodecParserContext* mine) {
            if (mine != nullptr) av_parser_close(mine);
        });
        TRICODEC_EXPECT(context_ != nullptr && parser_ != nullptr, out_of_memory, "could not allocate a parser");
        if (stream.parameters) avcodec_parameters_to_context(context_.get(), stream.parameters.get());
        parser_->flags |= PARSER_FLAG_COMPLETE_FRAMES;
        if (const auto sps = only_h264_sps(extradata)) frames_only_ = sps->frames_only;
    }
    learn_extradata(extradata);
}

PacketInspector::~PacketInspector() = default;

void PacketInspector::learn_extradata(Bytes extradata) {
    if (length_size_ > 0 || extradata.empty())
        return;  // avcC's and hvcC's sets are compared when a packet repeats them
    PacketFacts ignored;
    for_each_nal(extradata, 0, [&](Bytes nal) {
        const unsigned type = codec_ == CodecId::h264 ? h264_nal::type_of(nal) : hevc_nal::type_of(nal);
        if (is_parameter_set(codec_, nal)) note_parameter_set(static_cast<int>(type), nal, ignored);
    });
}

PacketFacts PacketInspector::inspect(const Packet& packet) {
    PacketFacts facts;
    // Containers without a list of key frames say that all packets are some.
    facts.entry = packet.key && (codec_ == CodecId::av1 || keys_.is_key(packet));
    facts.shows_frame = !packet.discard;
    if (packet.data.empty() || packet.corrupt) facts.uncertain = true;
    if (const AVPacket* original = av_packet_of(packet)) {
        for (int i = 0; i < original->side_data_elems; ++i) {
            const auto type = original->side_data[i].type;
            if (type == AV_PKT_DATA_NEW_EXTRADATA || type == AV_PKT_DATA_PARAM_CHANGE) facts.changes_parameters = true;
            if (type != AV_PKT_DATA_PALETTE) continue;
            const auto* palette = reinterpret_cast<const std::byte*>(original->side_data[i].data);
            note_parameter_set(type, {palette, original->side_data[i].size}, facts);
        }
    }
    if (packet.data.empty()) return facts;
    switch (codec_) {
        case CodecId::h264:
            inspect_h264(packet, facts);
            break;
        case CodecId::hevc:
            inspect_hevc(packet, facts);
            break;
        case CodecId::vp8:
            facts.shows_frame = facts.shows_frame && (byte_at(packet.data, 0) >> 4 & 1) != 0;
            facts.has_parameter_sets = facts.entry;
            break;
        case CodecId::vp9: {
            const int shown = vp9_shown_in_packet(packet.data);
            facts.shows_frame = facts.shows_frame && shown > 0;
            facts.uncertain = facts.uncertain || shown < 0 || shown > 1;
            break;
        }
        case CodecId::mpeg4:
            facts.uncertain = facts.uncertain || packet.data.size() < kSmallestMpeg4Picture;
            inspect_mpeg(packet, facts);
            break;
        case CodecId::mpeg1:
        case CodecId::mpeg2:
            inspect_mpeg(packet, facts);
            break;
        case CodecId::av1: {
            const auto unit = av1_units_->inspect(packet.data);
            facts.entry = facts.entry && unit.key;
            facts.non_reference = unit.referenced_bytes == 0;
            if (unit.referenced_bytes < packet.data.size()) facts.referenced_bytes = unit.referenced_bytes;
            facts.slots = unit.slots;
            facts.uncertain = facts.uncertain || !unit.shows_one;  // as where a wrong size joins packets
            facts.has_parameter_sets = facts.entry;
            break;
        }
        case CodecId::mjpeg:
            break;
        default:
            facts.uncertain = true;  // skipped frames are not told apart without decoding
    }
    if (packet.key || facts.uncertain) {
        facts.non_reference = false;
        facts.referenced_bytes = 0;
    }
    warmed_up_ = true;
    return facts;
}

void PacketInspector::inspect_mpeg(const Packet& packet, PacketFacts& facts) {
    const auto [num, all_b] = mpeg_pictures(codec_, packet.data);
    // Two in an MPEG-2 packet are the fields of a frame; in MPEG-4 ("packed") the second is another frame.
    facts.is_packed = codec_ == CodecId::mpeg4 && num > 1;
    // With the pictures before it, the packet of a key frame is decoded otherwise.
    facts.entry = facts.entry && !facts.is_packed;
    facts.non_reference = all_b && num >= 1 && num <= 2;
    facts.uncertain = facts.uncertain || facts.is_packed;
    if (num == 0 || packet.pts == kNoTimestamp) return;
    // B pictures are shown before the other kind that they follow, and those in their order.
    const bool is_late = all_b ? packet.pts >= mpeg_anchor_pts_ : packet.pts <= mpeg_anchor_pts_ && !packet.key;
    facts.uncertain = facts.uncertain || (mpeg_anchor_pts_ != kNoTimestamp && is_late);
    if (!all_b) mpeg_anchor_pts_ = packet.pts;
}

void PacketInspector::inspect_h264(const Packet& packet, PacketFacts& facts) {
    bool has_idr = false;
    bool has_slice = false;
    bool has_sps = false;
    bool has_pps = false;
    bool has_reference = false;
    int recovery = -1;
    const bool split = for_each_nal(packet.data, length_size_, [&](Bytes nal) {
        const unsigned type = h264_nal::type_of(nal);
        has_idr = has_idr || type == h264_nal::kIdr;
        if (h264_nal::is_slice(type)) {
            has_slice = true;
            has_reference = has_reference || h264_nal::is_reference(nal);
        }
        has_sps = has_sps || type == h264_nal::kSps;
        has_pps = has_pps || type == h264_nal::kPps;
        if (type == h264_nal::kSps && frames_only_) {
            const auto sps = parse_h264_sps(nal);
            frames_only_ = sps && sps->frames_only;
        }
        if (type == h264_nal::kSei && recovery < 0) recovery = h264_recovery_frame_count(nal);
        if (h264_nal::is_parameter_set(type)) note_parameter_set(static_cast<int>(type), nal, facts);
        if (type == h264_nal::kEndOfSequence || type == h264_nal::kEndOfStream) facts.uncertain = true;
    });
    // The parser takes more time than all other inspection.
    facts.uncertain = facts.uncertain || !split || !has_slice || (!frames_only_ && is_field(packet));
    // A container may call any I picture a key frame; only IDR and an immediate recovery point promise exact frames.
    facts.entry = split && (has_idr || (packet.key && recovery == 0));
    facts.open_entry = facts.entry && !has_idr;
    facts.has_parameter_sets = has_sps && has_pps;
    facts.non_reference = has_slice && !has_reference && !has_sps && !has_pps;
}

void PacketInspector::inspect_hevc(const Packet& packet, PacketFacts& facts) {
    bool has_irap = false;
    bool has_slice = false;
    bool has_reference = false;
    unsigned sets = 0;
    const bool split = for_each_nal(packet.data, length_size_, [&](Bytes nal) {
        const unsigned type = hevc_nal::type_of(nal);
        const bool is_irap = hevc_nal::is_irap(type) && type <= hevc_nal::kCra;  // decoders skip reserved types
        has_irap = has_irap || is_irap;
        const bool drops = is_irap && nal.size() > hevc_nal::kHeaderBytes &&
                           (byte_at(nal, hevc_nal::kHeaderBytes) & 0x40) != 0;  // no_output_of_prior_pics_flag
        facts.uncertain = facts.uncertain || (drops && warmed_up_);
        if (hevc_nal::is_slice(type)) {
            has_slice = true;
            has_reference = has_reference || !hevc_nal::is_non_reference(type);
            facts.leading = facts.leading || hevc_nal::is_leading(type);
            const int layer = nal.size() > 1 ? hevc_nal::temporal_layer(nal) : 0;
            facts.temporal_layer = std::max(facts.temporal_layer, layer);
        }
        if (hevc_nal::is_parameter_set(type)) {
            sets |= 1u << (type - hevc_nal::kVps);
            note_parameter_set(static_cast<int>(type), nal, facts);
        }
        if (type == hevc_nal::kEndOfSequence || type == hevc_nal::kEndOfStream) facts.uncertain = true;
    });
    facts.uncertain = facts.uncertain || !split || !has_slice;
    facts.entry = split && has_irap;
    facts.has_parameter_sets = sets == 7;
    facts.non_reference = has_slice && !has_reference && sets == 0;
}

void PacketInspector::note_parameter_set(int type, Bytes nal, PacketFacts& facts) {
    // Sets are told apart by type and the first bytes, which hold the id (and, in an SPS, profile and level).
    const bool is_h264_sps = codec_ == CodecId::h264 && type == static_cast<int>(h264_nal::kSps);
    const std::size_t id_at = codec_ == CodecId::hevc ? 2 : is_h264_sps ? 4 : 1;
    const unsigned id = nal.size() > id_at ? byte_at(nal, id_at) : 0;
    auto [it, is_new] = parameter_sets_.try_emplace({type, id}, nal.begin(), nal.end());
    if (is_new) {
        facts.changes_parameters = facts.changes_parameters || warmed_up_;
    } else if (!std::equal(it->second.begin(), it->second.end(), nal.begin(), nal.end())) {
        it->second.assign(nal.begin(), nal.end());
        facts.changes_parameters = true;
    }
}

bool PacketInspector::is_field(const Packet& packet) {
    std::uint8_t* out = nullptr;
    int out_size = 0;
    // Without padding the parser could read past a caller's bytes; packets of a Demuxer are padded.
    const auto* data = reinterpret_cast<const std::uint8_t*>(packet.data.data());
    av_parser_parse2(parser_.get(), context_.get(), &out, &out_size, data, static_cast<int>(packet.data.size()),
                     packet.pts, packet.dts, packet.pos);
    return parser_->picture_structure == AV_PICTURE_STRUCTURE_TOP_FIELD ||
           parser_->picture_structure == AV_PICTURE_STRUCTURE_BOTTOM_FIELD;
}

}  // namespace tricodec
