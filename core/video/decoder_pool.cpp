// SPDX-License-Identifier: Apache-2.0
#include "video/decoder_pool.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "tricodec/error.h"
#include "tricodec/log.h"
#include "video/needed_packets.h"

namespace tricodec {
namespace {

constexpr std::size_t kMostIdle = 32;
constexpr std::int64_t kPacketsAtOnce = 32;  // packets are read under a lock: not one by one, not all at once
// Whoever goes on in the middle of a group after somebody else has read elsewhere reads it again from its key frame:
// too often for a GPU, to which packets go 20 times as fast.
constexpr std::int64_t kPacketsAtOnceForGpu = 256;
constexpr std::size_t kBytesAtOnce = 8 << 20;

/// True if a decoder that stands at `cursor` gives the wanted frames with no more packets than from their entry.
/// `all`: none of those that follow may be left out.
bool can_resume(const DecoderCursor& cursor, const std::shared_ptr<const StreamIndex>& index, const Segment& segment,
                bool all) {
    const auto first_wanted = segment.wanted.front();
    if (cursor.index == nullptr || cursor.index != index || cursor.next_packet < segment.entry) return false;
    if (cursor.last_given >= first_wanted || cursor.last_left_out >= first_wanted) return false;
    if (cursor.stale_slots == 0) return true;
    return !all && (needed_packets(*index, segment, cursor.next_packet).slots & cursor.stale_slots) == 0;
}

/// Matches what a decoder puts out with what is wanted.
class Sorter {
public:
    /// Those that are referred to may grow: what was known before holds.
    Sorter(const std::shared_ptr<const StreamIndex>& index, const Segment& segment,
           const std::function<void(Frame)>& sink)
        : index_(index), segment_(segment), sink_(sink) {}

    /// `frame.index` is the number of its packet, or counts frames where those are ambiguous.
    void take(Frame frame) {
        const auto tag = frame.index;
        const auto number = index_->counted() ? num_seen_++ : number_of(tag);
        // Leading frames of the entry, whose references are missing, belong to the segment before.
        if (number < 0 || next_ >= segment_.wanted.size()) return;
        last_given_ = std::max(last_given_, number);
        if (number < segment_.wanted[next_]) return;
        if (number > segment_.wanted[next_]) throw IndexMismatch{segment_.wanted[next_]};
        const auto& facts = index_->frame(number);
        frame.index = number;
        frame.pts = facts.pts;
        if (frame.duration == 0) frame.duration = facts.duration;
        ++next_;
        sink_(std::move(frame));
    }

    [[nodiscard]] bool done() const noexcept { return next_ == segment_.wanted.size(); }
    [[nodiscard]] std::size_t num_given() const noexcept { return next_; }
    [[nodiscard]] std::int64_t last_given() const noexcept { return last_given_; }
    void expect_done() const {
        if (!done()) throw IndexMismatch{segment_.wanted[next_]};
    }

private:
    [[nodiscard]] std::int64_t number_of(std::int64_t tag) const {
        if (tag < 0 || tag >= index_->num_packets()) throw IndexMismatch{-1};
        const auto number = index_->packet(tag).frame;
        if (number < 0 && !index_->scanned()) throw IndexMismatch{-1};  // a frame that was not foretold
        return number;
    }

    const std::shared_ptr<const StreamIndex>& index_;
    const Segment& segment_;
    const std::function<void(Frame)>& sink_;
    std::size_t next_ = 0;
    std::int64_t num_seen_ = 0;
    std::int64_t last_given_ = -1;
};

}  // namespace

void DecoderPool::prepare() {
    DecoderCursor cursor;
    cursor.fresh = true;
    cursor.decoder = Decoder::create(stream_, {device_, cursor.num_threads, context_});
    describe(*cursor.decoder);
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(cursor));
}

std::unique_ptr<Decoder> DecoderPool::acquire(int num_threads, bool fresh, bool damaged) {
    if (!damaged) {
        std::lock_guard lock(mutex_);
        // Those that stand nowhere first: the others may be asked to go on.
        auto found = idle_.end();
        for (auto it = idle_.begin(); it != idle_.end(); ++it) {
            if (it->num_threads != num_threads || (fresh && !it->fresh)) continue;
            if (found == idle_.end() || (found->index && !it->index)) found = it;
        }
        if (found != idle_.end()) {
            auto decoder = std::move(found->decoder);
            if (found->index) decoder->reset();
            idle_.erase(found);
            return decoder;
        }
    }
    std::string device;
    {
        std::lock_guard lock(mutex_);
        device = device_;
    }
    auto decoder = Decoder::create(stream_, {device, num_threads, context_, damaged});
    describe(*decoder);
    return decoder;
}

void DecoderPool::describe(const Decoder& decoder) {
    std::lock_guard lock(mutex_);
    // A GPU's decoder that met what it cannot do has given way to the CPU's: the next ones need not try.
    if (works_on_.kind == Device::Kind::cuda && decoder.device().kind == Device::Kind::cpu) device_ = "cpu";
    engine_ = decoder.engine();
    works_on_ = decoder.device();
    num_engines_ = decoder.num_engines();
}

void DecoderPool::release(std::unique_ptr<Decoder> decoder, int num_threads, bool report, std::int64_t num_collected) {
    DecoderCursor cursor;
    cursor.decoder = std::move(decoder);
    cursor.num_threads = num_threads;
    cursor.num_collected = num_collected;
    park(std::move(cursor), report);
}

void DecoderPool::park(DecoderCursor cursor, bool report) {
    if (report) collect_issues(*cursor.decoder, cursor.num_collected);
    describe(*cursor.decoder);
    // A decoder keeps its reports; the next user would take them for its own.
    if (cursor.decoder->num_issues() > 0) return;
    if (!cursor.index) cursor.decoder->reset();
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
    const Segment segment{index->entry_for(i), index->last_packet_for(i), {i}};
    std::lock_guard lock(mutex_);
    std::int64_t best = -1;
    for (const auto& idle : idle_) {
        if (can_resume(idle, index, segment, false)) best = std::max(best, idle.next_packet);
    }
    return best;
}

DecoderCursor DecoderPool::acquire_for(const std::shared_ptr<const StreamIndex>& index, const Segment& segment,
                                       const RunOptions& options) {
    // What a used decoder remembers shows in concealed pictures, and may be the wrong headers.
    const bool fresh = index->parameters_change() || index->counted();
    if (!fresh) {
        std::lock_guard lock(mutex_);
        auto best = idle_.end();
        for (auto it = idle_.begin(); it != idle_.end(); ++it) {
            if (!can_resume(*it, index, segment, options.goes_on)) continue;
            if (!leaves_out_ && it->last_left_out >= 0) continue;
            if (best == idle_.end() || it->next_packet > best->next_packet) best = it;
        }
        if (best != idle_.end()) {
            auto cursor = std::move(*best);
            idle_.erase(best);
            return cursor;
        }
    }
    DecoderCursor cursor;
    cursor.num_threads = index->counted() ? 1 : options.num_threads;  // Note [Damaged streams]
    cursor.decoder = acquire(cursor.num_threads, fresh, index->counted());
    if (segment.entry > 0) cursor.decoder->reset(true);
    cursor.index = index;
    cursor.next_packet = segment.entry;
    if (options.packets != nullptr) cursor.read_ahead = *options.packets;
    cursor.expects_reports = index->scanned() || index->is_open(segment.entry);
    return cursor;
}

void DecoderPool::run(PacketFeed& feed, const std::shared_ptr<const StreamIndex>& index, const Segment& segment,
                      const RunOptions& options, const std::function<void(Frame)>& sink) {
    if (segment.wanted.empty()) return;
    Progress progress;
    auto known = index;
    auto rest = segment;
    const bool leave_out = leaves_out_ && !index->counted();
    try {
        run_once(feed, known, rest, options, sink, leave_out, progress);
        return;
    } catch (const IndexMismatch&) {
        if (!progress.left_out) throw;
    }
    if (leaves_out_.exchange(false)) {
        log(LogLevel::debug, "'" + name_ + "' refers to pictures that its headers call unused: all are decoded");
    }
    rest.wanted.erase(rest.wanted.begin(), rest.wanted.begin() + static_cast<std::ptrdiff_t>(progress.num_given));
    run_once(feed, known, rest, options, sink, false, progress);
}

void DecoderPool::run_once(PacketFeed& feed, std::shared_ptr<const StreamIndex>& index, Segment& segment,
                           const RunOptions& options, const std::function<void(Frame)>& sink, bool leave_out,
                           Progress& progress) {
    auto cursor = acquire_for(index, segment, options);
    Decoder& decoder = *cursor.decoder;
    progress.left_out = cursor.last_left_out >= 0;
    Sorter sorter(index, segment, sink);
    const auto take_ready = [&] {
        while (!sorter.done()) {
            auto frame = decoder.receive();
            if (!frame) return;
            // Only HEVC's decoder looks for references by itself, whatever a picture says of being one: heed it.
            const bool heeds = !cursor.expects_reports || (progress.left_out && stream_.codec == Codec::hevc);
            const bool damaged = frame->corrupt || (heeds && decoder.num_issues() > 0);
            if (damaged && (!index->scanned() || progress.left_out)) {
                if (!progress.left_out) collect_issues(decoder, cursor.num_collected);
                throw IndexMismatch{frame->index};
            }
            sorter.take(std::move(*frame));
            progress.num_given = sorter.num_given();
        }
    };
    const auto is_wanted = [&](std::int64_t k) {
        const auto frame = index->packet(k).frame;
        return !leave_out || frame < 0 || k > segment.last ||
               std::binary_search(segment.wanted.begin(), segment.wanted.end(), frame);
    };
    // A GPU's parser keeps slots of its own, of which nothing is known here.
    const bool skips = leave_out && !options.goes_on && decoder.device().kind == Device::Kind::cpu;
    auto needed = skips ? needed_packets(*index, segment, cursor.next_packet) : NeededPackets{};
    const auto go_on = [&] {
        if (!options.next || cursor.stale_slots != 0) return false;
        const auto next = options.next(std::max(sorter.last_given(), cursor.last_left_out) + 1);
        if (!next) return false;
        cursor.index = index = next->index;
        join(segment, *next->segment);
        if (skips) needed = needed_packets(*index, segment, cursor.next_packet);
        const auto sent = cursor.next_packet - next->segment->entry;
        if (static_cast<std::int64_t>(next->packets->size()) > sent) {
            cursor.read_ahead.assign(next->packets->begin() + sent, next->packets->end());
        }
        return true;
    };
    auto end = options.goes_on ? index->num_packets() - 1 : segment.last;
    auto at_once = kPacketsAtOnce;
    take_ready();
    for (;;) {
        while (cursor.next_packet > end && go_on()) end = segment.last;
        if (sorter.done() || cursor.next_packet > end) break;
        if (cursor.read_ahead.empty()) {
            // Past the segment one by one: how many it takes is up to the codec.
            const auto last = cursor.next_packet <= segment.last ? segment.last : cursor.next_packet;
            cursor.read_ahead = feed.read_range(cursor.next_packet, std::min(cursor.next_packet + at_once - 1, last),
                                                *index, kBytesAtOnce);
            if (decoder.device().kind == Device::Kind::cuda) at_once = kPacketsAtOnceForGpu;  // it is at work now
            if (cursor.read_ahead.empty()) break;
        }
        auto packet = std::move(cursor.read_ahead.front());
        cursor.read_ahead.pop_front();
        const auto k = cursor.next_packet++;
        const auto& facts = index->packet(k);
        const bool in_vain = skips && !needed.contains(k);
        const auto referenced = in_vain ? 0 : static_cast<std::size_t>(facts.referenced_bytes);
        const bool leaves_out = in_vain || ((facts.non_reference || referenced > 0) && !is_wanted(k));
        if (facts.slots) {
            const unsigned stale = in_vain ? cursor.stale_slots | facts.slots->writes
                                           : cursor.stale_slots & ~unsigned{facts.slots->writes};
            cursor.stale_slots = static_cast<std::uint8_t>(stale);
        }
        if (leaves_out) {
            progress.left_out = true;
            cursor.last_left_out = std::max(cursor.last_left_out, facts.frame);
            packet.data = packet.data.first(std::min(packet.data.size(), referenced));
        }
        if (leaves_out && packet.data.empty()) {
            ++num_left_out_;
        } else {
            decoder.send(packet, k);
            ++num_sent_;
        }
        take_ready();
        if (index->scanned() && !progress.left_out) collect_issues(decoder, cursor.num_collected);
    }
    if (!sorter.done()) {
        decoder.send_end();
        take_ready();
        cursor.index = nullptr;
    }
    cursor.last_given = std::max(cursor.last_given, sorter.last_given());
    const bool report = !cursor.expects_reports || index->scanned();
    park(std::move(cursor), report);
    sorter.expect_done();
}

DecoderPool::Scan DecoderPool::scan(PacketFeed& feed, const StreamIndex& index, int num_threads) {
    auto result = scan_once(feed, index, num_threads);
    if (result.damaged && num_threads > 1) result = scan_once(feed, index, 1);
    return result;
}

DecoderPool::Scan DecoderPool::scan_once(PacketFeed& feed, const StreamIndex& index, int num_threads) {
    {
        // What was met by now is of parts of the stream, or of codecs with other numbers of threads: it is told again.
        std::lock_guard lock(mutex_);
        issues_.clear();
    }
    auto decoder = acquire(num_threads, true);
    std::int64_t num_collected = 0;
    Scan result;
    const auto drain = [&] {
        while (auto frame = decoder->receive()) {
            result.damaged = result.damaged || frame->corrupt;
            result.frames.push_back({frame->index, frame->pts, frame->duration});
        }
        collect_issues(*decoder, num_collected);
    };
    for (std::int64_t k = 0; k < index.num_packets(); ++k) {
        const auto packet = feed.read(k, &index);
        if (!packet) break;
        decoder->send(*packet, k);
        drain();
    }
    decoder->send_end();
    drain();
    result.damaged = result.damaged || decoder->num_issues() > 0;
    release(std::move(decoder), num_threads, true, num_collected);
    return result;
}

void DecoderPool::collect_issues(const Decoder& decoder, std::int64_t& num_collected) {
    if (decoder.num_issues() == num_collected) return;
    std::lock_guard lock(mutex_);
    for (auto& issue : new_issues(decoder, num_collected)) {
        if (!told_of_damage_) {
            log(LogLevel::warning,
                "'" + name_ + "' is damaged: " + issue.message + "; this and what follows is in issues");
        }
        told_of_damage_ = true;
        // A packet that is decoded again for another request is still one damaged packet.
        issues_.add(std::move(issue));
    }
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
