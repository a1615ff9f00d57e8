// SPDX-License-Identifier: Apache-2.0
#include "read/decoder_pool.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "tricodec/base/error.h"
#include "tricodec/base/log.h"

namespace tricodec {
namespace {

constexpr std::size_t kMostIdle = 32;

/// True if the decoder at `cursor` gives the wanted frames with no more packets than from their entry.
/// `all`: none of those that follow may be left out.
bool can_resume(const DecoderCursor& cursor, const std::shared_ptr<const StreamIndex>& index, const GopRange& range,
                bool all) {
    const auto first_wanted = range.wanted.front();
    if (cursor.index == nullptr || !cursor.index->numbers_as(*index) || cursor.next_packet < range.entry) return false;
    if (cursor.last_given >= first_wanted || cursor.last_left_out >= first_wanted) return false;
    if (cursor.ended && cursor.next_packet <= range.last) return false;
    if (cursor.stale_slots == 0) return true;
    return !all && (needed_packets(*index, range, cursor.next_packet).slots & cursor.stale_slots) == 0;
}

}  // namespace

void DecoderPool::prepare() {
    DecoderCursor cursor;
    cursor.fresh = true;
    cursor.decoder = Decoder::create(stream_, options_);
    describe(*cursor.decoder);
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(cursor));
}

DecoderCursor DecoderPool::acquire_at_start(int num_threads, bool fresh) {
    DecoderOptions options;
    DecoderCursor cursor;
    cursor.num_threads = num_threads;
    {
        std::lock_guard lock(mutex_);
        // Decoders at their start come first: the others may have to continue.
        auto found = idle_.end();
        for (auto it = idle_.begin(); it != idle_.end(); ++it) {
            if (it->num_threads != num_threads || (fresh && !it->fresh)) continue;
            if (found == idle_.end() || (found->index && !it->index)) found = it;
        }
        if (found != idle_.end()) {
            cursor.decoder = std::move(found->decoder);
            if (found->index) cursor.decoder->reset();
            idle_.erase(found);
            return cursor;
        }
        options = options_;
    }
    options.num_threads = num_threads;
    options.reuses_codec = !fresh;
    cursor.decoder = Decoder::create(stream_, options);
    describe(*cursor.decoder);
    return cursor;
}

void DecoderPool::describe(const Decoder& decoder) {
    std::lock_guard lock(mutex_);
    // A GPU's decoder that met what it cannot do has given way to the CPU's: the next ones need not try.
    if (works_on_.kind == Device::Kind::cuda && decoder.device().kind == Device::Kind::cpu) options_.device = "cpu";
    engine_ = decoder.engine();
    works_on_ = decoder.device();
    num_engines_ = decoder.num_engines();
}

void DecoderPool::release(DecoderCursor cursor) {
    report(new_damage(*cursor.decoder, cursor.expects_reports, cursor.num_reports));
    describe(*cursor.decoder);
    // A decoder keeps its reports; the next user would take them for its own.
    if (cursor.decoder->num_issues() > 0) return;
    if (!cursor.index) {
        cursor.decoder->reset();
        cursor.read_ahead.clear();
    }
    cursor.fresh = false;
    std::lock_guard lock(mutex_);
    if (idle_.size() < kMostIdle) idle_.push_back(std::move(cursor));
}

void DecoderPool::close_idle(std::size_t num_kept) {
    std::vector<DecoderCursor> closed;  // outside the lock
    std::lock_guard lock(mutex_);
    if (idle_.size() <= num_kept) return;
    const auto end = idle_.end() - static_cast<std::ptrdiff_t>(num_kept);
    closed.assign(std::make_move_iterator(idle_.begin()), std::make_move_iterator(end));
    idle_.erase(idle_.begin(), end);
}

std::int64_t DecoderPool::resumes_at(const std::shared_ptr<const StreamIndex>& index, std::int64_t i) const {
    const GopRange range{index->entry_for(i), index->last_packet_for(i), {i}};
    std::lock_guard lock(mutex_);
    std::int64_t best = -1;
    for (const auto& idle : idle_) {
        if (can_resume(idle, index, range, false)) best = std::max(best, idle.next_packet);
    }
    return best;
}

DecoderCursor DecoderPool::acquire(const std::shared_ptr<const StreamIndex>& index, const GopRange& range,
                                   int num_threads, bool resumable) {
    // A used decoder may remember the wrong headers.
    const bool fresh = index->parameters_change() || index->counted();
    if (!fresh) {
        std::lock_guard lock(mutex_);
        auto best = idle_.end();
        for (auto it = idle_.begin(); it != idle_.end(); ++it) {
            if (!can_resume(*it, index, range, resumable)) continue;
            if (best == idle_.end() || it->next_packet > best->next_packet) best = it;
        }
        if (best != idle_.end()) {
            auto cursor = std::move(*best);
            idle_.erase(best);
            return cursor;
        }
    }
    auto cursor = acquire_at_start(index->counted() ? 1 : num_threads, fresh);
    if (range.entry > 0) cursor.decoder->reset(true);
    cursor.index = index;
    cursor.next_packet = range.entry;
    cursor.expects_reports = index->scanned() || index->is_open(range.entry);
    return cursor;
}

std::vector<IndexedFrame> DecoderPool::scan(PacketFeed& feed, const StreamIndex& index, int num_threads) {
    {
        std::lock_guard lock(mutex_);
        issues_.clear();  // the scan reports again what matters
    }
    auto cursor = acquire_at_start(num_threads, true);
    auto& decoder = *cursor.decoder;
    std::vector<IndexedFrame> frames;
    const auto drain = [&] {
        while (auto frame = decoder.receive()) frames.push_back({frame->index, frame->pts, frame->duration});
        report(new_damage(decoder, false, cursor.num_reports));  // now, because a decoder does not keep all of them
    };
    for (std::int64_t k = 0; k < index.num_packets(); ++k) {
        const auto packet = feed.read(k, &index);
        if (!packet) break;
        decoder.send(*packet, k);
        drain();
    }
    decoder.send_end();
    drain();
    release(std::move(cursor));
    return frames;
}

void DecoderPool::report(std::vector<DecodeIssue> damage) {
    if (damage.empty()) return;
    std::lock_guard lock(mutex_);
    for (auto& issue : damage) {
        if (!damage_is_logged_->exchange(true)) {
            log(LogLevel::warning,
                "'" + name_ + "' is damaged: " + issue.message + "; this and what follows is in issues");
        }
        // A packet that is decoded again for another request is still one damaged packet.
        issues_.add(std::move(issue));
    }
}

void DecoderPool::take_issues_in_child(DecoderPool& parents) {
    const std::unique_lock lock(parents.mutex_, std::try_to_lock);
    if (!lock) return;
    issues_ = parents.issues_;
    *damage_is_logged_ = parents.damage_is_logged_->load();
}

std::vector<DecodeIssue> DecoderPool::issues() const {
    std::lock_guard lock(mutex_);
    return issues_.sorted();
}

std::int64_t DecoderPool::num_damaged_packets() const {
    std::lock_guard lock(mutex_);
    return issues_.num_packets();
}

Device DecoderPool::device() const {
    std::lock_guard lock(mutex_);
    return works_on_;
}

int DecoderPool::num_engines() const {
    std::lock_guard lock(mutex_);
    return num_engines_;
}

std::string DecoderPool::engine() const {
    std::lock_guard lock(mutex_);
    return engine_;
}

}  // namespace tricodec
