// SPDX-License-Identifier: Apache-2.0
#include "video/decoder_pool.h"

#include <algorithm>
#include <tuple>

#include "tricodec/error.h"
#include "tricodec/log.h"

namespace tricodec {
namespace {

constexpr std::size_t kMostIdle = 32;

/// Matches what a decoder puts out with what is wanted.
class Sorter {
public:
    Sorter(const StreamIndex& index, const Segment& segment, const std::function<void(Frame)>& sink)
        : index_(index), segment_(segment), sink_(sink) {}

    /// `frame.index` is the number of its packet, or counts frames where those are ambiguous.
    void take(Frame frame) {
        const auto tag = frame.index;
        const auto number = index_.counted() ? num_seen_++ : number_of(tag);
        // Leading frames of the entry, whose references are missing, belong to the segment before.
        if (number < 0 || next_ >= segment_.wanted.size()) return;
        if (number < segment_.wanted[next_]) return;
        if (number > segment_.wanted[next_]) throw IndexMismatch{segment_.wanted[next_]};
        const auto& facts = index_.frame(number);
        frame.index = number;
        frame.pts = facts.pts;
        if (frame.duration == 0) frame.duration = facts.duration;
        ++next_;
        sink_(std::move(frame));
    }

    [[nodiscard]] bool done() const noexcept { return next_ == segment_.wanted.size(); }
    void expect_done() const {
        if (!done()) throw IndexMismatch{segment_.wanted[next_]};
    }

private:
    [[nodiscard]] std::int64_t number_of(std::int64_t tag) const {
        if (tag < 0 || tag >= index_.num_packets()) throw IndexMismatch{-1};
        const auto number = index_.packet(tag).frame;
        if (number < 0 && !index_.scanned()) throw IndexMismatch{-1};  // a frame that was not foretold
        return number;
    }

    const StreamIndex& index_;
    const Segment& segment_;
    const std::function<void(Frame)>& sink_;
    std::size_t next_ = 0;
    std::int64_t num_seen_ = 0;
};

}  // namespace

std::unique_ptr<Decoder> DecoderPool::acquire(int num_threads, bool fresh) {
    if (!fresh) {
        std::lock_guard lock(mutex_);
        const auto it =
            std::find_if(idle_.begin(), idle_.end(), [&](const Idle& idle) { return idle.num_threads == num_threads; });
        if (it != idle_.end()) {
            auto decoder = std::move(it->decoder);
            idle_.erase(it);
            return decoder;
        }
    }
    auto decoder = Decoder::create(stream_, {device_, num_threads});
    std::lock_guard lock(mutex_);
    engine_ = decoder->engine();
    return decoder;
}

void DecoderPool::release(std::unique_ptr<Decoder> decoder, int num_threads, bool report) {
    if (report) collect_issues(*decoder);
    if (!decoder->issues().empty()) return;  // a decoder keeps its reports; the next user would take them for its own
    decoder->reset();
    std::lock_guard lock(mutex_);
    if (idle_.size() < kMostIdle) idle_.push_back({std::move(decoder), num_threads});
}

void DecoderPool::run(PacketFeed& feed, const StreamIndex& index, const Segment& segment, int num_threads,
                      const std::function<void(Frame)>& sink) {
    // What a used decoder remembers shows in concealed pictures, and may be the wrong headers.
    const bool fresh = index.parameters_change() || index.counted();
    if (index.counted()) num_threads = 1;  // Note [Damaged streams]
    auto decoder = acquire(num_threads, fresh);
    if (segment.entry > 0) decoder->reset(true);
    // From an open group's key frame the codec reports its leading frames' missing references: no damage.
    const bool expects_reports = index.scanned() || index.has_leading_frames(segment.entry);
    Sorter sorter(index, segment, sink);
    const auto take_ready = [&] {
        while (auto frame = decoder->receive()) {
            const bool damaged = frame->corrupt || (!expects_reports && !decoder->issues().empty());
            if (damaged && !index.scanned()) {
                collect_issues(*decoder);
                throw IndexMismatch{frame->index};
            }
            sorter.take(std::move(*frame));
        }
    };
    constexpr std::int64_t kPacketsAtOnce = 32;  // packets are read under a lock: not one by one, not all at once
    for (std::int64_t k = segment.entry; k <= segment.last && !sorter.done();) {
        const auto packets = feed.read_range(k, std::min(k + kPacketsAtOnce - 1, segment.last), index);
        if (packets.empty()) break;
        for (const auto& packet : packets) {
            decoder->send(packet, k++);
            take_ready();
            if (sorter.done()) break;
        }
    }
    if (!sorter.done()) {
        decoder->send_end();
        take_ready();
    }
    release(std::move(decoder), num_threads, !expects_reports || index.scanned());
    sorter.expect_done();
}

DecoderPool::Scan DecoderPool::scan(PacketFeed& feed, const StreamIndex& index, int num_threads) {
    auto result = scan_once(feed, index, num_threads);
    if (result.damaged && num_threads > 1) result = scan_once(feed, index, 1);
    return result;
}

DecoderPool::Scan DecoderPool::scan_once(PacketFeed& feed, const StreamIndex& index, int num_threads) {
    auto decoder = acquire(num_threads, true);
    Scan result;
    const auto drain = [&] {
        while (auto frame = decoder->receive()) {
            result.damaged = result.damaged || frame->corrupt;
            result.frames.push_back({frame->index, frame->pts, frame->duration});
        }
    };
    for (std::int64_t k = 0; k < index.num_packets(); ++k) {
        const auto packet = feed.read(k, &index);
        if (!packet) break;
        decoder->send(*packet, k);
        drain();
    }
    decoder->send_end();
    drain();
    result.damaged = result.damaged || !decoder->issues().empty();
    release(std::move(decoder), num_threads, true);
    return result;
}

void DecoderPool::collect_issues(const Decoder& decoder) {
    std::lock_guard lock(mutex_);
    const auto same = [](const DecodeIssue& a, const DecodeIssue& b) {
        return a.pts == b.pts && a.message == b.message;
    };
    for (const auto& issue : decoder.issues()) {
        // A packet that is decoded again for another request is still one damaged packet.
        if (std::any_of(issues_.begin(), issues_.end(), [&](const auto& known) { return same(known, issue); }))
            continue;
        if (issues_.empty()) {
            log(LogLevel::warning,
                "'" + name_ + "' is damaged: " + issue.message + "; this and what follows is in issues");
        }
        issues_.push_back(issue);
    }
}

std::vector<DecodeIssue> DecoderPool::issues() const {
    std::lock_guard lock(mutex_);
    auto sorted = issues_;
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.pts < b.pts; });
    return sorted;
}

std::string DecoderPool::engine() const {
    std::lock_guard lock(mutex_);
    return engine_;
}

}  // namespace tricodec
