// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "index/gop_range.h"
#include "read/indexed_video.h"
#include "selection/rules.h"

namespace tricodec {

class DecoderSlots;

/// GOP ranges that one decoder decodes one after another.
struct DecodeTask {
    std::vector<GopRange> ranges;
    int num_threads = 1;  ///< of the decoder

    /// Packets from the first to the last of each range.
    [[nodiscard]] std::int64_t num_packets() const noexcept { return tricodec::num_packets(ranges); }
};

[[nodiscard]] std::int64_t num_packets(std::span<const DecodeTask> tasks) noexcept;

/// How a read is spread over decoders.
struct ReadPlan {
    std::vector<DecodeTask> tasks;  ///< in the order of their frames, in which they begin
    int num_decoders = 1;           ///< tasks at work at once
    DecoderSlots* slots = nullptr;  ///< of the GPU that decodes; null on the CPU
    std::int64_t most_bytes = 0;    ///< of frames ahead on a GPU; 0 is what the slots allow
    bool resumable = false;         ///< RangeDecoder::Options::resumable, of the last task
};

/// What a plan is made for.
struct ReadResources {
    int max_tasks = 1;
    int num_cores = 1;    ///< that the tasks share
    int num_threads = 1;  ///< of a decoder that works alone
    /// If not 0: not at most `max_tasks` of equal work, but a task for each GOP range, for so many slots of a GPU.
    int num_slots = 0;
};

/// Tasks for independent decoders, each on one thread while there are tasks enough for all cores.
[[nodiscard]] ReadPlan plan_tasks(const StreamIndex& index, std::span<const std::int64_t> frames,
                                  const ReadResources& resources);

/// The same; or with the GOP ranges that would leave cores idle at the end decoded last, each by a decoder with
/// threads; or one decoder with threads from the first frame to the last: the plan with the shortest longest task.
/// `resume_packet`: where an idle decoder stands on the way to the first frame, -1 none.
///
/// Note [Threads of a decoder]: independent GOP ranges use the cores in full. The threads of one decoder wait for each
/// other's rows. The plans are compared by the pictures that are decoded on the longest way through them.
[[nodiscard]] ReadPlan plan_fastest(const StreamIndex& index, std::span<const std::int64_t> frames,
                                    const ReadResources& resources, std::int64_t resume_packet);

/// GOP ranges for the slots of a GPU, in order.
///
/// Note [Length of a task on a GPU]: a decoder is idle for the time of a few pictures between the last one of a task
/// and the first one of the next, so tasks are not too short. Every decoder has several tasks of a read, so that all of
/// them end at about the same time. While other reads have the slots, tasks are longer: where two tasks meet at an open
/// GOP, both decode its key frame.
[[nodiscard]] std::vector<DecodeTask> plan_for_slots(const StreamIndex& index, std::span<const std::int64_t> frames,
                                                     int num_slots);

/// The plan of a call that waits for all of its frames. `resumable`: as ReadPlan has it, for one decoder.
[[nodiscard]] ReadPlan plan_read(const IndexedVideo& video, const std::shared_ptr<const StreamIndex>& index,
                                 std::span<const std::int64_t> numbers, bool resumable);
/// The same as at most `max_tasks` for threads of the caller's; `num_cores` 0 for all of the video's workers.
[[nodiscard]] ReadPlan plan_tasks(const IndexedVideo& video, const StreamIndex& index,
                                  std::span<const std::int64_t> numbers, int max_tasks, int num_cores);

/// True where an iteration over `selection` begins without the index: to read all packets first would delay its first
/// frame for little.
[[nodiscard]] bool begins_without_index(const IndexedVideo& video, const FrameRange& selection);

/// GOP ranges for decoders that work ahead of an iteration over these frames.
[[nodiscard]] ReadPlan plan_ahead(const IndexedVideo& video, const StreamIndex& index,
                                  std::span<const std::int64_t> numbers);
/// The same, if several decoders are worth it.
[[nodiscard]] std::optional<ReadPlan> plan_frames_ahead(const IndexedVideo& video, const StreamIndex& index,
                                                        std::span<const std::int64_t> numbers);
/// Of frames that several decoders of the CPU decode ahead.
[[nodiscard]] std::int64_t most_bytes_ahead(const IndexedVideo& video);

/// How batches are decoded on the CPU.
struct BatchesPlan {
    ReadPlan read;
    std::int64_t most_bytes = 0;  ///< of batches that the consumer does not have yet
};
[[nodiscard]] BatchesPlan plan_batches(const IndexedVideo& video, const StreamIndex& index,
                                       std::span<const std::int64_t> numbers, std::int64_t batch_bytes,
                                       std::int64_t frame_bytes);

}  // namespace tricodec
