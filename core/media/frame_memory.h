// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "media/ffmpeg.h"
#include "tricodec/fork.h"

namespace tricodec {

/// Memory for the pictures of one codec context, from host_allocator(): what the decoder of one video gives back, that
/// of the next one takes, without fresh pages. A picture is one block, planes after one another.
///
/// Blocks are cleared when the context first takes them: where damage leaves a part of a picture undecoded, nothing of
/// another video shows; and every time for blank pictures, so that nothing of other pictures does.
///
/// Thread safety: safe, as get_buffer2 with threads needs it.
class FrameMemory {
public:
    FrameMemory() = default;
    ~FrameMemory();
    FrameMemory(const FrameMemory&) = delete;
    FrameMemory& operator=(const FrameMemory&) = delete;

    /// What AVCodecContext::get_buffer2 is to do, for codecs that allow it; libavcodec's own way for others.
    [[nodiscard]] int get(AVCodecContext& context, AVFrame& frame, int flags);
    /// Of all pictures from here on. Before decoding begins.
    void set_blank(bool blank) noexcept { blank_ = blank; }

private:
    [[nodiscard]] AVBufferRef* take(std::size_t size_bytes);

    ForkMark mark_;
    std::mutex mutex_;
    AVBufferPool* pool_ = nullptr;  // frames keep it alive after this object
    std::size_t pool_bytes_ = 0;
    bool blank_ = false;
};

}  // namespace tricodec
