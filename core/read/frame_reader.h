// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "index/frame_times.h"
#include "read/indexed_video.h"
#include "read/iterators.h"
#include "read/read_scheduler.h"
#include "read/slot_sinks.h"
#include "selection/rules.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec {

/// A face: each call is a request, and a sink for the frames that a Read of the IndexedVideo gives.
class FrameReaderImpl final : public FrameReader {
public:
    FrameReaderImpl(const MediaSource& source, const FrameReaderOptions& options)
        : source_(source), options_(options), video_(source, options), opened_on_(video_.pool().device()) {}

    const MediaInfo& info() const noexcept override { return video_.info(); }
    const StreamInfo& stream() const noexcept override { return video_.stream(); }
    std::string engine() const override { return video_.pool().engine(); }
    Device device() const noexcept override { return video_.pool().device(); }

    std::int64_t num_frames() override { return video_.index()->num_frames(); }
    void expect_frames() override { video_.expect_frames(); }
    const std::vector<double>& pts_seconds() override { return times().pts_seconds(); }
    std::vector<FrameTime> frame_times() override;
    std::vector<std::int64_t> key_frames() override { return video_.index()->entry_frames(); }
    std::int64_t index_at(double seconds) override;
    TimeSpan time_span(std::span<const std::int64_t> indices) override;
    VideoTimes video_times() override { return times().video_times(); }

    Frame frame(std::int64_t index) override;
    std::vector<Frame> frames(const FrameRequest& request) override;
    Batch batch(const FrameRequest& request, const Transform& transform) override;
    std::vector<SelectedFrames> read_into(std::vector<Part> parts, std::optional<StreamView> stream) override;
    void each(const FrameRequest& request, Receiver receiver) override;
    Plan plan_parts(std::vector<Part> parts, const PlanOptions& options) override;
    Plan plan_frames(std::vector<FrameRequest> requests, Receiver receiver, const PlanOptions& options) override;
    Frame geometry(std::int64_t index) override;
    std::unique_ptr<Iterator> iterate(const FrameSelection& selection) override;
    std::unique_ptr<BatchIterator> batches(const FrameSelection& selection, std::int64_t batch_size,
                                           const Transform& transform) override;
    MemoryNeed memory_required(const FrameSelection& selection, const Transform& transform,
                               std::optional<std::int64_t> batch_size) override;
    std::vector<DecodeIssue> issues() const override { return video_.issues(); }
    void close_idle_decoders(std::size_t num_kept) override { video_.pool().close_idle(num_kept); }
    std::int64_t num_damaged_packets() const override { return video_.num_damaged_packets(); }
    ReadStats stats() const override {
        return {video_.num_bytes_read(), video_.pool().num_sent(), video_.pool().num_left_out()};
    }
    void save_index(const std::filesystem::path& path) override { video_.save_index(path); }
    std::vector<Gop> gops() override { return video_.index()->gops(); }
    std::shared_ptr<const FrameIndex> frame_index() override { return video_.frame_index(); }
    std::unique_ptr<FrameReader> reopen_in_child(bool at_rest) override;

    [[nodiscard]] IndexedVideo& video() noexcept { return video_; }
    [[nodiscard]] const IndexedVideo& video() const noexcept { return video_; }

private:
    /// As the frames are numbered now.
    [[nodiscard]] const FrameTimes& times();
    /// A frame of a call that follows the one before; nothing if it is read better otherwise.
    [[nodiscard]] std::optional<Frame> next_frame(std::int64_t number);
    [[nodiscard]] Frame lone_frame(std::int64_t i);
    /// True for the frame after the last one: more such requests are likely.
    [[nodiscard]] bool follows(std::int64_t number) const noexcept {
        return last_given_ >= 0 && number == last_given_ + 1;
    }
    /// A selection of frames some steps apart: with a start from 0, in range, for iterators. Throws
    /// Error(invalid_argument, out_of_range).
    [[nodiscard]] FrameRange resolved(const FrameSelection& selection);

    /// Reads what a call waits for. On a GPU the frames of a call that continues the one before are read as single
    /// frames in order are.
    void read(SlotSink& sink);
    [[nodiscard]] bool read_in_order(SlotSink& sink);
    void read_planned(SlotSink& sink);
    /// Where the calls of the caller are.
    void remember(std::span<const std::int64_t> numbers);
    /// The same as tasks for the caller's threads.
    [[nodiscard]] Plan plan(const std::shared_ptr<SlotSink>& sink, const PlanOptions& options);
    /// True if `numbers` look like a part of a read from one end to the other.
    [[nodiscard]] bool continues_last(std::span<const std::int64_t> numbers) const;
    /// True if more is likely to be asked from where a read of `numbers` ends.
    [[nodiscard]] bool is_resumable(std::span<const std::int64_t> numbers);

    MediaSource source_;
    FrameReaderOptions options_;
    IndexedVideo video_;
    Device opened_on_;
    std::optional<FrameTimes> times_;
    std::unique_ptr<FollowingRead> following_;  // frames that are asked for in order
    bool sizes_doubted_ = false;                // a read has met a frame of another size than the headers', or may have
    std::int64_t last_given_ = -1;
    std::int64_t num_in_order_ = 0;  // frames asked for in order, up to that one
};

}  // namespace tricodec
