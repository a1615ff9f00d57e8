// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tricodec/demuxer.h"
#include "tricodec/encoder.h"
#include "tricodec/media_source.h"
#include "tricodec/transform.h"
#include "video/bounded_queue.h"
#include "video/issue_list.h"

namespace tricodec {

/// What one part of a source becomes: the frames whose pts are in [first_pts, end_pts) of the video stream.
struct PartPlan {
    std::optional<std::int64_t> first_pts;
    std::optional<std::int64_t> end_pts;
    EncoderOptions encoder;
    std::optional<Crop> crop;
    std::int64_t shift = 0;  ///< taken off every time stamp, in units of the video stream
    bool with_audio = false;
};

/// A packet on its way to the muxer.
struct PartPacket {
    Packet packet;
    int source_stream = 0;  ///< number in the source
    bool video = false;
};

/// One chain of stages: demultiplex, decode, adapt and encode, each on a thread. The consumer pops the packets.
/// Thread safety: one consumer.
class TranscodePart {
public:
    TranscodePart(std::unique_ptr<Demuxer> demuxer, PartPlan plan);
    /// Stops the stages and waits for them.
    ~TranscodePart();
    TranscodePart(const TranscodePart&) = delete;
    TranscodePart& operator=(const TranscodePart&) = delete;

    /// The next packet, or nothing at the end. Throws what a stage threw.
    [[nodiscard]] std::optional<PartPacket> pop();
    /// The stages come to an end with the frames that they have: what was encoded still comes out.
    void cancel() noexcept { cancelled_ = true; }
    /// The encoder is made with the part, so that its stream is known at once.
    [[nodiscard]] const Encoder& encoder() const noexcept { return *encoder_; }
    [[nodiscard]] const std::string& decoder() const noexcept { return decoder_name_; }
    /// Packets in the part that could not be decoded whole, with the first one's message; once pop() has given nothing.
    [[nodiscard]] std::int64_t num_damaged() const noexcept { return damaged_.num_packets(); }
    [[nodiscard]] const std::string& first_damage() const noexcept { return first_damage_; }

private:
    void demux();
    void decode();
    void encode();
    void emit(std::vector<Packet> packets);
    void run(void (TranscodePart::*stage)());
    [[nodiscard]] bool wanted(std::int64_t pts) const noexcept;
    void note_damage();
    void note(DecodeIssue issue);

    PartPlan plan_;
    std::unique_ptr<Demuxer> demuxer_;
    StreamInfo video_;
    std::unique_ptr<Encoder> encoder_;
    std::unique_ptr<class Decoder> decoding_;
    std::string decoder_name_;
    StreamIssues damaged_;
    std::int64_t num_issues_ = 0;  // of the decoder, that note_damage() has seen
    std::string first_damage_;
    std::string ends_early_;  // written by demux() before it ends the packets
    BoundedQueue<Packet> packets_{64};
    BoundedQueue<Frame> frames_{8};
    BoundedQueue<PartPacket> out_{256};
    std::atomic<bool> cancelled_{false};
    std::mutex mutex_;
    std::exception_ptr error_;
    std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace tricodec
