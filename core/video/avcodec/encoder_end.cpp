// SPDX-License-Identifier: Apache-2.0
#include "video/avcodec/encoder_end.h"

#include <cstring>
#include <string_view>

namespace tricodec {
namespace {

ff::FramePtr blank(const AVCodecContext& context) {
    ff::FramePtr picture(av_frame_alloc());
    if (!picture) return nullptr;
    picture->format = context.pix_fmt;
    picture->width = context.width;
    picture->height = context.height;
    if (av_frame_get_buffer(picture.get(), 0) < 0) return nullptr;
    for (const AVBufferRef* buffer : picture->buf) {
        if (buffer != nullptr) std::memset(buffer->data, 0, buffer->size);
    }
    picture->pts = 0;
    return picture;
}

}  // namespace

void end_before_close(AVCodecContext& context, bool has_pictures, bool has_end) noexcept {
    if (std::string_view(context.codec->name) != "libsvtav1") return;
    if (!has_pictures) {
        const auto picture = blank(context);
        if (!picture || avcodec_send_frame(&context, picture.get()) < 0) return;
    }
    const ff::PacketPtr packet(av_packet_alloc());
    if (!packet) return;
    int code = has_end ? 0 : avcodec_send_frame(&context, nullptr);
    while (code == 0 || code == AVERROR(EAGAIN)) {
        const int received = avcodec_receive_packet(&context, packet.get());
        if (received < 0) return;
        av_packet_unref(packet.get());
        if (code == AVERROR(EAGAIN)) code = avcodec_send_frame(&context, nullptr);  // the queue was full
    }
}

}  // namespace tricodec
