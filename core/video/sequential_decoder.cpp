// SPDX-License-Identifier: Apache-2.0
#include "video/sequential_decoder.h"

namespace tricodec {

SequentialDecoder::~SequentialDecoder() {
    try {
        stop();
    } catch (...) {
        // Returning the decoder to the pool is a saving, not a duty.
    }
}

void SequentialDecoder::stop() {
    if (decoder_) pool_.release(std::move(decoder_), num_threads_);
    decoder_ = nullptr;
}

void SequentialDecoder::start_counting() {
    stop();
    decoder_ = pool_.acquire(num_threads_, true);
    index_ = nullptr;
    next_packet_ = next_frame_ = num_seen_ = 0;
    ended_ = false;
}

void SequentialDecoder::start_at(std::int64_t i, std::shared_ptr<const StreamIndex> index) {
    stop();
    decoder_ = pool_.acquire(num_threads_, index->parameters_change() || index->counted());
    next_packet_ = index->entry_for(i);
    index_ = std::move(index);
    next_frame_ = i;
    num_seen_ = 0;
    ended_ = false;
}

std::optional<Frame> SequentialDecoder::pull() {
    for (;;) {
        if (auto frame = decoder_->receive()) return frame;
        if (ended_) return std::nullopt;
        if (const auto packet = feed_.read(next_packet_, index_.get())) {
            decoder_->send(*packet, next_packet_++);
        } else {
            decoder_->send_end();
            ended_ = true;
        }
    }
}

std::optional<Frame> SequentialDecoder::next() {
    for (;;) {
        auto frame = pull();
        if (!frame) {
            if (index_ != nullptr && next_frame_ < index_->num_frames()) throw IndexMismatch{next_frame_};
            return std::nullopt;
        }
        if (index_ == nullptr) {
            frame->index = next_frame_++;
            return frame;
        }
        const auto tag = frame->index;
        std::int64_t number = -1;
        if (index_->counted()) {
            number = num_seen_++;
        } else {
            if (tag < 0 || tag >= index_->num_packets()) throw IndexMismatch{next_frame_};
            number = index_->packet(tag).frame;
            if (number < 0 && !index_->scanned()) throw IndexMismatch{next_frame_};
        }
        if (number < next_frame_) continue;
        if (number > next_frame_) throw IndexMismatch{next_frame_};
        frame->index = next_frame_++;
        frame->pts = index_->frame(number).pts;
        if (frame->duration == 0) frame->duration = index_->frame(number).duration;
        return frame;
    }
}

}  // namespace tricodec
