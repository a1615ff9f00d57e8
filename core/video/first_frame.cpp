// SPDX-License-Identifier: Apache-2.0
#include "video/first_frame.h"

#include "media/packet_inspector.h"

namespace tricodec {
namespace {

/// True if no picture after this one is shown before it.
bool is_shown_first(PacketFeed& feed, PacketInspector& inspector, const Packet& packet) {
    const auto facts = inspector.inspect(packet);
    if (!facts.entry || facts.open_entry || !facts.shows_frame || facts.uncertain) return false;
    switch (feed.stream().codec) {
        case Codec::h264:  // an IDR picture: numbering starts anew
        case Codec::vp8:
        case Codec::vp9:
        case Codec::av1:
        case Codec::mjpeg:
            return true;
        case Codec::hevc: {  // leading pictures, if any, come at once
            const auto next = feed.read(1, nullptr);
            return !next || !inspector.inspect(*next).leading;
        }
        default:
            return false;
    }
}

}  // namespace

std::optional<Frame> decode_first_frame(PacketFeed& feed, DecoderPool& pool) {
    const auto packet = feed.read(0, nullptr);
    if (!packet) return std::nullopt;
    PacketInspector inspector(feed.stream());
    if (!is_shown_first(feed, inspector, *packet)) return std::nullopt;
    auto decoder = pool.acquire(1, true);
    decoder->send(*packet, 0);
    decoder->send_end();
    auto frame = decoder->receive();
    const bool whole = frame && !frame->corrupt && decoder->num_issues() == 0 && !decoder->receive();
    pool.release(std::move(decoder), 1, whole);  // damage is told by the path that deals with it
    if (!whole) return std::nullopt;
    frame->index = 0;
    return frame;
}

}  // namespace tricodec
