// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "bitstream/av1_units.h"
#include "bitstream/key_inspector.h"
#include "bitstream/nal.h"
#include "tricodec/io/packet.h"
#include "tricodec/io/stream_info.h"

struct AVCodecContext;
struct AVCodecParserContext;

namespace tricodec {

/// Facts about a packet that its headers state.
struct PacketFacts {
    bool entry = false;               ///< decoding may start here and gives the same frames as decoding from the start
    bool open_entry = false;          ///< an entry that keeps older references; a decoder may report them as missing
    bool shows_frame = true;          ///< one frame of the output comes from it
    bool uncertain = false;           ///< only decoding can tell how many frames come from it
    bool has_parameter_sets = false;  ///< it brings all headers that decoding needs
    bool changes_parameters = false;  ///< it brings headers that differ from those before
    /// One whole picture that no picture of its temporal layer or a lower layer refers to.
    bool non_reference = false;
    /// Of AV1, where it is less than the whole packet and more than nothing: what later pictures may refer to.
    std::size_t referenced_bytes = 0;
    std::optional<SlotUse> slots{};  ///< of AV1, where its headers tell
    bool is_packed = false;          ///< of MPEG-4: it holds several pictures, which come out with later packets
    bool leading = false;            ///< of HEVC: shown before the entry that it follows
    int temporal_layer = 0;          ///< of HEVC; pictures of higher layers may still refer to this one
};

/// Reads packet headers to number frames and to find where decoding can start.
class PacketInspector {
public:
    explicit PacketInspector(const StreamInfo& stream);
    ~PacketInspector();
    [[nodiscard]] PacketFacts inspect(const Packet& packet);

private:
    /// MPEG-1, MPEG-2, MPEG-4.
    void inspect_mpeg(const Packet& packet, PacketFacts& facts);
    void inspect_h264(const Packet& packet, PacketFacts& facts);
    void inspect_hevc(const Packet& packet, PacketFacts& facts);
    void note_parameter_set(int type, Bytes nal, PacketFacts& facts);
    void learn_extradata(Bytes extradata);
    [[nodiscard]] bool is_field(const Packet& packet);

    CodecId codec_;
    KeyInspector keys_;
    std::optional<Av1Units> av1_units_;
    std::int64_t mpeg_anchor_pts_ = kNoTimestamp;  // of the latest picture that is no B picture
    int length_size_ = 0;
    std::map<std::pair<int, unsigned>, std::vector<std::byte>> parameter_sets_;  // by type and first payload byte
    bool warmed_up_ = false;    // the first packet's own headers are no change
    bool frames_only_ = false;  // of H.264: every sequence parameter set so far says that there are no field pictures
    std::shared_ptr<AVCodecContext> context_;
    std::shared_ptr<AVCodecParserContext> parser_;
};

}  // namespace tricodec
