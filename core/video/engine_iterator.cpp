// SPDX-License-Identifier: Apache-2.0
#include "video/engine_iterator.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

#include "video/frame_iterator.h"

namespace tricodec {
namespace {

constexpr std::size_t kUnreservedFrames = 4;  // what the group being read may always hold

struct Cancelled {};

struct Group {
    Segment segment;
    std::deque<Frame> ready;
    std::int64_t reserved_bytes = 0;
    EngineQueue::Ticket ticket = 0;
    bool finished = false;
    bool mismatch = false;
    std::exception_ptr error;
};

/// A read in progress. Groups work on it from the pool's threads, which may end a little later than the iterator.
struct Read : std::enable_shared_from_this<Read> {
    Read(FrameReaderImpl& frame_reader, std::shared_ptr<const StreamIndex> stream_index, EngineQueue& engine_queue,
         int decoders)
        : reader(frame_reader), index(std::move(stream_index)), queue(engine_queue), num_decoders(decoders) {}

    FrameReaderImpl& reader;
    const std::shared_ptr<const StreamIndex> index;
    EngineQueue& queue;
    const int num_decoders;
    std::int64_t frame_bytes = 0;

    std::mutex mutex;
    std::condition_variable given;  // the group being read has frames, or is done
    std::condition_variable taken;  // frames have been read, or nobody will
    std::condition_variable idle;   // no group is under way
    std::vector<Group> groups;
    std::size_t head = 0;  // the group being read
    std::size_t num_launched = 0;
    int num_under_way = 0;
    bool cancelled = false;

    /// The mutex is held.
    void launch() {
        while (num_launched < groups.size() && num_under_way < num_decoders) {
            auto& group = groups[num_launched];
            const bool is_next = num_launched == head;
            const auto bytes = static_cast<std::int64_t>(group.segment.wanted.size()) * frame_bytes;
            if (queue.reserve(bytes)) {
                group.reserved_bytes = bytes;
            } else if (!is_next) {
                return;
            }
            ++num_under_way;
            group.ticket = queue.add([self = shared_from_this(), g = num_launched] { self->decode(g); }, is_next);
            ++num_launched;
        }
    }

    void decode(std::size_t g) {
        std::exception_ptr error;
        bool mismatch = false;
        try {
            reader.run(index, segment_of(g), {}, [&](Frame frame) { put(g, std::move(frame)); });
        } catch (const Cancelled&) {
        } catch (const IndexMismatch&) {
            mismatch = true;
        } catch (...) {
            error = std::current_exception();
        }
        std::lock_guard lock(mutex);
        auto& group = groups[g];
        group.finished = true;
        group.mismatch = mismatch;
        group.error = error;
        --num_under_way;
        if (!cancelled && !error && !mismatch) launch();
        given.notify_one();
        if (num_under_way == 0) idle.notify_all();
    }

    Segment segment_of(std::size_t g) {
        std::lock_guard lock(mutex);
        if (cancelled) throw Cancelled{};
        return groups[g].segment;
    }

    void put(std::size_t g, Frame frame) {
        std::unique_lock lock(mutex);
        auto& group = groups[g];
        const auto room = [&] {
            return cancelled || group.reserved_bytes > 0 || group.ready.size() < kUnreservedFrames;
        };
        if (!room()) {
            queue.pause();
            taken.wait(lock, room);
            queue.resume();
        }
        if (cancelled) throw Cancelled{};
        group.ready.push_back(std::move(frame));
        if (g == head) given.notify_one();
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
    EngineIterator(FrameReaderImpl& reader, std::shared_ptr<const StreamIndex> index, std::vector<std::int64_t> numbers,
                   std::vector<Segment> groups, EngineQueue& queue, int num_decoders)
        : read_(std::make_shared<Read>(reader, std::move(index), queue, num_decoders)), numbers_(std::move(numbers)) {
        const auto& stream = reader.stream();
        read_->frame_bytes = stream.pixel_format == PixelFormat::unknown
                                 ? std::int64_t{stream.width} * stream.height * 2
                                 : info(stream.pixel_format).packed_bytes(stream.width, stream.height);
        read_->groups.resize(groups.size());
        for (std::size_t g = 0; g < groups.size(); ++g) read_->groups[g].segment = std::move(groups[g]);
        std::lock_guard lock(read_->mutex);
        read_->launch();
    }
    ~EngineIterator() override { read_->cancel(); }
    EngineIterator(const EngineIterator&) = delete;
    EngineIterator& operator=(const EngineIterator&) = delete;

    std::optional<Frame> next() override {
        if (fallback_) return fallback_->next();
        if (ready_.empty() && !fill()) return fallback_ ? fallback_->next() : std::nullopt;
        auto frame = std::move(ready_.front());
        ready_.pop_front();
        ++num_given_;
        return frame;
    }

private:
    /// Takes what the group being read has ready; false at the end, and where one decoder must go on alone.
    bool fill() {
        std::unique_lock lock(read_->mutex);
        while (read_->head < read_->groups.size()) {
            auto& group = read_->groups[read_->head];
            read_->given.wait(lock, [&] { return !group.ready.empty() || group.finished; });
            if (!group.ready.empty()) {
                ready_.swap(group.ready);
                read_->taken.notify_all();
                return true;
            }
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

    std::shared_ptr<Read> read_;
    std::vector<std::int64_t> numbers_;
    std::deque<Frame> ready_;
    std::size_t num_given_ = 0;
    std::unique_ptr<FrameReader::Iterator> fallback_;
};

}  // namespace

std::unique_ptr<FrameReader::Iterator> make_engine_iterator(FrameReaderImpl& reader,
                                                            std::shared_ptr<const StreamIndex> index,
                                                            std::vector<std::int64_t> numbers,
                                                            std::vector<Segment> groups, EngineQueue& queue,
                                                            int num_decoders) {
    return std::make_unique<EngineIterator>(reader, std::move(index), std::move(numbers), std::move(groups), queue,
                                            num_decoders);
}

}  // namespace tricodec
