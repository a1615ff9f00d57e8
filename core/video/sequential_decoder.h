// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "video/decoder_pool.h"

namespace tricodec {

/// One decoder running on through the stream, for frames asked for in order.
class SequentialDecoder {
public:
    SequentialDecoder(PacketFeed& feed, DecoderPool& pool, int num_threads)
        : feed_(feed), pool_(pool), num_threads_(num_threads) {}
    ~SequentialDecoder();
    SequentialDecoder(const SequentialDecoder&) = delete;
    SequentialDecoder& operator=(const SequentialDecoder&) = delete;

    /// From the first frame on, counting them: needs no index.
    void start_counting();
    /// From frame `i` on.
    void start_at(std::int64_t i, std::shared_ptr<const StreamIndex> index);
    /// Frees the decoder.
    void stop();

    [[nodiscard]] bool running() const noexcept { return decoder_ != nullptr; }
    /// Number of the frame that next() gives.
    [[nodiscard]] std::int64_t next_frame() const noexcept { return next_frame_; }
    /// Throws IndexMismatch if an index does not hold.
    [[nodiscard]] std::optional<Frame> next();

private:
    [[nodiscard]] std::optional<Frame> pull();
    [[nodiscard]] std::int64_t number_of(const Frame& frame);
    void restart(int num_threads);

    PacketFeed& feed_;
    DecoderPool& pool_;
    int num_threads_;
    std::unique_ptr<Decoder> decoder_;
    std::shared_ptr<const StreamIndex> index_;  // null while counting
    std::int64_t next_packet_ = 0;
    std::int64_t next_frame_ = 0;
    std::int64_t num_seen_ = 0;
    std::int64_t num_collected_ = 0;  // of the decoder's reports
    int decoder_threads_ = 1;
    bool expects_reports_ = false;
    bool ended_ = false;
};

}  // namespace tricodec
