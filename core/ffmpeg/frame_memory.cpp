// SPDX-License-Identifier: Apache-2.0
#include "ffmpeg/frame_memory.h"

extern "C" {
#include <libavutil/imgutils.h>
}

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "base/bytes.h"
#include "tricodec/base/buffer.h"

namespace tricodec {
namespace {

constexpr std::size_t kPlaneAlignment = 64;
constexpr std::size_t kPlaneTail = 128;  // decoders may read and write a little past the last row

void release_block(void* opaque, std::uint8_t*) {
    delete static_cast<std::shared_ptr<Buffer>*>(opaque);
}

AVBufferRef* allocate_block(void*, std::size_t size_bytes) {
    try {
        auto block = std::make_unique<std::shared_ptr<Buffer>>(Buffer::allocate(size_bytes));
        auto* data = reinterpret_cast<std::uint8_t*>((*block)->data());
        std::memset(data, 0, size_bytes);
        AVBufferRef* reference = av_buffer_create(data, size_bytes, release_block, block.get(), 0);
        if (reference != nullptr) block.release();
        return reference;
    } catch (...) {
        return nullptr;  // libavcodec reports that memory ran out
    }
}

/// Strides and sizes of the planes as libavcodec lays them out for this codec. False if it has no such layout.
bool plan_planes(AVCodecContext& context, const AVFrame& frame, std::array<int, 4>& strides,
                 std::array<std::size_t, 4>& sizes) {
    const auto format = static_cast<AVPixelFormat>(frame.format);
    int width = frame.width;
    int height = frame.height;
    std::array<int, AV_NUM_DATA_POINTERS> alignment{};
    avcodec_align_dimensions2(&context, &width, &height, alignment.data());
    for (bool aligned = false; !aligned;) {
        // Widened to the next power of two at most, until the rows of every plane start where the codec needs them.
        if (av_image_fill_linesizes(strides.data(), format, width) < 0) return false;
        aligned = true;
        for (std::size_t i = 0; i < strides.size(); ++i) {
            aligned = aligned && (alignment[i] == 0 || strides[i] % alignment[i] == 0);
        }
        width += width & ~(width - 1);
    }
    std::array<std::ptrdiff_t, 4> steps{};
    std::copy(strides.begin(), strides.end(), steps.begin());
    return av_image_fill_plane_sizes(sizes.data(), format, height, steps.data()) >= 0;
}

}  // namespace

FrameMemory::~FrameMemory() {
    if (mark_.in_child()) return;  // a codec's thread may have held the pool's lock
    av_buffer_pool_uninit(&pool_);
}

AVBufferRef* FrameMemory::take(std::size_t size_bytes) {
    std::lock_guard lock(mutex_);
    if (pool_ == nullptr || pool_bytes_ != size_bytes) {
        av_buffer_pool_uninit(&pool_);
        pool_ = av_buffer_pool_init2(size_bytes, nullptr, allocate_block, nullptr);
        pool_bytes_ = size_bytes;
    }
    return pool_ == nullptr ? nullptr : av_buffer_pool_get(pool_);
}

int FrameMemory::get(AVCodecContext& context, AVFrame& frame, int flags) {
    constexpr auto kOther = AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM;
    const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
    const bool direct = (context.codec->capabilities & AV_CODEC_CAP_DR1) != 0;
    std::array<int, 4> strides{};
    std::array<std::size_t, 4> sizes{};
    if (!direct || format == nullptr || (format->flags & kOther) != 0 || !plan_planes(context, frame, strides, sizes)) {
        return avcodec_default_get_buffer2(&context, &frame, flags);
    }
    std::size_t total = 0;
    for (const auto size : sizes) total += size == 0 ? 0 : align_up(size + kPlaneTail, kPlaneAlignment);
    frame.buf[0] = take(total);
    if (frame.buf[0] == nullptr) return AVERROR(ENOMEM);
    std::uint8_t* at = frame.buf[0]->data;
    for (std::size_t i = 0; i < sizes.size() && sizes[i] > 0; ++i) {
        frame.data[i] = at;
        frame.linesize[i] = strides[i];
        at += align_up(sizes[i] + kPlaneTail, kPlaneAlignment);
    }
    frame.extended_data = frame.data;
    return 0;
}

void FrameMemory::free_idle() {
    const std::lock_guard lock(mutex_);
    av_buffer_pool_uninit(&pool_);
}

}  // namespace tricodec
