// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "media/ffmpeg.h"
#include "tricodec/fork.h"

namespace tricodec {

/// An open decoder of libavcodec. In a forked child, where its threads do not exist, it is opened again if it is at its
/// start; else calls fail until flush(). One without threads goes on. Note [Fork], base/fork.h.
class DecoderContext {
public:
    using Open = std::function<ff::CodecContextPtr()>;
    explicit DecoderContext(Open open) : open_(std::move(open)), context_(open_()) {}

    [[nodiscard]] AVCodecContext* get() const noexcept { return context_.get(); }
    [[nodiscard]] AVCodecContext* operator->() const noexcept { return context_.get(); }
    [[nodiscard]] AVCodecContext& operator*() const noexcept { return *context_; }

    /// Before packets are sent or frames received. Throws Error(unsupported) where the threads are lost.
    void expect_threads();
    /// avcodec_send_packet(), after which the decoder is not at its start.
    [[nodiscard]] int send(const AVPacket* packet);
    /// Back to the start, for use after a seek.
    void flush();

private:
    [[nodiscard]] bool has_lost_threads() const noexcept { return mark_.in_child() && context_->thread_count != 1; }
    void open_again();

    Open open_;
    ForkMark mark_;
    ff::CodecContextPtr context_;
    bool at_start_ = true;
};

}  // namespace tricodec
