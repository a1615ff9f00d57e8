// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "media/ffmpeg.h"
#include "tricodec/base/fork.h"

namespace tricodec {

/// Memory for the pictures of one codec context, from host_allocator(). The decoder of the next video reuses the memory
/// of the last one without new pages. A picture is one block with its planes one after another.
///
/// Blocks are cleared when the context first takes them. So a damaged picture that is not decoded completely never
/// shows another video. Blank pictures are cleared every time, so that they show no other picture, either.
///
/// Note [Gaps]: libavcodec's HEVC decoder reports nothing where a slice ends before its last block, and leaves the rest
/// of the picture as its memory was. VP8's does so where the data of a picture end, and MPEG-4's in some B pictures.
/// H.264's may report a lost slice only when it returns the picture. So that memory has marks at the right end of every
/// row of the smallest blocks, which are 16 rows high. A decoded picture has overwritten all of them. They are away
/// from the rows that filters change when they decode the blocks below. Pictures that refer to one with a gap may be
/// returned before it, and may copy its marks. So the first picture that is returned after a gap was decoded is
/// reported, too.
///
/// Thread safety: safe, as get_buffer2 with threads needs it.
class FrameMemory {
public:
    FrameMemory() = default;
    ~FrameMemory();
    FrameMemory(const FrameMemory&) = delete;
    FrameMemory& operator=(const FrameMemory&) = delete;

    /// Implements AVCodecContext::get_buffer2. Codecs that do not allow it get libavcodec's own memory.
    [[nodiscard]] int get(AVCodecContext& context, AVFrame& frame, int flags);
    /// True if parts of a returned picture, or of one decoded before it, were not decoded. Note [Gaps]; false for
    /// codecs other than H.264, HEVC, VP8 and MPEG-4. Asks about a picture that is not returned yet once.
    [[nodiscard]] bool has_gap(const AVCodecContext& context, const AVFrame& frame);
    /// To be called when the codec is flushed.
    void forget_pictures();
    /// Gives up the memory of pictures that are not in use.
    void free_idle();
    /// For all pictures. To be called before decoding begins.
    void set_blank(bool blank) noexcept { blank_ = blank; }

private:
    /// A picture with marks that were not looked at. It holds the memory, so that no other picture has it meanwhile.
    struct Picture {
        ff::BufferPtr memory;
        std::vector<std::uint8_t*> marks;
        std::ptrdiff_t row_bytes;
        std::int64_t pts;  // of its packet
        std::int64_t dts;
    };

    [[nodiscard]] AVBufferRef* take(std::size_t size_bytes);

    ForkMark mark_;
    std::mutex mutex_;
    AVBufferPool* pool_ = nullptr;  // frames keep it alive after this object
    std::size_t pool_bytes_ = 0;
    std::deque<Picture> pictures_;  // in the order of decoding
    bool blank_ = false;
};

}  // namespace tricodec
