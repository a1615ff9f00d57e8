// SPDX-License-Identifier: Apache-2.0
#include "video/frame_iterator.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>

#include "base/executor.h"
#include "base/stage_scope.h"
#include "tricodec/error.h"
#include "tricodec/limits.h"
#include "video/engine_iterator.h"

namespace tricodec {
namespace {

// Reading every packet to find the key frames is cheap below this size; above, the first frame would come late.
constexpr std::int64_t kIndexedBelowBytes = 64 << 20;
// Without an index one engine of several works.
constexpr std::int64_t kIndexedBelowBytesOnGpu = std::int64_t{4} << 30;
constexpr std::size_t kHeadFrames = 4;  // what the group being read may always hold, whatever the memory bound
constexpr std::int64_t kAheadBytesPerWorker = 16 << 20;

/// Note [Decoding ahead]: a decoder that works on a later group of pictures must wait once its share of the memory is
/// full, until the groups before have been given out. When n decoders have fallen into step, a group's turn comes every
/// n-th part of the time that one takes, so that (n - 1) / n of a group are ready by then. Groups go to several
/// decoders only where the shares hold that much; otherwise one decoder uses the cores by threads of its own (Note
/// [Threads of a codec]).
struct Spread {
    int num_decoders = 1;
    int num_threads = 1;
    std::int64_t share_bytes = 0;  ///< what each decoder but the one whose frames are given out may hold
};

Spread spread_over(const FrameReaderImpl& reader, const std::vector<Segment>& segments) {
    std::size_t longest = 0;
    for (const auto& segment : segments) longest = std::max(longest, segment.wanted.size());
    const auto& stream = reader.stream();
    const auto frame_bytes = stream.pixel_format == PixelFormat::unknown
                                 ? std::int64_t{stream.width} * stream.height * 2
                                 : info(stream.pixel_format).packed_bytes(stream.width, stream.height);
    const int num_workers = reader.num_workers();
    if (num_workers < 2) return {};
    const auto most_bytes = std::min(limits().max_buffered_bytes, kAheadBytesPerWorker * num_workers);
    const auto share_bytes = most_bytes / (num_workers - 1);
    const auto frames_ahead = static_cast<std::int64_t>(longest) * (num_workers - 1) / num_workers;
    const bool fit = frames_ahead * frame_bytes <= share_bytes;
    if (fit && segments.size() > 1) return {num_workers, 1, share_bytes};
    return {1, reader.num_threads(), 0};
}

/// One decoder, frame after frame.
class StreamingIterator final : public FrameReader::Iterator {
public:
    StreamingIterator(FrameReaderImpl& reader, std::int64_t start, std::int64_t stride, std::int64_t count)
        : reader_(reader), next_(start), stride_(stride), left_(count) {}

    std::optional<Frame> next() override {
        if (left_ == 0) return std::nullopt;
        const auto wanted = next_;
        // Frames in between are decoded and dropped; far ones are reached through the index (GroupIterator).
        for (auto i = wanted - (first_ ? 0 : stride_ - 1);; ++i) {
            auto frame = reader_.frame_in_order(i);
            if (!frame) {
                left_ = 0;
                return std::nullopt;
            }
            if (i < wanted) continue;
            first_ = false;
            next_ += stride_;
            if (left_ > 0) --left_;
            return frame;
        }
    }

private:
    FrameReaderImpl& reader_;
    std::int64_t next_;
    std::int64_t stride_;
    std::int64_t left_;
    bool first_ = true;
};

/// Groups of pictures on several decoders, given out in order; what is decoded ahead is bounded in bytes.
class GroupIterator final : public FrameReader::Iterator {
public:
    GroupIterator(FrameReaderImpl& reader, std::shared_ptr<const StreamIndex> index, std::vector<std::int64_t> numbers,
                  std::vector<Segment> segments, const Spread& spread)
        : reader_(reader), shared_(std::make_shared<Shared>()), numbers_(std::move(numbers)) {
        shared_->index = std::move(index);
        shared_->spread = spread;
        for (auto& segment : segments) {
            shared_->groups.emplace_back();
            shared_->groups.back().segment = std::move(segment);
        }
        launch();
    }

    ~GroupIterator() override { cancel(); }

    std::optional<Frame> next() override {
        if (fallback_) return fallback_->next();
        std::unique_lock lock(shared_->mutex);
        while (shared_->head < shared_->groups.size()) {
            auto& group = shared_->groups[shared_->head];
            {
                const StageScope scope(Stage::wait);
                shared_->changed.wait(lock, [&] { return !group.ready.empty() || group.finished; });
            }
            if (!group.ready.empty()) {
                auto frame = std::move(group.ready.front());
                group.ready.pop_front();
                group.held_bytes -= frame.size_bytes();
                shared_->changed.notify_all();
                ++num_given_;
                return frame;
            }
            if (group.mismatch) {
                lock.unlock();
                return recover();
            }
            if (group.error) std::rethrow_exception(group.error);
            ++shared_->head;
            shared_->changed.notify_all();
            lock.unlock();
            launch();
            lock.lock();
        }
        return std::nullopt;
    }

private:
    struct Group {
        Segment segment;
        std::deque<Frame> ready;
        std::int64_t held_bytes = 0;
        bool finished = false;
        bool mismatch = false;
        std::exception_ptr error;
    };
    struct Shared {
        std::mutex mutex;
        std::condition_variable changed;
        std::shared_ptr<const StreamIndex> index;
        std::vector<Group> groups;
        std::size_t head = 0;  // the group being given out
        std::size_t launched = 0;
        int num_running = 0;
        bool cancelled = false;
        Spread spread;
    };
    struct Cancelled {};

    void launch() {
        std::lock_guard lock(shared_->mutex);
        const auto ahead = shared_->head + static_cast<std::size_t>(shared_->spread.num_decoders);
        while (shared_->launched < std::min(shared_->groups.size(), ahead)) {
            ++shared_->num_running;
            submit([&reader = reader_, shared = shared_, g = shared_->launched] { decode_group(reader, *shared, g); });
            ++shared_->launched;
        }
    }

    static void decode_group(FrameReaderImpl& reader, Shared& shared, std::size_t g) {
        auto& group = shared.groups[g];
        std::exception_ptr error;
        bool mismatch = false;
        try {
            reader.run(shared.index, group.segment, {shared.spread.num_threads}, [&](Frame frame) {
                std::unique_lock lock(shared.mutex);
                shared.changed.wait(lock, [&] {
                    const bool room = g == shared.head ? group.ready.size() < kHeadFrames
                                                       : group.held_bytes < shared.spread.share_bytes;
                    return shared.cancelled || room;
                });
                if (shared.cancelled) throw Cancelled{};
                group.held_bytes += frame.size_bytes();
                group.ready.push_back(std::move(frame));
                shared.changed.notify_all();
            });
        } catch (const Cancelled&) {
        } catch (const IndexMismatch&) {
            mismatch = true;
        } catch (...) {
            error = std::current_exception();
        }
        std::lock_guard lock(shared.mutex);
        group.finished = true;
        group.mismatch = mismatch;
        group.error = error;
        --shared.num_running;
        shared.changed.notify_all();
    }

    void cancel() {
        std::unique_lock lock(shared_->mutex);
        shared_->cancelled = true;
        shared_->changed.notify_all();
        shared_->changed.wait(lock, [&] { return shared_->num_running == 0; });  // they use the reader
        shared_->groups.clear();
        shared_->head = shared_->launched = 0;
    }

    /// The prediction failed: number the frames by decoding and go on with one decoder.
    std::optional<Frame> recover() {
        cancel();
        if (!reader_.index()->scanned()) reader_.rescan();
        const auto at = numbers_[num_given_];
        const auto stride = numbers_.size() > 1 ? numbers_[1] - numbers_[0] : 1;
        fallback_ = std::make_unique<StreamingIterator>(reader_, at, stride,
                                                        static_cast<std::int64_t>(numbers_.size() - num_given_));
        return fallback_->next();
    }

    FrameReaderImpl& reader_;
    std::shared_ptr<Shared> shared_;
    std::vector<std::int64_t> numbers_;
    std::size_t num_given_ = 0;
    std::unique_ptr<StreamingIterator> fallback_;
};

}  // namespace

std::unique_ptr<FrameReader::Iterator> make_streaming_iterator(FrameReaderImpl& reader, std::int64_t start,
                                                               std::int64_t stride, std::int64_t count) {
    return std::make_unique<StreamingIterator>(reader, start, stride, count);
}

std::unique_ptr<FrameReader::Iterator> make_frame_iterator(FrameReaderImpl& reader, const FrameSelection& selection) {
    TRICODEC_EXPECT(selection.stride >= 1, invalid_argument,
                    "stride is " + std::to_string(selection.stride) + "; it must be at least 1");
    TRICODEC_EXPECT(selection.count >= -1, invalid_argument,
                    "count is " + std::to_string(selection.count) + "; use -1 for all frames, or a number from 0");
    const bool from_start = selection.start == 0;
    const bool short_read = selection.count >= 0 && selection.count < 8;
    const auto size_bytes = reader.info().size_bytes;
    const auto indexed_below =
        reader.device().kind == Device::Kind::cuda ? kIndexedBelowBytesOnGpu : kIndexedBelowBytes;
    const bool small_file = size_bytes >= 0 && size_bytes < indexed_below && reader.stream().parameters != nullptr;
    const bool worth_indexing = reader.has_index() || !from_start || selection.stride > 1 ||
                                (reader.num_workers() > 1 && small_file && !short_read && !reader.info().elementary);
    if (!worth_indexing) return std::make_unique<StreamingIterator>(reader, 0, selection.stride, selection.count);

    const bool on_engines = reader.device().kind == Device::Kind::cuda && reader.num_workers() > 1;
    if (on_engines) {
        if (auto iterator = make_engine_iterator(reader, selection, reader.engine_queue(), reader.num_decoders())) {
            return iterator;
        }
    }
    auto index = reader.index();
    const auto numbers = reader.select_clipped(selection);
    auto segments = plan_segments(*index, numbers);
    if (on_engines) {
        const auto least = packets_a_turn(num_packets(segments), reader.engine_queue().num_turns());
        segments = join_short_segments(std::move(segments), least);
    }
    const auto spread = spread_over(reader, segments);
    // With a stride there is much that need not be decoded; one after another, one decoder that runs on is as good.
    if (selection.stride == 1 && spread.num_decoders == 1) {
        const auto start = numbers.empty() ? 0 : numbers.front();
        return std::make_unique<StreamingIterator>(reader, start, selection.stride,
                                                   static_cast<std::int64_t>(numbers.size()));
    }
    return std::make_unique<GroupIterator>(reader, std::move(index), numbers, std::move(segments), spread);
}

}  // namespace tricodec
