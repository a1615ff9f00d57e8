// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tricodec/decoder.h"
#include "video/packet_feed.h"
#include "video/segment.h"

namespace tricodec {

/// Raised when decoding gives other frames than the index foretold, or damaged ones; the stream must be scanned.
///
/// Note [Damaged streams]: how a codec conceals damage depends on its number of threads. A stream found damaged is
/// decoded by one thread, from the start, so that its frames are the same every time and by every path.
struct IndexMismatch {
    std::int64_t frame;
};

/// Decoders of one stream for reuse, and the running of segments on them.
/// Thread safety: safe.
class DecoderPool {
public:
    DecoderPool(std::string name, StreamInfo stream, std::string device)
        : name_(std::move(name)), stream_(std::move(stream)), device_(std::move(device)) {}

    /// A decoder at its start. `fresh` demands one that has seen no packets.
    [[nodiscard]] std::unique_ptr<Decoder> acquire(int num_threads, bool fresh);
    /// Takes a decoder back, and its reports if they tell of the stream rather than of where decoding began.
    void release(std::unique_ptr<Decoder> decoder, int num_threads, bool report);

    /// Decodes a segment and hands each wanted frame to `sink`, ascending, with index and times set.
    /// Throws IndexMismatch.
    void run(PacketFeed& feed, const StreamIndex& index, const Segment& segment, int num_threads,
             const std::function<void(Frame)>& sink);

    struct Scan {
        std::vector<IndexedFrame> frames;
        bool damaged = false;
    };
    /// Decodes the whole stream to number its frames, and tells whether any picture was damaged.
    [[nodiscard]] Scan scan(PacketFeed& feed, const StreamIndex& index, int num_threads);

    [[nodiscard]] std::vector<DecodeIssue> issues() const;
    void collect_issues(const Decoder& decoder);
    [[nodiscard]] std::string engine() const;

private:
    [[nodiscard]] Scan scan_once(PacketFeed& feed, const StreamIndex& index, int num_threads);
    struct Idle {
        std::unique_ptr<Decoder> decoder;
        int num_threads;
    };
    std::string name_;  // of the source, for messages
    StreamInfo stream_;
    std::string device_;
    mutable std::mutex mutex_;
    std::vector<Idle> idle_;
    std::vector<DecodeIssue> issues_;
    std::string engine_;
};

}  // namespace tricodec
