// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "tricodec/packet.h"
#include "video/segment.h"
#include "video/stream_index_builder.h"

namespace tricodec {

/// A group of pictures that can be decoded before the whole index is known.
struct EarlyGroup {
    std::shared_ptr<const StreamIndex> index;  ///< of the packets up to it, and some more
    Segment segment;
    std::deque<Packet> packets;  ///< the segment's
};

/// Finds the first groups of pictures of a stream while its packets are being read for the index.
///
/// Note [Decoding before the index]: to read all packets of a file takes a good part of the time in which a GPU's
/// engines decode it: of 3,000 packets of 1080p 15 to 28 ms, where seven engines need 610 (H.264) or 330 (HEVC; H200,
/// 2026-11-22). Frames at the start also need not wait in line for their packets when all decoders begin. The index of
/// the packets read so far foretells the groups of the whole one but for the last two: the last one is cut off, and the
/// one before may be shown to have pictures that follow the key frame behind it, unless that says that it has none.
/// Streams may lie: whoever decodes the groups asks hold() once the index is whole.
class EarlyGroups {
public:
    struct Options {
        std::size_t most = 0;          ///< groups
        std::int64_t num_frames = -1;  ///< that are wanted, -1 all
        std::int64_t least = 1;        ///< packets of a group; see join_short_segments()
    };
    EarlyGroups(const Options& options, std::function<void(EarlyGroup)> launch)
        : options_(options), launch_(std::move(launch)) {}

    /// The packet that `so_far` was given last.
    void add(const StreamIndexBuilder& so_far, Packet packet);
    /// True if the groups launched are the first of `groups`, and their frames those of `index`.
    [[nodiscard]] bool hold(const StreamIndex& index, const std::vector<Segment>& groups) const;
    /// A segment's packets, if all of them were read and not given out with a group; else none.
    [[nodiscard]] std::deque<Packet> packets_of(const Segment& segment) const;
    [[nodiscard]] bool empty() const noexcept { return launched_.empty(); }

private:
    struct Launched {
        std::shared_ptr<const StreamIndex> index;
        Segment segment;
    };
    void look(const StreamIndexBuilder& so_far);
    void stop();

    Options options_;
    std::function<void(EarlyGroup)> launch_;
    bool stopped_ = false;
    std::int64_t looked_at_ = 0;  // the entry at which that was last done
    std::deque<Packet> packets_;  // from first_packet_ on
    std::int64_t first_packet_ = 0;
    std::size_t bytes_ = 0;  // of packets_
    std::vector<Launched> launched_;
};

}  // namespace tricodec
