// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "read/frame_sink.h"
#include "read/indexed_video.h"
#include "read/read_plan.h"

namespace tricodec {

/// One read in progress: GOP ranges go to decoders, and their frames to a sink.
///
/// All reads of several decoders run here: a tensor, a list of frames, an iterator, batches, the tasks of DALI. Tasks
/// begin in the order of their frames. A task that decodes ahead of its consumer waits while the sink has no room; one
/// with a frame that the consumer waits for never does. So the frame that is awaited is always being decoded. If the
/// index does not describe the stream, the read stops, has the frames numbered again, and restarts at the first frame
/// that the consumer does not have. Errors are given in the order of frames too, so that the same read fails in the
/// same way, whatever the number of decoders.
///
/// Thread safety: one thread drives it; run_task() from several at once.
class Read : public std::enable_shared_from_this<Read> {
public:
    /// Numbers of the wanted frames, ascending and distinct, by the index that is in force.
    using Resolve = std::function<std::vector<std::int64_t>()>;
    using MakePlan =
        std::function<ReadPlan(const std::shared_ptr<const StreamIndex>&, std::span<const std::int64_t> numbers)>;

    /// `video` and `sink` must stay valid until run() or finish() has returned, or cancel() has.
    [[nodiscard]] static std::shared_ptr<Read> make(IndexedVideo& video, FrameSink& sink, Resolve resolve,
                                                    MakePlan make_plan);

    /// Frames of the read.
    [[nodiscard]] std::int64_t count() const noexcept { return count_; }
    [[nodiscard]] const ReadPlan& plan() const noexcept { return plan_; }

    /// Decodes all frames, on this thread and others of the pool, or in the slots of a GPU.
    void run();

    /// For a thread pool of the caller's: each task once, then finish(), which decodes again after a wrong index.
    void run_task(std::size_t t);
    void finish();

    /// For a consumer that takes frames in order: the consumer has taken all before `begin`, and waits for those before
    /// `end`. Begins to decode at the first call. Returns `end`, or the number of frames where the read has fewer.
    /// Those before `needed` (at least `end`) may be decoded without room in the sink.
    std::int64_t await(std::int64_t begin, std::int64_t end, std::int64_t needed);
    /// Returns once no thread uses the video or the sink any more.
    void cancel();

private:
    struct Task {
        std::int64_t first = 0;  ///< position of its first frame
        std::int64_t end = 0;
        std::int64_t put_until = 0;  ///< the frames before it were given to the sink
        std::int64_t reserved_bytes = 0;
    };
    struct Failure {
        std::int64_t position = 0;  ///< of the first frame that is missing
        bool stale = false;
        std::exception_ptr error;
    };

    Read(IndexedVideo& video, FrameSink& sink, Resolve resolve, MakePlan make_plan);
    void make_tasks(std::int64_t from);
    /// Nothing if all went well.
    std::optional<Failure> decode(std::size_t t);
    /// False if the read was cancelled.
    bool await_room(const Task& task, std::int64_t position);
    void work(std::size_t t, std::int64_t generation);

    // The mutex is held by the caller of these.
    void launch();
    bool reserve(Task& task);
    void release(Task& task);
    void release_taken();
    [[nodiscard]] bool has_all(std::int64_t end) const;
    [[nodiscard]] const Failure* first_failure(std::int64_t end) const;
    void stop(std::unique_lock<std::mutex>& lock);
    /// After stop(): has the frames numbered again and plans those from `from` on.
    void restart(std::unique_lock<std::mutex>& lock, std::int64_t from);

    IndexedVideo& video_;
    FrameSink& sink_;
    const Resolve resolve_;
    const MakePlan make_plan_;
    const std::int64_t frame_bytes_;

    std::shared_ptr<const StreamIndex> index_;
    ReadPlan plan_;
    std::vector<Task> tasks_;
    std::int64_t count_ = 0;

    std::mutex mutex_;
    std::condition_variable changed_;  // frames were given to the sink, or a task has ended
    std::condition_variable room_;     // frames were taken, or never will be
    std::atomic<std::int64_t> needed_{0};
    std::int64_t taken_ = 0;           // frames that the consumer has
    std::int64_t awaited_ = 0;         // the consumer waits for frames before it
    std::size_t head_ = 0;             // the first task with frames that the consumer does not have
    std::size_t next_ = 0;             // the task that begins next
    int num_begun_ = 0;                // tasks that were begun and have not ended
    int num_working_ = 0;              // those that have a thread
    std::int64_t reserved_bytes_ = 0;  // of all tasks
    std::int64_t generation_ = 0;      // of the tasks
    std::atomic<bool> cancelled_{false};
    std::vector<Failure> failures_;
};

}  // namespace tricodec
