// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "decode/decoder_records.h"
#include "encode/picture_adapter.h"
#include "tricodec/base/interrupt.h"
#include "tricodec/encode/encoder.h"
#include "tricodec/media/demuxer.h"
#include "tricodec/media/media_source.h"
#include "tricodec/tensor/frame.h"

namespace tricodec {

/// What one stage of a pipeline hands to the next, so many at most. Thread safety: safe.
template <class T>
class BoundedQueue {
public:
    explicit BoundedQueue(std::size_t most) : most_(most) {}

    /// Waits for room. False, and the item is dropped, if the queue was abandoned.
    bool push(T item) {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [&] { return items_.size() < most_ || abandoned_; });
        if (abandoned_) return false;
        items_.push_back(std::move(item));
        there_.notify_one();
        return true;
    }
    /// Waits for an item; nothing once the queue is ended and empty, or abandoned. Throws what check_interrupt()
    /// throws.
    std::optional<T> pop() {
        constexpr auto kBetweenChecks = std::chrono::milliseconds(100);
        std::unique_lock lock(mutex_);
        while (!there_.wait_for(lock, kBetweenChecks, [&] { return !items_.empty() || ended_ || abandoned_; })) {
            lock.unlock();
            check_interrupt();
            lock.lock();
        }
        if (items_.empty() || abandoned_) return std::nullopt;
        std::optional<T> item(std::move(items_.front()));
        items_.pop_front();
        room_.notify_one();
        return item;
    }
    /// No more items will come.
    void end() {
        std::lock_guard lock(mutex_);
        ended_ = true;
        there_.notify_all();
    }
    [[nodiscard]] bool abandoned() const {
        std::lock_guard lock(mutex_);
        return abandoned_;
    }
    /// Both sides stop: what is in the queue is of no use any more.
    void abandon() {
        std::lock_guard lock(mutex_);
        abandoned_ = true;
        there_.notify_all();
        room_.notify_all();
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable there_;
    std::condition_variable room_;
    std::deque<T> items_;
    std::size_t most_;
    bool ended_ = false;
    bool abandoned_ = false;
};

/// What one part of a source becomes: the frames with pts in [first_pts, end_pts) of the video stream.
struct PartPlan {
    std::optional<std::int64_t> first_pts;
    std::optional<std::int64_t> end_pts;
    PictureSettings pictures;
    bool deinterlace = false;
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
    std::atomic<bool> ended_{false};
    std::mutex mutex_;
    std::exception_ptr error_;
    std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace tricodec
