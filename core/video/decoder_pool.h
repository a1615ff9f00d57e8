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

/// Raised when decoding gives other frames than the index foretold; the stream must be scanned.
struct IndexMismatch {
    std::int64_t frame;
};

/// Decoders of one stream for reuse, and the running of segments on them.
/// Thread safety: safe.
class DecoderPool {
public:
    DecoderPool(StreamInfo stream, std::string device) : stream_(std::move(stream)), device_(std::move(device)) {}

    /// A decoder at its start. `fresh` demands one that has seen no packets.
    [[nodiscard]] std::unique_ptr<Decoder> acquire(int num_threads, bool fresh);
    /// Takes a decoder back, with its reports.
    void release(std::unique_ptr<Decoder> decoder, int num_threads);

    /// Decodes a segment and hands each wanted frame to `sink`, ascending, with index and times set.
    /// Throws IndexMismatch.
    void run(PacketFeed& feed, const StreamIndex& index, const Segment& segment, int num_threads,
             const std::function<void(Frame)>& sink);

    /// Decodes the whole stream to number its frames, and tells whether any picture was damaged.
    [[nodiscard]] std::vector<IndexedFrame> scan(PacketFeed& feed, const StreamIndex& index, int num_threads, bool& damaged);

    [[nodiscard]] std::vector<DecodeIssue> issues() const;
    void collect_issues(const Decoder& decoder);
    [[nodiscard]] std::string engine() const;

private:
    struct Idle {
        std::unique_ptr<Decoder> decoder;
        int num_threads;
    };
    StreamInfo stream_;
    std::string device_;
    mutable std::mutex mutex_;
    std::vector<Idle> idle_;
    std::vector<DecodeIssue> issues_;
    std::string engine_;
};

}  // namespace tricodec
