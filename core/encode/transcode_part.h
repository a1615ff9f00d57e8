// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "encode/output_clock.h"
#include "encode/picture_adapter.h"
#include "tricodec/encode/encoder.h"
#include "tricodec/io/media_source.h"
#include "tricodec/read/frame_reader.h"

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
        std::unique_lock lock(mutex_);
        wait_interruptibly(there_, lock, [&] { return !items_.empty() || ended_ || abandoned_; });
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

/// A part of a source, in frames, and what they become.
struct PartPlan {
    std::int64_t first_frame = 0;
    std::int64_t num_frames = -1;                   ///< -1: to the end
    std::optional<std::int64_t> first_place{};      ///< of the first frame (OutputClock); nothing for its own time
    std::optional<std::int64_t> end_place{};        ///< where the last frame ends, if it is not the source's last
    std::int64_t shift = 0;                         ///< taken off every place, in units of the video stream
    std::shared_ptr<const FrameIndex> known_index;  ///< of a reader of the same source
    int stream_index = -1;
    PictureSettings pictures;
    bool deinterlace = false;
};

/// Frames by their numbers, read, adapted and encoded: a chain of stages, each on a thread. The consumer pops the
/// packets. Thread safety: one consumer.
class TranscodePart {
public:
    /// `reader` may be null: then the part opens `source` itself.
    TranscodePart(const MediaSource& source, std::unique_ptr<FrameReader> reader, PartPlan plan);
    /// Stops the stages and waits for them.
    ~TranscodePart();

    /// The next packet, or nothing at the end. Throws what a stage threw.
    [[nodiscard]] std::optional<Packet> pop();
    /// The stages come to an end with the frames that they have: what was encoded still comes out.
    void cancel() noexcept { cancelled_ = true; }
    /// The encoder is made with the part, so that its stream is known at once.
    [[nodiscard]] const Encoder& encoder() const noexcept { return *encoder_; }
    /// What was read, and its damage; once pop() has given nothing.
    [[nodiscard]] FrameReader& reader() const noexcept { return *reader_; }

private:
    void read();
    void encode();
    void encode_at(Frame frame, OutputClock::Place place);
    void emit(std::vector<Packet> packets);
    void run(void (TranscodePart::*stage)());

    PartPlan plan_;
    std::unique_ptr<FrameReader> reader_;
    std::unique_ptr<Encoder> encoder_;
    PictureAdapter adapt_;
    std::int64_t last_pts_ = kNoTimestamp;            // of what the encoder was sent, in its units
    std::map<std::int64_t, std::int64_t> durations_;  // by that time, of the pictures in the encoder
    BoundedQueue<Frame> frames_{8};
    BoundedQueue<Packet> out_{256};
    std::atomic<bool> cancelled_{false};
    std::atomic<bool> ended_{false};
    std::mutex mutex_;
    std::exception_ptr error_;
    std::vector<std::jthread> threads_;  // last: they use all of the above
};

/// A reader of the frames that a part with these options transcodes.
[[nodiscard]] std::unique_ptr<FrameReader> open_for_transcode(const MediaSource& source, int stream_index,
                                                              const EncoderOptions& encoder,
                                                              std::shared_ptr<const FrameIndex> known_index = nullptr);

}  // namespace tricodec
