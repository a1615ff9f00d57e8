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
    if (decoder_) pool_.release(std::move(decoder_), decoder_threads_, !expects_reports_, num_collected_);
    decoder_ = nullptr;
}

void SequentialDecoder::start_counting() {
    stop();
    index_ = nullptr;
    next_frame_ = 0;
    restart(num_threads_);
}

void SequentialDecoder::start_at(std::int64_t i, std::shared_ptr<const StreamIndex> index) {
    stop();
    index_ = std::move(index);
    next_frame_ = i;
    restart(index_->counted() ? 1 : num_threads_);  // Note [Damaged streams]
}

void SequentialDecoder::restart(int num_threads) {
    decoder_threads_ = num_threads;
    const bool damaged = index_ != nullptr && index_->counted();
    decoder_ = pool_.acquire(num_threads, index_ == nullptr || index_->parameters_change() || damaged, damaged);
    next_packet_ = index_ == nullptr ? 0 : index_->entry_for(next_frame_);
    if (next_packet_ > 0) decoder_->reset(true);
    expects_reports_ = index_ != nullptr && !index_->scanned() && index_->is_open(next_packet_);
    num_seen_ = 0;
    num_collected_ = 0;
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

std::int64_t SequentialDecoder::number_of(const Frame& frame) {
    if (index_ == nullptr || index_->counted()) return num_seen_++;
    const auto tag = frame.index;
    if (tag < 0 || tag >= index_->num_packets()) throw IndexMismatch{next_frame_};
    const auto number = index_->packet(tag).frame;
    if (number < 0 && !index_->scanned()) throw IndexMismatch{next_frame_};
    return number;
}

std::optional<Frame> SequentialDecoder::next() {
    for (;;) {
        auto frame = pull();
        const bool damaged = (frame && frame->corrupt) || (!expects_reports_ && decoder_->num_issues() > 0);
        if (damaged && index_ != nullptr && !index_->scanned()) throw IndexMismatch{next_frame_};
        if (damaged && index_ == nullptr && decoder_threads_ > 1 && feed_.rereadable()) {
            restart(1);  // Note [Damaged streams]; frames given already were whole
            continue;
        }
        if (!expects_reports_) pool_.collect_issues(*decoder_, num_collected_);
        if (!frame) {
            if (index_ != nullptr && next_frame_ < index_->num_frames()) throw IndexMismatch{next_frame_};
            return std::nullopt;
        }
        const auto number = number_of(*frame);
        if (number < next_frame_) continue;
        if (number > next_frame_) throw IndexMismatch{next_frame_};
        frame->index = next_frame_++;
        if (index_ != nullptr) {
            frame->pts = index_->frame(number).pts;
            if (frame->duration == 0) frame->duration = index_->frame(number).duration;
        }
        return frame;
    }
}

}  // namespace tricodec
