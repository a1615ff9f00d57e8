// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "read/indexed_video.h"
#include "read/read_scheduler.h"
#include "selection/rules.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec {

/// Frames in order by one decoder on the caller's thread, without an index where the read begins at frame 0 and the
/// video has none yet.
class SequentialRead final : public FrameReader::Iterator {
public:
    SequentialRead(IndexedVideo& video, ResolveSelection resolve)
        : video_(video), resolve_(std::move(resolve)), num_threads_(video.num_threads()) {
        const auto selection = resolve_();
        next_ = selection.start;
        stride_ = selection.stride;
        left_ = selection.count;
    }

    std::optional<Frame> next() override;
    /// Number of the frame that next() gives.
    [[nodiscard]] std::int64_t next_number() const noexcept { return next_; }

private:
    /// False past the last frame.
    bool open();
    std::optional<Frame> next_of_decoder();

    IndexedVideo& video_;
    const ResolveSelection resolve_;
    const int num_threads_;
    std::shared_ptr<const StreamIndex> index_;  // null while counting
    std::unique_ptr<RangeDecoder> decoder_;
    std::int64_t next_ = 0;
    std::int64_t stride_ = 1;
    std::int64_t left_ = -1;  // with the video's last frame
    bool gave_ = false;       // a frame
};

/// Frames that wait for their consumer.
class FrameQueue final : public FrameSink {
public:
    explicit FrameQueue(std::int64_t most_bytes) : most_bytes_(most_bytes) {}

    void put(std::int64_t position, Frame frame) override;
    bool make_room(std::int64_t position) override;
    void restart(std::int64_t position, std::int64_t count) override;
    [[nodiscard]] Frame take(std::int64_t position);

private:
    std::mutex mutex_;
    std::map<std::int64_t, Frame> frames_;  // by position
    std::int64_t held_bytes_ = 0;
    const std::int64_t most_bytes_;
};

/// The selected frames in order, by decoders that work ahead of the consumer.
class FramesAhead final : public FrameReader::Iterator {
public:
    /// `most_bytes`: of frames that wait, where the plan has no slots.
    FramesAhead(IndexedVideo& video, ResolveSelection resolve, std::int64_t most_bytes, Read::MakePlan make_plan);
    ~FramesAhead() override { read_->cancel(); }
    FramesAhead(const FramesAhead&) = delete;
    FramesAhead& operator=(const FramesAhead&) = delete;

    std::optional<Frame> next() override;

private:
    static constexpr std::int64_t kFramesNeeded = 4;  // that may be ready, whatever the memory bound

    FrameQueue queue_;
    FrameRange selection_{};
    std::int64_t next_ = 0;
    std::shared_ptr<Read> read_;
};

/// The selected frames by one decoder, or, for a long read of a video with an index, by
/// several that decode GOP ranges ahead of the consumer.
[[nodiscard]] std::unique_ptr<FrameReader::Iterator> make_frame_iterator(IndexedVideo& video, ResolveSelection resolve);

/// Frames in order that the caller asks for one by one or some at a time, and may stop asking for at any time.
///
/// One decoder stays at its place. On a GPU one decoder uses one engine, so once kFramesInOrder frames were asked for
/// in order, several decoders read the following GOP ranges ahead, within kMostBytes of memory.
class FollowingRead {
public:
    static constexpr int kFramesInOrder = 16;  // the usual clip is read without decoding what follows it
    static constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

    /// `make_plan`, if any, plans the decoders that read ahead. `num_before`: frames that were asked for in order
    /// before `first`.
    FollowingRead(IndexedVideo& video, std::int64_t first, Read::MakePlan make_plan, std::int64_t num_before = 0);

    /// Number of the frame that next() gives.
    [[nodiscard]] std::int64_t next_number() const noexcept { return next_; }
    /// Nothing past the last frame, and after the frames were numbered again in a way that leaves out this one.
    [[nodiscard]] std::optional<Frame> next();
    [[nodiscard]] bool reads_ahead() const noexcept { return reads_ahead_; }

private:
    IndexedVideo& video_;
    const Read::MakePlan make_plan_;
    std::int64_t next_;
    std::int64_t num_given_;
    bool reads_ahead_ = false;
    std::unique_ptr<FrameReader::Iterator> frames_;
};

/// How a read of single frames goes ahead on the GPU that decodes the video; nothing on the CPU.
[[nodiscard]] Read::MakePlan plan_following(IndexedVideo& video);

/// Frames that ListedFrames reads at a time: enough to decode a GOP range once, few enough to keep.
constexpr std::int64_t kListedFramesAtATime = 8;

/// Iterate over the frames of a selection that are in any order, some at a time. If a read renumbers the frames, the
/// iteration continues at the same place of the selection.
class ListedFrames final : public FrameReader::Iterator {
public:
    ListedFrames(FrameReader& reader, FrameSelection selection) : reader_(reader), selection_(std::move(selection)) {
        static_cast<void>(reader.select(selection_));  // throws for frames that are not there
    }

    std::optional<Frame> next() override {
        if (ready_.empty()) {
            auto frames = reader_.frames({selection_, given_, kListedFramesAtATime});
            ready_.assign(std::move_iterator(frames.begin()), std::move_iterator(frames.end()));
            given_ += std::ssize(frames);
        }
        if (ready_.empty()) return std::nullopt;
        std::optional<Frame> frame = std::move(ready_.front());
        ready_.pop_front();
        return frame;
    }

private:
    FrameReader& reader_;
    FrameSelection selection_;
    std::int64_t given_ = 0;
    std::deque<Frame> ready_;
};

class ListedBatches final : public FrameReader::BatchIterator {
public:
    ListedBatches(FrameReader& reader, FrameSelection selection, std::int64_t batch_size, Transform transform)
        : reader_(reader),
          selection_(std::move(selection)),
          batch_size_(batch_size),
          transform_(std::move(transform)),
          left_(std::ssize(reader.select(selection_))) {}

    std::optional<Tensor> next() override {
        if (left_ <= 0) return std::nullopt;
        auto batch = reader_.batch({selection_, given_, batch_size_}, transform_);
        const auto num_read = std::ssize(batch.frames.numbers);
        given_ += num_read;
        left_ = num_read == 0 ? 0 : left_ - num_read;
        return num_read == 0 ? std::nullopt : std::optional(std::move(batch.tensor));
    }

private:
    FrameReader& reader_;
    FrameSelection selection_;
    std::int64_t batch_size_;
    Transform transform_;
    std::int64_t left_;  // as the frames were numbered at the start
    std::int64_t given_ = 0;
};

/// Batches of the selected frames through a Transform, decoded ahead on the CPU: GOP ranges on several decoders where
/// the batches of whole ranges fit the memory bound, else one decoder with threads of its own. Each frame is written
/// straight into its batch by the thread that decoded it. `shape`: gives that of a frame that comes out, as far as is
/// known when it is called.
[[nodiscard]] std::unique_ptr<FrameReader::BatchIterator> make_batch_iterator(
    IndexedVideo& video, ResolveSelection resolve, std::int64_t batch_size, const Transform& transform,
    std::function<std::vector<std::int64_t>()> shape);

/// Batches of `frames` through a Transform on the GPU that decodes `video`.
[[nodiscard]] std::unique_ptr<FrameReader::BatchIterator> batch_frames(const IndexedVideo& video,
                                                                       std::unique_ptr<FrameReader::Iterator> frames,
                                                                       std::int64_t batch_size,
                                                                       const Transform& transform);

}  // namespace tricodec
