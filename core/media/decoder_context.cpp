// SPDX-License-Identifier: Apache-2.0
#include "media/decoder_context.h"

namespace tricodec {

void DecoderContext::expect_threads() {
    if (!has_lost_threads()) return;
    TRICODEC_EXPECT(at_start_, unsupported,
                    "the decoder '" + std::string(context_->codec->name) +
                        "' was in the middle of its stream when this process was forked, and its threads stayed in the "
                        "parent; seek or reset it, make it in this process, or give it one thread");
    open_again();
}

int DecoderContext::send(const AVPacket* packet) {
    at_start_ = false;
    return avcodec_send_packet(context_.get(), packet);
}

void DecoderContext::flush() {
    // MPEG-4's decoder keeps headers past a flush, and a damaged picture then depends on what it decoded before.
    if (has_lost_threads() || context_->codec_id == AV_CODEC_ID_MPEG4) {
        open_again();
    } else {
        avcodec_flush_buffers(context_.get());
    }
    at_start_ = true;
}

void DecoderContext::open_again() {
    context_ = open_();
    mark_ = {};
}

}  // namespace tricodec
