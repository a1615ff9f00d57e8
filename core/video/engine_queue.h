// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "tricodec/device.h"

namespace tricodec {

/// What all reads of the process on one GPU share: turns on its decoding engines, and memory for frames decoded ahead.
///
/// Note [Turns on the engines]: making a decoder takes 40 ms, and the driver spreads the pictures of all decoders over
/// the engines. Two decoders for each keep the engines at work while some of them begin or end a stretch; more only
/// take memory and the host's time (21 and 28 on seven engines: 1 % less of H.264 than 14, a third more of the CPU). So
/// no more than two for each engine work at once, whatever the number of reads; a turn is a stretch of packets from a
/// key frame on, and whichever decoder is free takes the next one. Stretches that somebody waits for go first. Who has
/// a turn waits for nobody who needs one: where a reader is slow its stretch gives the turn away until it goes on.
///
/// Note [Turns that are kept]: a decoder that goes on with the next stretch of its read decodes nothing twice, and does
/// not stand still between the two. It may while nobody waits, or for 256 packets while others do; but not if somebody
/// waits for the first frames of a read. As long as more reads than there are engines are at work, each keeps to one
/// decoder: two of one read would cut the stretches of each other, and that many decoders keep the engines at work.
/// HEVC with open groups, turns of 60 packets: eight files came at 9,040 frames/s where they had come at 8,830 (at
/// 8,860 if free turns still went to stretches ahead), 16 at 8,980 for 8,800, 64 of 300 frames at 8,860 for 8,750, and
/// decoders that had nothing to wait for at 9,100 (H200, in turn, 2026-11-22).
///
/// Thread safety: safe.
class EngineQueue {
public:
    using Ticket = std::uint64_t;

    /// `most_bytes` is for all frames that wait to be read, unless limits().max_device_buffered_bytes is less.
    EngineQueue(int num_turns, std::int64_t most_bytes) : num_turns_(num_turns), most_bytes_(most_bytes) {}
    EngineQueue(const EngineQueue&) = delete;
    EngineQueue& operator=(const EngineQueue&) = delete;
    ~EngineQueue() = default;

    /// The one of a GPU, which has that many engines. It stays to the end of the process.
    [[nodiscard]] static EngineQueue& of(Device device, int num_engines);

    /// Turns that one read has now (Read::share()), which those who take them are counted to.
    using Share = std::shared_ptr<int>;

    enum class Urgency {
        ahead,  ///< nobody waits for it yet
        next,   ///< somebody does
        first,  ///< the same, and has had nothing of the read yet
    };
    /// Runs `work` on a thread of the pool when its turn comes. It must not throw.
    Ticket add(std::function<void()> work, const Share& share, Urgency urgency);
    /// Somebody waits for it now.
    void hurry(Ticket ticket);
    /// Asked by work in its turn that has come to its end: true if it may keep the turn for what comes next in its
    /// read. What `ticket` stands for, 0 nothing, is withdrawn then; false also if that has begun.
    [[nodiscard]] bool go_on(Ticket ticket, std::int64_t num_packets_so_far);
    /// True if the work had not begun: it never will.
    [[nodiscard]] bool withdraw(Ticket ticket);

    /// Work in its turn is about to wait for its reader ...
    void pause(const Share& share);
    /// ... and goes on. Its decoder exists: it need not wait again.
    void resume(const Share& share);

    /// A turn of a thread of the caller's, which waits for it; an urgent one.
    class Turn {
    public:
        Turn(EngineQueue& queue, Share share);
        ~Turn();
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

    private:
        EngineQueue& queue_;
        Share share_;
    };

    /// A read in progress. Reads at the same time share the turns.
    class Read {
    public:
        /// `by_threads`: it takes turns by threads of its own, which do nothing while they wait.
        Read(EngineQueue& queue, bool by_threads) : queue_(queue), by_threads_(by_threads) {
            ++queue_.num_reads_;
            if (by_threads_) ++queue_.num_reads_by_threads_;
        }
        ~Read() {
            --queue_.num_reads_;
            if (by_threads_) --queue_.num_reads_by_threads_;
        }
        Read(const Read&) = delete;
        Read& operator=(const Read&) = delete;

        /// Threads for it now, of `most` that it could use alone. Reads by threads have twice as many as there are
        /// engines between them: more would only wait for their turns.
        [[nodiscard]] int num_threads(int most) const noexcept;
        [[nodiscard]] const Share& share() const noexcept { return share_; }

    private:
        EngineQueue& queue_;
        bool by_threads_;
        Share share_ = std::make_shared<int>(0);
    };
    /// Turns at once that fall to a read that begins now.
    [[nodiscard]] int turns_for_a_read() const noexcept;
    /// True if, with one that begins now, more reads are in progress than there are engines.
    [[nodiscard]] bool more_reads_than_engines() const noexcept { return num_reads_ + 1 > num_engines(); }

    /// True if that much more may be decoded ahead; it counts until it is released.
    [[nodiscard]] bool reserve(std::int64_t bytes) noexcept;
    void release(std::int64_t bytes) noexcept { reserved_bytes_ -= bytes; }

    [[nodiscard]] int num_turns() const noexcept { return num_turns_; }
    [[nodiscard]] int num_engines() const noexcept;
    /// Turns taken at once so far: about as many decoders have been made.
    [[nodiscard]] int most_at_once() const noexcept { return most_at_once_; }

private:
    struct Entry {
        Ticket ticket;
        std::function<void()> work;  // empty: a thread of somebody's waits for `granted`
        bool* granted;
        Share share;
        Urgency urgency;
    };
    Ticket enqueue(Entry entry);
    /// Gives free turns to those first in line. The mutex is held.
    void advance();
    /// Whose turn it is, taken out of its line. The mutex is held.
    [[nodiscard]] std::optional<Entry> take_first();
    [[nodiscard]] bool take_out(Ticket ticket);
    void take(const Share& share);
    void give_back(const Share& share);

    const int num_turns_;
    const std::int64_t most_bytes_;
    std::atomic<std::int64_t> reserved_bytes_{0};
    std::atomic<int> most_at_once_{0};
    std::atomic<int> num_reads_{0};
    std::atomic<int> num_reads_by_threads_{0};
    std::mutex mutex_;
    std::condition_variable granted_;
    std::deque<Entry> urgent_;
    std::deque<Entry> others_;
    int num_taken_ = 0;
    int num_reads_at_work_ = 0;  // that have a turn
    Ticket last_ticket_ = 0;
};

/// Decoders that may be at work at once for so many packets in so many groups of pictures.
using NumDecoders = std::function<int(std::int64_t num_packets, std::int64_t num_groups)>;

/// Of at most `most` decoders for `num_groups` groups of pictures, how many end soonest. Equal groups that begin
/// together end together: what is left for the last time round leaves engines idle where it is less than one for each.
/// A hundred groups of H.264 on seven engines gave 4,665 frames/s with 10 decoders, 4,545 with 14 and 4,390 with 9
/// (H200, 2026-11-22).
[[nodiscard]] int decoders_for_even_turns(int most, std::int64_t num_groups, int num_engines);

}  // namespace tricodec
