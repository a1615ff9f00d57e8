// SPDX-License-Identifier: Apache-2.0
#include "video/engine_iterator.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

#include "base/stage_scope.h"
#include "video/early_groups.h"
#include "video/frame_iterator.h"

namespace tricodec {
namespace {

constexpr std::size_t kUnreservedFrames = 4;  // what the group being read may always hold

struct Cancelled {};

struct Group {
    std::shared_ptr<const StreamIndex> index;
    Segment segment;
    std::deque<Packet> packets{};  // those of an early group
    std::deque<Frame> ready{};
    std::int64_t reserved_bytes = 0;
    EngineQueue::Ticket ticket = 0;
    bool finished = false;
    bool mismatch = false;
    std::exception_ptr error{};
};

/// A read in progress. Groups work on it from the pool's threads, which may end a little later than the iterator.
struct Read : std::enable_shared_from_this<Read> {
    Read(FrameReaderImpl& frame_reader, EngineQueue& engine_queue, EngineQueue::Share turns, FrameOrder frame_order)
        : reader(frame_reader), queue(engine_queue), share(std::move(turns)), order(frame_order) {
        const auto& stream = reader.stream();
        frame_bytes = stream.pixel_format == PixelFormat::unknown
                          ? std::int64_t{stream.width} * stream.height * 2
                          : info(stream.pixel_format).packed_bytes(stream.width, stream.height);
    }

    FrameReaderImpl& reader;
    EngineQueue& queue;
    const EngineQueue::Share share;
    const FrameOrder order;
    std::int64_t frame_bytes = 0;

    std::mutex mutex;
    std::condition_variable given;  // the group being read, or any, has frames, or is done
    std::condition_variable taken;  // frames have been read, or nobody will
    std::condition_variable idle;   // no group is under way
    std::deque<Group> groups;       // which stay where they are as more are added
    std::size_t head = 0;           // the group being read
    std::size_t num_launched = 0;
    int num_decoders = 1;  // at work at once at most
    int num_under_way = 0;
    bool cancelled = false;

    /// The mutex is held.
    void launch() {
        while (num_launched < groups.size() && num_under_way < num_decoders && reserve_next()) {
            const auto urgency = num_launched > head ? EngineQueue::Urgency::ahead
                                 : head > 0          ? EngineQueue::Urgency::next
                                                     : EngineQueue::Urgency::first;
            groups[num_launched].ticket =
                queue.add([self = shared_from_this(), g = num_launched] { self->decode(g); }, share, urgency);
            ++num_under_way;
            ++num_launched;
        }
    }

    /// Memory for the next group to begin; the one being read needs none. The mutex is held.
    bool reserve_next() {
        auto& group = groups[num_launched];
        const auto bytes = static_cast<std::int64_t>(group.segment.wanted.size()) * frame_bytes;
        if (!queue.reserve(bytes)) return num_launched == head;
        group.reserved_bytes = bytes;
        return true;
    }

    /// Decodes a group, and those behind it that nobody has begun as long as the turn may be kept for them: where they
    /// refer to what is before them, nothing is decoded twice then.
    void decode(std::size_t first) {
        std::exception_ptr error;
        bool mismatch = false;
        std::size_t giving = first;  // the group whose frames come
        std::size_t last = first;    // of those taken
        try {
            const auto& group = group_to_decode(first);
            RunOptions options;
            if (!group.packets.empty()) options.packets = &group.packets;
            std::int64_t num_packets = 0;
            options.next = [&](std::int64_t from) -> std::optional<NextSegment> {
                std::lock_guard lock(mutex);
                num_packets += groups[last].segment.num_packets();
                if (!take_after(last, from, num_packets)) return std::nullopt;
                const auto& next = groups[++last];
                return NextSegment{next.index, &next.segment, &next.packets};
            };
            reader.run(group.index, group.segment, options, [&](Frame frame) { put(giving, std::move(frame)); });
        } catch (const Cancelled&) {
        } catch (const IndexMismatch&) {
            mismatch = true;
        } catch (...) {
            error = std::current_exception();
        }
        std::lock_guard lock(mutex);
        for (; giving <= last; ++giving) {
            groups[giving].mismatch = mismatch;
            groups[giving].error = error;
            finish(groups[giving]);
        }
        if (num_under_way == 0) idle.notify_all();
    }

    /// True if the decoder of group `g` may go on with the one after it, which it has then. The mutex is held.
    bool take_after(std::size_t g, std::int64_t from, std::int64_t num_packets) {
        if (cancelled || g + 1 >= groups.size() || g + 1 > num_launched) return false;
        const auto& now = groups[g];
        const auto& next = groups[g + 1];
        const auto simple = [](const StreamIndex& index) { return !index.parameters_change() && !index.counted(); };
        if (!simple(*now.index) || !simple(*next.index)) return false;
        if (!touch(now.segment, next.segment) || next.segment.wanted.front() < from) return false;
        if (g + 1 < num_launched) return queue.go_on(next.ticket, num_packets);
        if (!queue.go_on(0, num_packets) || !reserve_next()) return false;
        ++num_under_way;
        ++num_launched;
        return true;
    }

    /// All of it has come, or no more will. The mutex is held.
    void finish(Group& group) {
        group.packets.clear();
        group.finished = true;
        --num_under_way;
        if (!cancelled && !group.error && !group.mismatch) launch();
        given.notify_one();
    }

    /// What is to be decoded of it is written no more.
    const Group& group_to_decode(std::size_t g) {
        std::lock_guard lock(mutex);
        if (cancelled) throw Cancelled{};
        return groups[g];
    }

    /// A frame of group `g`, or of one behind it that is given on from now.
    void put(std::size_t& g, Frame frame) {
        std::unique_lock lock(mutex);
        while (frame.index > groups[g].segment.wanted.back()) finish(groups[g++]);
        auto& group = groups[g];
        const auto room = [&] {
            return cancelled || group.reserved_bytes > 0 || group.ready.size() < kUnreservedFrames;
        };
        if (!room()) {
            queue.pause(share);
            taken.wait(lock, room);
            queue.resume(share);
        }
        if (cancelled) throw Cancelled{};
        group.ready.push_back(std::move(frame));
        if (g == head || order == FrameOrder::any) given.notify_one();
    }

    /// A group whose frames may be given out now, if there is one; the first of them. The mutex is held.
    Group* giver() {
        const auto end = order == FrameOrder::any ? num_launched : std::min(num_launched, head + 1);
        const auto found = std::find_if(groups.begin() + static_cast<std::ptrdiff_t>(head),
                                        groups.begin() + static_cast<std::ptrdiff_t>(end),
                                        [](const Group& group) { return !group.ready.empty(); });
        return found == groups.begin() + static_cast<std::ptrdiff_t>(end) ? nullptr : &*found;
    }

    /// Waits until nobody uses the reader any more.
    void cancel() {
        std::unique_lock lock(mutex);
        cancelled = true;
        taken.notify_all();
        for (std::size_t g = head; g < num_launched; ++g) {
            if (!groups[g].finished && queue.withdraw(groups[g].ticket)) --num_under_way;
        }
        idle.wait(lock, [&] { return num_under_way == 0; });
        for (auto& group : groups) release(group);
        groups.clear();
        head = num_launched = 0;
    }

    void release(Group& group) { queue.release(std::exchange(group.reserved_bytes, 0)); }
};

class EngineIterator final : public FrameReader::Iterator {
public:
    EngineIterator(FrameReaderImpl& reader, EngineQueue& queue, NumDecoders num_decoders, FrameOrder order)
        : counted_(queue, false),
          read_(std::make_shared<Read>(reader, queue, counted_.share(), order)),
          num_decoders_(std::move(num_decoders)) {}
    ~EngineIterator() override { read_->cancel(); }
    EngineIterator(const EngineIterator&) = delete;
    EngineIterator& operator=(const EngineIterator&) = delete;

    /// Begins to decode a group while the index is being made, of about `expected` packets.
    void add(EarlyGroup early, std::int64_t expected) {
        std::lock_guard lock(read_->mutex);
        if (read_->groups.empty()) {
            // As many at once as when all groups are known, so that they end together (decoders_for_even_turns()).
            const auto each = early.segment.num_packets();
            read_->num_decoders = num_decoders_(expected, (expected + each - 1) / each);
        }
        read_->groups.push_back({std::move(early.index), std::move(early.segment), std::move(early.packets)});
        read_->launch();
    }

    /// Begins the read of `groups`, of which the first are at work already; `early` may know packets of the others.
    void start(const std::shared_ptr<const StreamIndex>& index, std::vector<std::int64_t> numbers,
               std::vector<Segment> groups, const EarlyGroups& early) {
        numbers_ = std::move(numbers);
        index_ = index;
        const auto total = num_packets(groups);
        std::lock_guard lock(read_->mutex);
        read_->num_decoders = num_decoders_(total, static_cast<std::int64_t>(groups.size()));
        for (auto g = read_->groups.size(); g < groups.size(); ++g) {
            auto packets = early.packets_of(groups[g]);
            read_->groups.push_back({index, std::move(groups[g]), std::move(packets)});
        }
        read_->launch();
    }

    std::optional<Frame> next() override {
        if (fallback_) return fallback_->next();
        if (ready_.empty() && !fill()) return fallback_ ? fallback_->next() : std::nullopt;
        auto frame = std::move(ready_.front());
        ready_.pop_front();
        ++num_given_;
        // An early group's last frame has none of the packet's own: it goes on to a frame that was not known then.
        if (frame.duration == 0) frame.duration = index_->frame(frame.index).duration;
        return frame;
    }

private:
    /// Takes what the group being read has ready; false at the end, and where one decoder must go on alone.
    bool fill() {
        std::unique_lock lock(read_->mutex);
        while (read_->head < read_->groups.size()) {
            auto& group = read_->groups[read_->head];
            Group* giver = nullptr;
            {
                const StageScope scope(Stage::wait);
                read_->given.wait(lock, [&] { return (giver = read_->giver()) != nullptr || group.finished; });
            }
            if (giver != nullptr) {
                ready_.swap(giver->ready);
                read_->taken.notify_all();
                return true;
            }
            if (group.mismatch && read_->order == FrameOrder::any) throw IndexMismatch{group.segment.wanted.front()};
            if (group.mismatch) {
                lock.unlock();
                recover();
                return false;
            }
            if (group.error) std::rethrow_exception(group.error);
            read_->release(group);
            if (++read_->head < read_->num_launched) read_->queue.hurry(read_->groups[read_->head].ticket);
            read_->launch();
        }
        return false;
    }

    /// The prediction failed: number the frames by decoding and go on with one decoder.
    void recover() {
        read_->cancel();
        auto& reader = read_->reader;
        if (!reader.index()->scanned()) reader.rescan();
        const auto stride = numbers_.size() > 1 ? numbers_[1] - numbers_[0] : 1;
        fallback_ = make_streaming_iterator(reader, numbers_[num_given_], stride,
                                            static_cast<std::int64_t>(numbers_.size() - num_given_));
    }

    EngineQueue::Read counted_;
    std::shared_ptr<Read> read_;
    NumDecoders num_decoders_;
    std::shared_ptr<const StreamIndex> index_;
    std::vector<std::int64_t> numbers_;
    std::deque<Frame> ready_;
    std::size_t num_given_ = 0;
    std::unique_ptr<FrameReader::Iterator> fallback_;
};

}  // namespace

std::unique_ptr<FrameReader::Iterator> make_engine_iterator(FrameReaderImpl& reader, const FrameSelection& selection,
                                                            EngineQueue& queue, const NumDecoders& num_decoders,
                                                            FrameOrder order) {
    const int num_turns = queue.turns_for_a_read();
    const bool many = queue.more_reads_than_engines();
    auto iterator = std::make_unique<EngineIterator>(reader, queue, num_decoders, order);
    const auto stated = reader.stream().num_frames;
    const auto expected = selection.count < 0 ? stated : std::min(selection.count, stated);
    auto least = packets_a_kept_turn(expected, num_turns, many);
    EarlyGroups early({static_cast<std::size_t>(queue.num_turns()), selection.count, least},
                      [&](EarlyGroup group) { iterator->add(std::move(group), expected); });
    PacketFeed::Seen seen;
    if (selection.start == 0 && selection.stride == 1) {
        seen = [&](const StreamIndexBuilder& so_far, Packet packet) { early.add(so_far, std::move(packet)); };
    }
    auto index = reader.index(seen);
    auto numbers = reader.select_clipped(selection);
    auto segments = plan_segments(*index, numbers);
    if (early.empty()) least = packets_a_kept_turn(num_packets(segments), num_turns, many);
    auto groups = join_short_segments(std::move(segments), least);
    if (!early.hold(*index, groups)) {
        iterator.reset();  // waits for what is under way
        iterator = std::make_unique<EngineIterator>(reader, queue, num_decoders, order);
    }
    if (selection.stride == 1 && groups.size() <= 1) return nullptr;
    iterator->start(index, std::move(numbers), std::move(groups), early);
    return iterator;
}

}  // namespace tricodec
