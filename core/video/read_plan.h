// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "video/decoder_pool.h"
#include "video/segment.h"

namespace tricodec {

/// How a read is spread over decoders.
struct ReadPlan {
    /// One task: its segments run one after another.
    struct Group {
        std::vector<Segment> segments;
        int num_threads = 1;  ///< of the decoder

        /// Packets from the first to the last of each segment.
        [[nodiscard]] std::int64_t num_packets() const;
    };
    std::vector<Group> groups;  ///< in the order in which they are to be begun
    bool goes_on = false;       ///< RunOptions::goes_on, of the last group

    [[nodiscard]] std::int64_t num_packets() const;
    [[nodiscard]] RunOptions options(const Group& group) const {
        return {group.num_threads, goes_on && &group == &groups.back()};
    }
};

/// What a plan is made for.
struct ReadResources {
    int max_tasks = 1;
    int num_cores = 1;    ///< that the tasks share
    int num_threads = 1;  ///< of a decoder that works alone
    /// If not 0: not at most `max_tasks` of equal work, but every group of pictures, for so many decoders at once that
    /// take turns on a GPU's engines.
    int num_turns = 0;
};

/// Groups of pictures for independent decoders, each on one thread while there are tasks enough for all cores.
[[nodiscard]] ReadPlan plan_split(const StreamIndex& index, std::span<const std::int64_t> frames,
                                  const ReadResources& resources);

/// The same; or with the groups that leave cores without work taken out and decoded at the end, each by a decoder with
/// threads; or one decoder with threads that walks from the first frame to the last: whichever is soonest done.
/// `resume_packet`: where an idle decoder stands on the way to the first frame, -1 none.
///
/// Note [Threads of a codec]: independent groups of pictures use the cores in full, the threads of one decoder wait for
/// one another's rows. Pictures that are decoded are what is compared, of the longest way through the plan. Batches
/// of tensors on two cores, 1080p if not said, come from two decoders 1.24 (VP9), 1.05 (HEVC) and 1.21 (HEVC of 720p)
/// times as fast as from one with three threads, and from one with five 1.07, 1.02 and 1.14 times (side.json).
/// Of AV1, two decoders gave 279 where dav1d's threads gave 206.
[[nodiscard]] ReadPlan plan_read(const StreamIndex& index, std::span<const std::int64_t> frames,
                                 const ReadResources& resources, std::int64_t resume_packet);

}  // namespace tricodec
