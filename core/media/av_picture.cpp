// SPDX-License-Identifier: Apache-2.0
#include "media/av_picture.h"

#include <memory>
#include <string>

namespace tricodec {
namespace {
void release_frame(void* opaque, std::uint8_t*) {
    delete static_cast<Frame*>(opaque);
}
}  // namespace

ff::FramePtr to_av_picture(const Frame& frame) {
    auto picture = ff::make_frame();
    picture->format = ff::to_av(frame.format);
    TRICODEC_EXPECT(picture->format != AV_PIX_FMT_NONE, unsupported,
                    "this FFmpeg has no pixel format '" + std::string(to_string(frame.format)) + "'");
    picture->width = frame.width;
    picture->height = frame.height;
    auto kept = std::make_unique<Frame>(frame);
    const auto size = static_cast<std::size_t>(frame.size_bytes());
    // The buffer only stands for the ownership: planes may lie anywhere, and are found by `data`.
    picture->buf[0] = av_buffer_create(reinterpret_cast<std::uint8_t*>(frame.planes[0].data), size, release_frame,
                                       kept.get(), AV_BUFFER_FLAG_READONLY);
    TRICODEC_EXPECT(picture->buf[0] != nullptr, out_of_memory, "could not allocate a picture");
    kept.release();
    for (std::size_t plane = 0; plane < info(frame.format).num_planes; ++plane) {
        picture->data[plane] = reinterpret_cast<std::uint8_t*>(frame.planes[plane].data);
        picture->linesize[plane] = static_cast<int>(frame.planes[plane].stride_bytes);
    }
    picture->sample_aspect_ratio = ff::to_av(frame.sample_aspect_ratio);
    return picture;
}

}  // namespace tricodec
