// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "video/index/stream_index.h"

namespace tricodec {

class DecoderSlots;

/// Packets to decode from a random access point on, and the frames wanted of them, ascending.
struct GopRange {
    std::int64_t entry = 0;  ///< the random access point
    std::int64_t last = 0;
    std::vector<std::int64_t> wanted;
    std::int64_t num_decoded = 0;  ///< packets that go to the decoder, as far as the index knows

    [[nodiscard]] std::int64_t num_packets() const noexcept { return last - entry + 1; }
};

[[nodiscard]] std::int64_t num_packets(std::span<const GopRange> ranges) noexcept;

/// The least decoding that gives `frames` (ascending, distinct): each range starts at the nearest random access point
/// and ends with the last packet needed. Ranges that touch stay apart, so that they can go to different decoders.
[[nodiscard]] std::vector<GopRange> plan_ranges(const StreamIndex& index, std::span<const std::int64_t> frames);

/// The ranges as at most `max_lists` lists of about equal work. Ranges of one list that touch are joined.
[[nodiscard]] std::vector<std::vector<GopRange>> balance(std::vector<GopRange> ranges, int max_lists);

/// Joins ranges that touch until each has at least `least` packets.
[[nodiscard]] std::vector<GopRange> join_short_ranges(std::vector<GopRange> ranges, std::int64_t least);

/// Joins all ranges to one that decodes from the first entry to the last packet.
[[nodiscard]] GopRange join_all(const StreamIndex& index, std::vector<GopRange> ranges);

/// Which packets of a range the wanted pictures need.
///
/// Note [Needed pictures]: an AV1 picture takes all that it needs from the slots that its header names. A walk from the
/// end of a range to its start knows which slots are still to be read, so it knows which packets fill a slot for a
/// picture that is needed. Of every eighth picture of a hierarchy of four layers, most others are left out. Packets
/// with headers that leave it open, all of other codecs among them, are needed and may need any slot.
struct NeededPackets {
    std::int64_t first = 0;
    std::vector<bool> needed;  ///< from packet `first` to the last of the range
    std::uint8_t slots = 0;    ///< that must hold their pictures before `first`

    [[nodiscard]] bool contains(std::int64_t k) const {
        const auto i = static_cast<std::size_t>(k - first);
        return i >= needed.size() || needed[i];
    }
};

/// Of the packets from `first` on.
[[nodiscard]] NeededPackets needed_packets(const StreamIndex& index, const GopRange& range, std::int64_t first);

/// How many packets from `first` on go to a decoder; Note [Pictures left out].
[[nodiscard]] std::int64_t count_decoded(const StreamIndex& index, const GopRange& range, std::int64_t first);

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
    bool goes_on = false;           ///< RangeDecoder::Options::goes_on, of the last task
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
/// them end at about the same time (docs/notes/2026-11-gpu.md).
[[nodiscard]] std::vector<DecodeTask> plan_for_slots(const StreamIndex& index, std::span<const std::int64_t> frames,
                                                     int num_slots);

}  // namespace tricodec
