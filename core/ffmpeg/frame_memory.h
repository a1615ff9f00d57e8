// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <mutex>

#include "ffmpeg/ffmpeg.h"
#include "tricodec/base/fork.h"

namespace tricodec {

/// Memory for the pictures of one codec context, from host_allocator(). The decoder of the next video reuses the memory
/// of the last one without new pages. A picture is one block with its planes one after another.
///
/// Blocks are cleared when the context first takes them. So a damaged picture that is not decoded completely never
/// shows another video.
///
/// Thread safety: safe, as get_buffer2 with threads needs it.
class FrameMemory {
public:
    FrameMemory() = default;
    ~FrameMemory();

    /// Implements AVCodecContext::get_buffer2. Codecs that do not allow it get libavcodec's own memory.
    [[nodiscard]] int get(AVCodecContext& context, AVFrame& frame, int flags);
    /// Gives up the memory of pictures that are not in use.
    void free_idle();

private:
    [[nodiscard]] AVBufferRef* take(std::size_t size_bytes);

    ForkMark mark_;
    std::mutex mutex_;
    AVBufferPool* pool_ = nullptr;  // frames keep it alive after this object
    std::size_t pool_bytes_ = 0;
};

}  // namespace tricodec
