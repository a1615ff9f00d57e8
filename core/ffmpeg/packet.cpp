// SPDX-License-Identifier: Apache-2.0
#include "ffmpeg/packet.h"

#include <cstring>
#include <utility>

#include "tricodec/base/buffer.h"

namespace tricodec {
namespace {
/// Recognised by its deleter's type: packets of other origin carry other owners.
struct OwnedAvPacket {
    void operator()(const AVPacket* packet) const noexcept {
        auto* mine = const_cast<AVPacket*>(packet);
        av_packet_free(&mine);
    }
};
}  // namespace

Packet to_packet(ff::PacketPtr packet, Rational time_base) {
    Packet result;
    result.data = {reinterpret_cast<const std::byte*>(packet->data), static_cast<std::size_t>(packet->size)};
    result.pts = ff::to_timestamp(packet->pts);
    result.dts = ff::to_timestamp(packet->dts);
    result.duration = packet->duration;
    result.pos = packet->pos;
    result.time_base = time_base;
    result.stream_index = packet->stream_index;
    result.key = (packet->flags & AV_PKT_FLAG_KEY) != 0;
    result.discard = (packet->flags & AV_PKT_FLAG_DISCARD) != 0;
    result.corrupt = (packet->flags & AV_PKT_FLAG_CORRUPT) != 0;
    result.owner = std::shared_ptr<const AVPacket>(packet.release(), OwnedAvPacket{});
    return result;
}

const AVPacket* av_packet_of(const Packet& packet) noexcept {
    if (std::get_deleter<OwnedAvPacket>(packet.owner) == nullptr) return nullptr;
    const auto* original = static_cast<const AVPacket*>(packet.owner.get());
    // A caller may have cut or replaced the bytes of a copy.
    const bool same = reinterpret_cast<const std::byte*>(original->data) == packet.data.data() &&
                      static_cast<std::size_t>(original->size) == packet.data.size();
    return same ? original : nullptr;
}

void fill_av_packet(AVPacket& target, const Packet& packet) {
    av_packet_unref(&target);
    if (const AVPacket* original = av_packet_of(packet)) {
        ff::check(av_packet_ref(&target, original), "referring to a packet");
    } else {
        TRICODEC_EXPECT(
            std::in_range<int>(packet.data.size()), refused,
            "a packet of " + std::to_string(packet.data.size()) + " bytes is larger than FFmpeg's 2^31 - 1");
        // Bytes of the caller's: no padding can be assumed, and decoders read past the end.
        ff::check(av_new_packet(&target, static_cast<int>(packet.data.size())), "allocating a packet");
        std::memcpy(target.data, packet.data.data(), packet.data.size());
    }
    target.pts = packet.pts;
    target.dts = packet.dts;
    target.duration = packet.duration;
    target.pos = packet.pos;
    target.flags = (packet.key ? AV_PKT_FLAG_KEY : 0) | (packet.discard ? AV_PKT_FLAG_DISCARD : 0) |
                   (packet.corrupt ? AV_PKT_FLAG_CORRUPT : 0);
}

Packet Packet::copy(std::span<const std::byte> bytes) {
    auto buffer = Buffer::allocate(bytes.size() + AV_INPUT_BUFFER_PADDING_SIZE);
    if (!bytes.empty()) std::memcpy(buffer->data(), bytes.data(), bytes.size());
    std::memset(buffer->data() + bytes.size(), 0, AV_INPUT_BUFFER_PADDING_SIZE);
    Packet packet;
    packet.data = {buffer->data(), bytes.size()};
    packet.owner = std::move(buffer);
    return packet;
}

}  // namespace tricodec
