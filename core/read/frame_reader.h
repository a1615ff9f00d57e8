// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "index/frame_times.h"
#include "read/frame_iterator.h"
#include "read/indexed_video.h"
#include "read/read_scheduler.h"
#include "read/slot_sinks.h"
#include "selection/frame_range.h"
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
    void read_selected(const Select& select, const ReadNumbers& read) override;

    Frame frame(std::int64_t index) override;
    std::vector<Frame> frames(std::span<const std::int64_t> indices) override;
    Tensor batch(std::span<const std::int64_t> indices, const Transform& transform) override;
    Tensor batch(const FrameSelection& selection, const Transform& transform) override;
    void parts_into(std::vector<Part> parts, std::optional<StreamView> stream) override;
    void each(std::span<const std::int64_t> indices, const Writer& write) override;
    Plan plan_parts(std::vector<Part> parts, const PlanOptions& options) override;
    Plan plan_frames(std::span<const std::int64_t> indices, Writer write, const PlanOptions& options) override;
    Frame geometry(std::int64_t index) override;
    std::unique_ptr<Iterator> iterate(const FrameSelection& selection) override;
    std::unique_ptr<BatchIterator> batches(const FrameSelection& selection, std::int64_t batch_size,
                                           const Transform& transform) override;
    MemoryNeed memory_of_batch(std::span<const std::int64_t> indices, const Transform& transform) override;
    MemoryNeed memory_of_batches(const FrameSelection& selection, std::int64_t batch_size,
                                 const Transform& transform) override;
    MemoryNeed memory_of_frames(const FrameSelection& selection) override;
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
    /// A number from 0 for one that may count from the end. Throws Error(out_of_range).
    [[nodiscard]] std::int64_t checked(std::int64_t index);
    [[nodiscard]] Frame numbered_frame(std::int64_t number);
    /// True for the frame after the last one: more such requests are likely.
    [[nodiscard]] bool follows(std::int64_t number) const noexcept {
        return last_given_ >= 0 && number == last_given_ + 1;
    }
    /// Bytes of a frame that comes out of the transform.
    [[nodiscard]] std::int64_t output_bytes(const Transform& transform);
    [[nodiscard]] Tensor empty_batch(std::span<const std::int64_t> indices, const Transform& transform,
                                     std::optional<StreamView> stream);
    /// A selection of frames some steps apart: with a start from 0, in range, for iterators. Throws
    /// Error(invalid_argument, out_of_range).
    [[nodiscard]] FrameRange resolved(const FrameSelection& selection);
    /// Of reads of `num_frames` frames at a time, the one that takes most; each frame gives `output_bytes`.
    [[nodiscard]] MemoryNeed memory_of_listed(const FrameSelection& selection, std::int64_t num_frames,
                                              std::int64_t output_bytes);

    /// The frames of a call for several, or of one into a tensor. On a GPU those of a call that continues the one
    /// before are read as single frames in order are.
    void give(SlotSink& sink);
    /// Where the calls of the caller are.
    void remember(std::span<const std::int64_t> numbers);
    /// Decodes frames to a sink that takes each distinct one, ascending, for the calls that wait for all of them.
    void read(FrameSink& sink, std::vector<std::int64_t> numbers, bool resumable);
    /// The same as tasks for the caller's threads.
    [[nodiscard]] Plan plan(std::shared_ptr<FrameSink> sink, std::vector<std::int64_t> numbers,
                            const PlanOptions& options);
    /// True if `numbers` look like a part of a read from one end to the other.
    [[nodiscard]] bool continues_last(std::span<const std::int64_t> numbers) const;
    /// Those that a call names, after renumbering. Throws Error(out_of_range).
    void expect_still_there(std::span<const std::int64_t> numbers);

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
