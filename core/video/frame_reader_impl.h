// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "tricodec/frame_reader.h"
#include "video/decoder_pool.h"
#include "video/engine_queue.h"
#include "video/packet_feed.h"
#include "video/read_plan.h"
#include "video/segment.h"
#include "video/sequential_decoder.h"
#include "video/stream_index.h"

namespace tricodec {

class FrameReaderImpl final : public FrameReader {
public:
    FrameReaderImpl(const MediaSource& source, const FrameReaderOptions& options);

    const MediaInfo& info() const noexcept override { return feed_.info(); }
    const StreamInfo& stream() const noexcept override { return feed_.stream(); }
    std::string engine() const override { return pool_.engine(); }
    Device device() const noexcept override { return pool_.device(); }
    /// See tricodec/engines.h.
    [[nodiscard]] int num_engines() const noexcept { return pool_.num_engines(); }

    std::int64_t num_frames() override;
    const std::vector<double>& pts_seconds() override;
    std::vector<std::int64_t> key_frames() override;
    std::int64_t index_at(double seconds) override;

    Frame frame(std::int64_t index) override;
    std::vector<Frame> frames(std::span<const std::int64_t> indices) override;
    Tensor batch(std::span<const std::int64_t> indices, const Transform& transform) override;
    Tensor batch(const FrameSelection& selection, const Transform& transform) override;
    void batch_into(std::span<const std::int64_t> indices, const Transform& transform, const TensorView& out,
                    std::optional<StreamView> stream) override;
    Plan plan_parts(std::vector<Part> parts, const PlanOptions& options) override;
    Plan plan_frames(std::span<const std::int64_t> indices, Writer write, const PlanOptions& options) override;
    Frame geometry() override;
    std::unique_ptr<Iterator> iterate(const FrameSelection& selection) override;
    std::unique_ptr<BatchIterator> batches(const FrameSelection& selection, std::int64_t batch_size,
                                           const Transform& transform) override;
    std::vector<DecodeIssue> issues() const override;
    void close_idle_decoders(std::size_t num_kept) override { pool_.close_idle(num_kept); }
    std::int64_t num_damaged_packets() const override;
    void save_index(const std::filesystem::path& path) override;
    std::shared_ptr<const FrameIndex> frame_index() override;

    /// The frame after the last one given, for iterators: decodes on without seeking where it can.
    std::optional<Frame> frame_in_order(std::int64_t index);
    /// The index, numbered; built at the first call. Snapshots stay as they are when the frames are numbered anew.
    /// `seen`: see PacketFeed::build_index(); it is not called if no packets need be read for it.
    std::shared_ptr<const StreamIndex> index(const PacketFeed::Seen& seen = {});
    [[nodiscard]] bool has_index() const noexcept { return index_ != nullptr; }
    void run(const std::shared_ptr<const StreamIndex>& index, const Segment& segment, const RunOptions& options,
             const std::function<void(Frame)>& sink) {
        pool_.run(feed_, index, segment, options, sink);
    }
    [[nodiscard]] const DecoderPool& pool() const noexcept { return pool_; }
    /// FrameReaderOptions::context.
    [[nodiscard]] std::uintptr_t context() const noexcept { return context_; }
    /// Numbers the frames by decoding all of them, after an IndexMismatch.
    void rescan();
    /// Cores of the CPU, or engines of the GPU; FrameReaderOptions::num_workers if that was given.
    [[nodiscard]] int num_workers() const noexcept { return num_workers_; }
    /// On a GPU.
    [[nodiscard]] EngineQueue& engine_queue() const { return EngineQueue::of(device(), pool_.num_engines()); }
    /// On a GPU: how many decoders are worth having for a read of so many packets in so many groups of pictures.
    [[nodiscard]] int num_decoders(std::int64_t num_packets, std::int64_t num_groups) const;
    [[nodiscard]] NumDecoders num_decoders() const {
        return [this](std::int64_t packets, std::int64_t groups) { return num_decoders(packets, groups); };
    }
    /// As select(), with a count that ends with the video.
    [[nodiscard]] std::vector<std::int64_t> select_clipped(const FrameSelection& selection);
    [[nodiscard]] int num_threads() const noexcept { return num_threads_; }
    /// The same of one that has only so many of the cores.
    [[nodiscard]] int num_threads(int num_cores) const;

private:
    /// Of decoders on a GPU's engines, for a read that begins now and is spread over them; 0 for none.
    [[nodiscard]] int num_turns() const {
        return shares_engines_ && pool_.num_engines() > 0 ? engine_queue().turns_for_a_read() : 0;
    }
    /// Writes the index to where the options say, if they do.
    void keep_index();
    using Sink = std::function<void(Frame)>;
    std::int64_t checked(std::int64_t index);
    /// Gives each of `numbers` (ascending, distinct) to `sink`, from several threads at once if there are several
    /// tasks. `goes_on`: see RunOptions.
    void decode(std::span<const std::int64_t> numbers, bool goes_on, const Sink& sink);
    void decode_once(std::span<const std::int64_t> numbers, bool goes_on, const Sink& sink);
    /// Runs them on cores of the CPU, or in turns on the GPU's engines.
    void run_tasks(std::vector<std::function<void()>> tasks, std::int64_t num_packets);
    [[nodiscard]] ReadPlan plan_own_read(std::span<const std::int64_t> numbers, bool goes_on);
    /// True if `numbers` look like a part of a read from one end to the other.
    [[nodiscard]] bool goes_on(std::span<const std::int64_t> numbers) const;
    /// How the frames of these numbers are to be decoded.
    using MakePlan = std::function<ReadPlan(std::span<const std::int64_t>)>;
    [[nodiscard]] Plan plan_transform(std::vector<Part> parts, std::optional<StreamView> stream,
                                      const MakePlan& make_plan);
    /// For tasks that a caller runs.
    [[nodiscard]] ReadPlan plan_tasks(std::span<const std::int64_t> numbers, const PlanOptions& options);
    /// Nothing where there are too few groups of pictures, or the index's frames are not those that came.
    [[nodiscard]] std::optional<Tensor> batch_while_indexing(const FrameSelection& selection,
                                                             const Transform& transform);
    /// plan_frames(); `restart` is called before all frames are given to `write` again under new numbers.
    [[nodiscard]] Plan plan_writes(std::span<const std::int64_t> indices, Writer write, std::function<void()> restart,
                                   const MakePlan& make_plan);

    int num_workers_;
    bool shares_engines_ = false;  // on a GPU, and the caller did not say how many decoders
    std::filesystem::path index_path_;
    PacketFeed feed_;
    int num_threads_;  // of a decoder that works alone
    DecoderPool pool_;
    std::uintptr_t context_;
    std::shared_ptr<const StreamIndex> index_;
    std::shared_ptr<const FrameIndex> frame_index_;  // of index_, or the one that was given and not looked at yet
    std::vector<double> pts_seconds_;
    SequentialDecoder sequential_;
    std::int64_t last_given_ = -1;
};

}  // namespace tricodec
