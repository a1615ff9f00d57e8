// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "index/frame_times.h"
#include "read/indexed_video.h"
#include "tricodec/base/interrupt.h"
#include "tricodec/base/log.h"

namespace tricodec {
namespace {

constexpr std::int64_t kPacketsAtOnce = 32;  // packets are read under a lock: not one by one, not all at once
// A thread that continues in the middle of a GOP after another thread has read elsewhere reads from the key frame
// again. For a GPU, which takes packets much faster, that would be too often.
constexpr std::int64_t kPacketsAtOnceForGpu = 256;
constexpr std::size_t kBytesAtOnce = 8 << 20;

}  // namespace

RangeDecoder::RangeDecoder(PacketFeed& feed, DecoderPool& pool, std::shared_ptr<const StreamIndex> index,
                           GopRange range, const Options& options)
    : feed_(feed), pool_(pool), index_(std::move(index)), range_(std::move(range)), options_(options) {
    leave_out_ = !index_->counted();
    begin();
}

RangeDecoder::RangeDecoder(PacketFeed& feed, DecoderPool& pool, int num_threads)
    : feed_(feed), pool_(pool), options_{.num_threads = num_threads} {
    begin();
}

RangeDecoder::~RangeDecoder() {
    if (!cursor_.decoder) return;
    try {
        cursor_.index = nullptr;  // back to its start: a decoder in mid-stream holds pictures
        pool_.release(std::move(cursor_));
    } catch (const std::exception& error) {
        log(LogLevel::debug, std::string("a decoder is not kept: ") + error.what());
    }
}

void RangeDecoder::begin() {
    cursor_ = index_ ? pool_.acquire(index_, range_, options_.num_threads, options_.resumable)
                     : pool_.acquire_at_start(options_.num_threads, true);
    // A GPU's parser keeps slots of its own, of which nothing is known here.
    skips_ = leave_out_ && !options_.resumable && cursor_.decoder->device().kind == Device::Kind::cpu;
    if (skips_) needed_ = needed_packets(*index_, range_, cursor_.next_packet);
    packets_at_once_ = kPacketsAtOnce;
    num_seen_ = timed_pts_ = num_untimed_ = 0;
    ended_ = cursor_.ended;
    mismatch_ = false;
}

std::optional<Frame> RangeDecoder::next() {
    if (!cursor_.decoder) return std::nullopt;
    try {
        if (auto frame = step()) return frame;
        stale_ = mismatch_;
        cursor_ = {};
    } catch (...) {
        cursor_ = {};
        throw;
    }
    return std::nullopt;
}

/// Nothing at the end, with mismatch_ if a frame is missing.
std::optional<Frame> RangeDecoder::step() {
    auto& decoder = *cursor_.decoder;
    for (;;) {
        if (index_ && next_ == range_.wanted.size()) {
            finish();
            return std::nullopt;
        }
        if (auto frame = decoder.receive()) {
            pool_.report(new_damage(decoder, cursor_.expects_reports, cursor_.num_reports));
            if (auto matched = match(std::move(*frame))) return matched;
            if (mismatch_) return std::nullopt;
        } else if (ended_) {
            mismatch_ = index_ != nullptr;
            cursor_.index = nullptr;
            finish();
            return std::nullopt;
        } else if (have_packet()) {
            send_packet();
            if (mismatch_) return std::nullopt;
        } else {
            decoder.send_end();
            ended_ = cursor_.ended = true;
            if (!options_.resumable) cursor_.index = nullptr;
        }
    }
}

/// The frame if it is the one that is wanted next.
std::optional<Frame> RangeDecoder::match(Frame frame) {
    if (!index_) {
        const auto number = num_seen_++;
        if (frame.pts == kNoTimestamp) {
            frame.pts = timed_pts_ + ticks_of_frames(feed_.stream(), num_untimed_++);
        } else {
            timed_pts_ = frame.pts;
            num_untimed_ = 1;
        }
        if (number < static_cast<std::int64_t>(next_)) return std::nullopt;
        ++next_;
        frame.index = number;
        return frame;
    }
    std::int64_t number = num_seen_++;
    if (!index_->counted()) {
        const auto packet = frame.index;
        if (packet < 0 || packet >= index_->num_packets()) {
            mismatch_ = true;
            return std::nullopt;
        }
        number = index_->packet(packet).frame;
        // A frame that was not predicted: of a packet that should give none, or the second of one.
        const bool again = number >= 0 && number == cursor_.last_given;
        mismatch_ = again || (number < 0 && !index_->scanned());
        if (again) return std::nullopt;
    }
    // Leading frames of the entry, of which references are missing, belong to the range before.
    if (number < 0) return std::nullopt;
    cursor_.last_given = std::max(cursor_.last_given, number);
    const auto wanted = range_.wanted[next_];
    mismatch_ = number > wanted;
    if (mismatch_ || number != wanted) return std::nullopt;
    const auto& facts = index_->frame(number);
    frame.index = number;
    frame.pts = pts_of_frame(feed_.stream(), *index_, number);
    if (frame.duration == 0) frame.duration = facts.duration;
    ++next_;
    return frame;
}

bool RangeDecoder::have_packet() {
    if (!cursor_.read_ahead.empty()) return true;
    if (!index_) {
        auto packet = feed_.read(cursor_.next_packet, nullptr);
        if (packet) cursor_.read_ahead.push_back(std::move(*packet));
        return packet.has_value();
    }
    const auto end = options_.resumable ? index_->num_packets() - 1 : range_.last;
    if (cursor_.next_packet > end || index_->packet(cursor_.next_packet).predicted) return false;
    // Past the range one by one: how many it takes is up to the codec.
    const auto last = cursor_.next_packet <= range_.last ? range_.last : cursor_.next_packet;
    cursor_.read_ahead = feed_.read_range(
        cursor_.next_packet, std::min(cursor_.next_packet + packets_at_once_ - 1, last), *index_, kBytesAtOnce);
    if (cursor_.decoder->device().kind == Device::Kind::cuda) packets_at_once_ = kPacketsAtOnceForGpu;  // it works now
    return !cursor_.read_ahead.empty();
}

void RangeDecoder::send_packet() {
    check_interrupt();
    auto& decoder = *cursor_.decoder;
    auto packet = std::move(cursor_.read_ahead.front());
    cursor_.read_ahead.pop_front();
    const auto k = cursor_.next_packet++;
    if (!index_) {
        decoder.send(packet, k);
        return pool_.count_sent();
    }
    auto facts = index_->packet(k);
    if (!facts.inspected) {
        if (!listed_) listed_.emplace(feed_.stream());
        const auto completed = listed_->complete(*index_, k, packet);
        if (!completed) {
            mismatch_ = true;
            return;
        }
        facts = *completed;
        cursor_.expects_reports = cursor_.expects_reports || facts.open_entry;
    }
    const bool wanted =
        !leave_out_ || facts.frame < 0 || k > range_.last || std::ranges::binary_search(range_.wanted, facts.frame);
    const bool in_vain = skips_ && !needed_.contains(k);
    const auto referenced = in_vain ? 0 : static_cast<std::size_t>(facts.referenced_bytes);
    const bool leaves_out = in_vain || ((facts.non_reference || referenced > 0) && !wanted);
    if (facts.slots) {
        const unsigned stale =
            in_vain ? cursor_.stale_slots | facts.slots->writes : cursor_.stale_slots & ~unsigned{facts.slots->writes};
        cursor_.stale_slots = static_cast<std::uint8_t>(stale);
    }
    if (leaves_out) {
        cursor_.last_left_out = std::max(cursor_.last_left_out, facts.frame);
        packet.data = packet.data.first(std::min(packet.data.size(), referenced));
    }
    if (leaves_out && packet.data.empty()) {
        pool_.count_left_out();
    } else {
        decoder.send(packet, k);
        pool_.count_sent();
    }
}

void RangeDecoder::finish() {
    pool_.release(std::move(cursor_));
    cursor_ = {};
}

}  // namespace tricodec
