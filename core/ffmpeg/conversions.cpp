// SPDX-License-Identifier: Apache-2.0
#include "ffmpeg/conversions.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "ffmpeg/pixel_repack.h"
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
    result.pts = packet->pts;
    result.dts = packet->dts;
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

namespace {

struct Fields {
    bool interlaced = false;
    bool top_first = true;
};

#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
Fields fields_of(const AVFrame& frame) noexcept {
    return {(frame.flags & AV_FRAME_FLAG_INTERLACED) != 0, (frame.flags & AV_FRAME_FLAG_TOP_FIELD_FIRST) != 0};
}
void set_fields(AVFrame& frame, Fields fields) noexcept {
    if (fields.interlaced) frame.flags |= AV_FRAME_FLAG_INTERLACED;
    if (fields.interlaced && fields.top_first) frame.flags |= AV_FRAME_FLAG_TOP_FIELD_FIRST;
}
#else
Fields fields_of(const AVFrame& frame) noexcept {
    return {frame.interlaced_frame != 0, frame.top_field_first != 0};
}
void set_fields(AVFrame& frame, Fields fields) noexcept {
    frame.interlaced_frame = fields.interlaced ? 1 : 0;
    frame.top_field_first = fields.interlaced && fields.top_first ? 1 : 0;
}
#endif

Orientation orientation_of(const AVFrame& frame, const StreamFacts& facts) noexcept {
    if (facts.orientation != Orientation{}) return facts.orientation;
    const AVFrameSideData* side = av_frame_get_side_data(&frame, AV_FRAME_DATA_DISPLAYMATRIX);
    if (side == nullptr || side->size < 9 * sizeof(std::int32_t)) return {};
    return ff::to_orientation(reinterpret_cast<const std::int32_t*>(side->data));
}

/// Takes from the container what the bitstream does not state.
ColorDescription merge(ColorDescription bitstream, const ColorDescription& container) noexcept {
    if (bitstream.matrix == ColorMatrix::unspecified) bitstream.matrix = container.matrix;
    if (bitstream.primaries == ColorPrimaries::unspecified) bitstream.primaries = container.primaries;
    if (bitstream.transfer == ColorTransfer::unspecified) bitstream.transfer = container.transfer;
    if (bitstream.range == ColorRange::unspecified) bitstream.range = container.range;
    if (bitstream.chroma_location == ChromaLocation::unspecified) bitstream.chroma_location = container.chroma_location;
    return bitstream;
}

void release_frame(void* opaque, std::uint8_t*) {
    delete static_cast<Frame*>(opaque);
}

}  // namespace

Frame to_frame(ff::FramePtr picture, const StreamFacts& facts) {
    const std::shared_ptr<const AVFrame> decoded(std::move(picture));
    const auto av_format = static_cast<AVPixelFormat>(decoded->format);
    Frame frame;
    frame.format = decoded_format(av_format);
    if (frame.format == PixelFormat::unknown) {
        const char* name = av_get_pix_fmt_name(av_format);
        fail(ErrorCode::unsupported,
             std::string("the video decodes to pixel format '") + (name == nullptr ? "?" : name) +
                 "', which is not supported; transcode it to yuv420p, yuv422p or yuv444p first");
    }
    if (ff::to_pixel_format(av_format) == PixelFormat::unknown) {
        frame = repacked(decoded);
    } else {
        frame.width = decoded->width;
        frame.height = decoded->height;
        for (std::size_t plane = 0; plane < info(frame.format).num_planes; ++plane) {
            frame.planes[plane] = {reinterpret_cast<std::byte*>(decoded->data[plane]), decoded->linesize[plane]};
        }
        frame.owner = decoded;
    }
    frame.pts = decoded->best_effort_timestamp;
    frame.duration = ff::duration(*decoded);
    frame.time_base = facts.time_base;
    frame.color = merge(ff::color_of(*decoded), facts.color);
    frame.sample_aspect_ratio = decoded->sample_aspect_ratio.num != 0 ? ff::to_rational(decoded->sample_aspect_ratio)
                                                                      : facts.sample_aspect_ratio;
    frame.orientation = orientation_of(*decoded, facts);
    const Fields fields = fields_of(*decoded);
    frame.interlaced = fields.interlaced;
    frame.bottom_field_first = fields.interlaced && !fields.top_first;
    frame.corrupt = (decoded->flags & AV_FRAME_FLAG_CORRUPT) != 0 || decoded->decode_error_flags != 0;
    const char type = av_get_picture_type_char(decoded->pict_type);
    frame.picture_type = type == 'I' || type == 'P' || type == 'B' ? type : '?';
    return frame;
}

ff::FramePtr to_av_picture(const Frame& frame) {
    auto picture = ff::make_frame();
    picture->format = ff::to_av(frame.format);
    TRICODEC_EXPECT(picture->format != AV_PIX_FMT_NONE, unsupported,
                    "this FFmpeg has no pixel format '" + std::string(to_string(frame.format)) + "'");
    picture->width = frame.width;
    picture->height = frame.height;
    auto kept = std::make_unique<Frame>(frame);
    const auto size = static_cast<std::size_t>(frame.size_bytes());
    // The buffer only keeps the frame alive. `data` points to the planes, which may be anywhere.
    picture->buf[0] = av_buffer_create(reinterpret_cast<std::uint8_t*>(frame.planes[0].data), size, release_frame,
                                       kept.get(), AV_BUFFER_FLAG_READONLY);
    TRICODEC_EXPECT(picture->buf[0] != nullptr, out_of_memory, "could not allocate a picture");
    kept.release();
    for (std::size_t plane = 0; plane < info(frame.format).num_planes; ++plane) {
        picture->data[plane] = reinterpret_cast<std::uint8_t*>(frame.planes[plane].data);
        picture->linesize[plane] = static_cast<int>(frame.planes[plane].stride_bytes);
    }
    picture->sample_aspect_ratio = ff::to_av(frame.sample_aspect_ratio);
    set_fields(*picture, {frame.interlaced, !frame.bottom_field_first});
    return picture;
}

}  // namespace tricodec
