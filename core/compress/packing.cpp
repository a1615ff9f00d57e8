// SPDX-License-Identifier: Apache-2.0
#include "compress/packing.h"

#include <algorithm>
#include <cstring>

#include "compress/bytes.h"
#include "compress/container.h"

namespace tricodec::compress {

Packing::Target Packing::start(std::size_t run, std::size_t worst_bytes) {
    Target target;
    {
        const std::lock_guard lock(mutex_);
        if (run == next_) {
            target.place_ = room_.data() + start_;
            return target;
        }
        const auto fits = std::find_if(spare_.begin(), spare_.end(),
                                       [&](const auto& buffer) { return buffer->size_bytes() >= worst_bytes; });
        if (fits != spare_.end()) {
            target.buffer_ = std::move(*fits);
            spare_.erase(fits);
            return target;
        }
    }
    target.buffer_ = Buffer::allocate(worst_bytes);
    return target;
}

void Packing::finish(std::size_t run, Target target, std::size_t size_bytes) {
    std::vector<Move> moves;
    {
        const std::lock_guard lock(mutex_);
        sizes_[run] = size_bytes;
        if (target.buffer_) waiting_.push_back({run, std::move(target.buffer_)});
        moves = advance();
    }
    if (moves.empty()) return;
    for (const Move& move : moves) std::memcpy(move.to, move.from->data(), move.size);
    const std::lock_guard lock(mutex_);
    for (Move& move : moves) spare_.push_back(std::move(move.from));
}

std::vector<Packing::Move> Packing::advance() {
    std::vector<Move> moves;
    while (next_ < sizes_.size() && sizes_[next_] != kUnknown) {
        // Alignment gaps are part of the stream: nothing that was not written may be in them.
        std::memset(room_.data() + end_, 0, start_ - end_);
        const auto waiting =
            std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& entry) { return entry.run == next_; });
        if (waiting != waiting_.end()) {
            moves.push_back({room_.data() + start_, std::move(waiting->buffer), sizes_[next_]});
            waiting_.erase(waiting);
        }
        end_ = start_ + sizes_[next_];
        start_ = align_up(end_, kChunkAlignment);
        ++next_;
    }
    return moves;
}

}  // namespace tricodec::compress
