// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tricodec/base/thread_pool.h"
#include "tricodec/container/demuxer.h"
#include "tricodec/decode/decoder.h"
#include "tricodec/image/transform.h"
#include "tricodec/index/frame_index.h"
#include "tricodec/selection/frame_selection.h"
#include "tricodec/tensor/frame.h"

namespace tricodec {

/// Which stream a `FrameReader` reads, where it decodes, and its index.
struct FrameReaderOptions {
    std::string device = "auto";
    int stream_index = -1;  ///< -1 is the best video stream
    int num_workers = 0;    ///< decoders at work on one read; 0 = from the cores, the codec and the size of pictures
    bool ignore_edit_list = false;
    /// Where the index is kept, or empty. It is read from there if it is of this source, else built when first needed
    /// and written there. An index that does not fit is replaced, and the log reports one that cannot be written; a
    /// file that is not an index is refused by open(), Error(invalid_argument).
    std::filesystem::path index{};
    /// Without `index`. A read that finds that the table is wrong reads all packets.
    IndexOrigin index_origin = IndexOrigin::automatic;
    /// As DecoderOptions::context.
    std::uintptr_t context = 0;
    /// FrameReader::frame_index() of an earlier reader, instead of building one. It has no effect if the source has
    /// changed.
    std::shared_ptr<const FrameIndex> known_index{};
    bool block_statistics = false;  ///< as DecoderOptions::block_statistics
    /// Shared by readers of one source, of which the first that meets damage logs it; null for a reader alone.
    std::shared_ptr<std::atomic<bool>> damage_is_logged{};
};

/// Memory that a read takes at its peak, by allocators as MemoryKind has them.
struct MemoryNeed {
    std::int64_t host_bytes = 0;     ///< pictures and arrays
    std::int64_t device_bytes = 0;   ///< the same in a GPU's memory
    std::int64_t decoder_bytes = 0;  ///< of NVDEC's decoders
    std::int64_t codec_bytes = 0;    ///< what codec libraries take from the system for themselves; a rough estimate
};

/// What the reads of a FrameReader have cost so far.
struct ReadStats {
    std::int64_t bytes_read = 0;            ///< from the source, headers included
    std::int64_t num_packets_decoded = 0;   ///< sent to decoders, each time
    std::int64_t num_packets_left_out = 0;  ///< of pictures that were not wanted and that nothing refers to
};

class FrameReader;

/// Which frames a call reads. The read resolves it by the numbers that the frames have, and resolves it again if it
/// finds that they have others: Note [Frames that are not there].
class FrameRequest {
public:
    /// What computes numbers from what the reader knows of the video; kNoFrame leaves a place free.
    using Numbers = std::function<std::vector<std::int64_t>(FrameReader& reader)>;

    // Implicit: a call takes any of them. NOLINTBEGIN(google-explicit-constructor)
    FrameRequest(FrameSelection selection) : frames_(Selected{std::move(selection)}) {}
    /// In this order; negative ones count from the end.
    FrameRequest(std::vector<std::int64_t> numbers) : frames_(std::move(numbers)) {}
    FrameRequest(Numbers numbers) : frames_(std::move(numbers)) {}
    // NOLINTEND(google-explicit-constructor)
    /// The frames of a selection from place `first` on, at most `count` of them.
    FrameRequest(FrameSelection selection, std::int64_t first, std::int64_t count)
        : frames_(Selected{std::move(selection), first, count}) {}

    /// The frames as they are numbered now; times only of a FrameSelection. Throws Error(out_of_range), and as
    /// FrameReader::selected().
    [[nodiscard]] SelectedFrames of(FrameReader& reader) const;

private:
    struct Selected {
        FrameSelection selection;
        std::int64_t first = 0;
        std::int64_t count = -1;  // -1 = all
    };
    std::variant<Selected, std::vector<std::int64_t>, Numbers> frames_;
};

/// A video as a sequence of frames in presentation order. Frame i is the i-th frame that decoding the whole stream
/// gives, by whatever path it is reached.
///
/// Note [Frames that are not there]: the headers of packets predict the frames. Where decoding gives other ones, as it
/// may of a damaged stream, the frames are numbered again by decoding the whole stream, and every request under way is
/// resolved again for the new number of frames, as if it had been known from the beginning. What is open-ended (a
/// selection without a count, a slice, an iterator) gives the frames that are left; a frame number, start or count that
/// asks for more is Error(out_of_range), which says how many frames there are. Calls return the frames that they have
/// read. Iterators keep what they have given and continue after it. issues() and num_damaged_packets() report the
/// damage.
///
/// Thread safety: one call at a time; a read uses several threads inside.
class FrameReader {
public:
    /// Opens the source and reads its headers; packets are indexed when a call first needs them.
    [[nodiscard]] static std::unique_ptr<FrameReader> open(const MediaSource& source,
                                                           const FrameReaderOptions& options = {});
    virtual ~FrameReader() = default;

    [[nodiscard]] virtual const MediaInfo& info() const noexcept = 0;
    [[nodiscard]] virtual const StreamInfo& stream() const noexcept = 0;
    [[nodiscard]] virtual std::string engine() const = 0;
    [[nodiscard]] virtual Device device() const noexcept = 0;

    [[nodiscard]] virtual std::int64_t num_frames() = 0;
    /// Presentation times in seconds, one a frame. A stream without time stamps counts frames at its frame rate.
    [[nodiscard]] virtual const std::vector<double>& pts_seconds() = 0;
    /// Of each frame, in units of stream().time_base.
    struct FrameTime {
        std::int64_t pts = kNoTimestamp;
        std::int64_t duration = 0;  ///< as its packet states it, 0 unknown
    };
    [[nodiscard]] virtual std::vector<FrameTime> frame_times() = 0;
    /// Numbers of the frames from which decoding can start.
    [[nodiscard]] virtual std::vector<std::int64_t> key_frames() = 0;
    using Gop = tricodec::Gop;
    /// In the order of their packets. Builds the index if need be.
    [[nodiscard]] virtual std::vector<Gop> gops() = 0;
    /// The frame on screen at a time, as TimePolicy::on_screen. Throws Error(out_of_range) before the least time of a
    /// frame, or after the frame with the greatest one has left the screen.
    [[nodiscard]] virtual std::int64_t index_at(double seconds) = 0;
    /// From the time of the first of some frames to the end of the last one, by VideoTimes::clock(): the time of the
    /// frame after it, or how long the last frame is shown. Both 0 of no frames. Throws Error(out_of_range).
    struct TimeSpan {
        double begin_seconds = 0.0;
        double end_seconds = 0.0;
    };
    [[nodiscard]] virtual TimeSpan time_span(std::span<const std::int64_t> indices) = 0;
    /// Throws Error(corrupt_data) with the first of issues() if the video has no frames: no packets, or none that can
    /// be decoded. All reads of a FrameSelection do, unless its count is 0.
    virtual void expect_frames() = 0;
    /// What selections need to know of the video. Valid until the frames are numbered again.
    [[nodiscard]] virtual VideoTimes video_times() = 0;
    /// The frames that a selection means, and the times that it asked for. Throws as select_frames() does.
    [[nodiscard]] SelectedFrames selected(const FrameSelection& selection);
    /// Their numbers.
    [[nodiscard]] std::vector<std::int64_t> select(const FrameSelection& selection) {
        return selected(selection).numbers;
    }
    /// One frame; negative counts from the end. Where calls ask for one frame after another, one decoder follows them.
    /// Throws Error(out_of_range).
    [[nodiscard]] virtual Frame frame(std::int64_t index) = 0;
    /// Frames in the order asked, repeats allowed. Memory grows with the number of different frames: throws
    /// Error(refused) where they take more than Limits::max_output_bytes, before it decodes as far as headers tell.
    [[nodiscard]] virtual std::vector<Frame> frames(const FrameRequest& request) = 0;
    /// Frames in one tensor [N, ...], and which they are.
    struct Batch {
        Tensor tensor;
        SelectedFrames frames;
    };
    /// Frames through a Transform into one tensor on device(); nothing else is kept. The host does not wait for a GPU:
    /// the tensor's buffer knows when it is complete.
    [[nodiscard]] virtual Batch batch(const FrameRequest& request, const Transform& transform) = 0;
    /// Gives the memory for frames of this shape, [N, ...], on the CPU or on a GPU. A read that has to start again asks
    /// again.
    using Place = std::function<TensorView(const std::vector<std::int64_t>& shape)>;
    /// One output of a read.
    struct Part {
        FrameRequest request;
        Transform transform;
        Place place;
    };
    /// Frames into memory of the caller's; each frame is decoded once. Returns the frames of each part. With `stream`,
    /// a GPU's output is written after what is queued there, and what is queued there later sees it; without one the
    /// host waits until it is complete.
    virtual std::vector<SelectedFrames> read_into(std::vector<Part> parts,
                                                  std::optional<StreamView> stream = std::nullopt) = 0;

    /// Takes frames as they are decoded, in place of a Transform.
    struct Receiver {
        /// Called before the first frame with those of all requests. Called again if the read has to start again.
        std::function<void(std::span<const SelectedFrames> frames)> start;
        /// Called with a frame and its place among all that were asked for, for different places at once.
        std::function<void(std::int64_t slot, const Frame& frame)> write;
    };
    virtual void each(const FrameRequest& request, Receiver receiver) = 0;

    /// A read cut into independent tasks for a thread pool of the caller's (DALI's). Each task decodes some groups of
    /// pictures with a decoder of its own and writes its frames' slots of the output, which must stay valid until then.
    /// finish() must follow all tasks. It reads the frames again that had wrong predicted numbers, and returns the
    /// frames of each part. It throws Error(out_of_range) for a frame that is not there, Error(unsupported) for the
    /// first one of another size. `max_tasks` are of about equal work; on a GPU, where decoders take turns, more than
    /// one means a task for each group of pictures.
    struct Plan {
        std::vector<std::function<void()>> tasks;
        std::vector<double> costs;  ///< frames to decode, for schedulers
        std::function<std::vector<SelectedFrames>()> finish;
    };
    /// How a read is divided into tasks.
    struct PlanOptions {
        int max_tasks = 1;
        int num_cores = 0;  ///< for tasks that are too few to use them: threads of the codec; 0 = num_workers
        std::optional<StreamView> stream{};  ///< as in read_into(); it is finish() that makes it wait for the output
        /// The next read is likely to begin where this one ends: the last decoder stays usable there.
        bool resumable = false;
    };
    /// As read_into().
    [[nodiscard]] virtual Plan plan_parts(std::vector<Part> parts, const PlanOptions& options) = 0;
    /// As each(), of several requests; the tasks call Receiver::write.
    [[nodiscard]] virtual Plan plan_frames(std::vector<FrameRequest> requests, Receiver receiver,
                                           const PlanOptions& options) = 0;
    /// The size and orientation of a frame, which is decoded where the headers do not tell.
    [[nodiscard]] virtual Frame geometry(std::int64_t index = 0) = 0;

    /// The selected frames. From `start` on, `stride` apart, they are decoded ahead on num_workers; the iterator ends
    /// after `count` or with the video. Other selections are read some frames at a time. The iterator borrows the
    /// reader: other calls in between are allowed and make it seek again.
    class Iterator {
    public:
        virtual ~Iterator() = default;
        [[nodiscard]] virtual std::optional<Frame> next() = 0;
    };
    [[nodiscard]] virtual std::unique_ptr<Iterator> iterate(const FrameSelection& selection) = 0;

    /// The selected frames through a Transform in tensors [batch_size, ...], the last one shorter where they do not
    /// divide. From `start` on, `stride` apart, batches are decoded ahead, and written by the threads that decode, and
    /// the iterator ends after `count` frames or with the video. Of other selections next() reads a batch. The iterator
    /// borrows the reader as iterate()'s does. next() throws Error(unsupported) naming the first frame that comes out
    /// in another shape.
    class BatchIterator {
    public:
        virtual ~BatchIterator() = default;
        [[nodiscard]] virtual std::optional<Tensor> next() = 0;
    };
    [[nodiscard]] virtual std::unique_ptr<BatchIterator> batches(const FrameSelection& selection,
                                                                 std::int64_t batch_size,
                                                                 const Transform& transform) = 0;

    /// What batch() of these frames takes, with its result; or, with a `batch_size`, batches() for a consumer that
    /// keeps one batch and is slower than the decoders. Builds the index if need be and decodes nothing, unless the
    /// headers do not tell the size of frames. Throws as these calls do for their arguments.
    [[nodiscard]] virtual MemoryNeed memory_required(const FrameSelection& selection, const Transform& transform,
                                                     std::optional<std::int64_t> batch_size) = 0;

    /// Builds the index if need be and writes it, for FrameReaderOptions::index of a later reader. Throws Error(io),
    /// and Error(invalid_argument) for a file that is there and is not an index.
    virtual void save_index(const std::filesystem::path& path) = 0;
    /// The index, built if need be. Another one after the frames had to be numbered again, by decoding.
    [[nodiscard]] virtual std::shared_ptr<const FrameIndex> frame_index() = 0;

    /// In a child made by fork(), where this reader's threads do not exist: a reader of the same source that knows what
    /// this one knew. This one must not be used or destroyed after that. `at_rest`: no call was in progress at the
    /// fork; else the new one begins with nothing. Throws Error(device) for a reader on a GPU, and as open() does.
    [[nodiscard]] virtual std::unique_ptr<FrameReader> reopen_in_child(bool at_rest) = 0;

    /// Frees decoders that no read uses, except for the `most` used last, which a reader keeps for the next reads.
    virtual void close_idle_decoders(std::size_t num_kept) = 0;

    /// Damage met so far, a report for each packet that could not be decoded whole, in packet order; of kMostIssues
    /// packets at most. A source that ends early, as far as its container shows that, is the last entry, one for all
    /// packets that are missing there.
    [[nodiscard]] virtual std::vector<DecodeIssue> issues() const = 0;
    /// What reading has cost so far.
    [[nodiscard]] virtual ReadStats stats() const = 0;
    /// The number of such packets, with those that issues() has no room for.
    [[nodiscard]] virtual std::int64_t num_damaged_packets() const = 0;
};

/// How many decoders of the reader's stream the hardware has: what callers that spread reads over threads of their own
/// (FrameReader::plan_parts) should keep at work. 0 where the CPU decodes it.
[[nodiscard]] int num_engines(const FrameReader& reader) noexcept;

}  // namespace tricodec
