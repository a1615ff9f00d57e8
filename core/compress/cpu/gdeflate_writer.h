// SPDX-License-Identifier: Apache-2.0
/// Writing the fields of a DEFLATE stream to GDeflate's lanes (Note [GDeflate]).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "compress/cpu/inflate.h"
#include "tricodec/base/error.h"

namespace tricodec::compress {

inline constexpr unsigned kLanes = 32;
inline constexpr unsigned kLongLength = 285;
inline constexpr std::uint32_t kLongestCopy = 65538;

/// Distributes bits to lanes, and puts the words where a reader takes them.
class LaneWriter {
public:
    explicit LaneWriter(std::span<std::byte> output) : output_(output) {
        for (Lane& lane : lanes_) reserve(lane);
    }

    void put(unsigned index, std::uint32_t bits, unsigned count) {
        Lane& lane = lanes_[index];
        lane.bits |= static_cast<std::uint64_t>(bits) << lane.num_bits;
        lane.num_bits += count;
        if (lane.num_bits >= 32) flush(lane);
        lane.reader_bits -= static_cast<int>(count);
        if (lane.reader_bits < 32) reserve(lane);
    }

    [[nodiscard]] std::size_t finish() {
        for (Lane& lane : lanes_) {
            while (lane.num_slots > 0) flush(lane);
        }
        return num_words_ * 4;
    }

private:
    struct Lane {
        std::uint64_t bits = 0;
        unsigned num_bits = 0;
        int reader_bits = 0;                 // in the window of a reader at this point
        std::array<std::size_t, 4> slots{};  // reserved words without bits, the first in [0]
        unsigned num_slots = 0;
    };

    void reserve(Lane& lane) {
        TRICODEC_INVARIANT(num_words_ * 4 + 4 <= output_.size() && lane.num_slots < lane.slots.size());
        lane.slots[lane.num_slots++] = num_words_++;
        lane.reader_bits += 32;
    }
    void flush(Lane& lane) {
        store<std::uint32_t>(output_.data() + 4 * lane.slots[0], static_cast<std::uint32_t>(lane.bits));
        lane.bits >>= 32;
        lane.num_bits -= std::min(lane.num_bits, 32u);
        for (unsigned i = 1; i < lane.num_slots; ++i) lane.slots[i - 1] = lane.slots[i];
        --lane.num_slots;
    }

    std::span<std::byte> output_;
    std::array<Lane, kLanes> lanes_;
    std::size_t num_words_ = 0;
};

/// Distributes the fields of a DEFLATE stream to lanes.
class Dealer {
public:
    explicit Dealer(std::span<std::byte> output) : writer_(output) {}

    void block(std::uint32_t bits, unsigned count) {
        turn_ = 0;
        writer_.put(0, bits, count);
    }
    void stored(std::uint32_t size) { writer_.put(0, size, 16); }
    void byte(std::uint32_t bits) { put_in_turn(bits, 8); }
    void counts(std::uint32_t bits) { writer_.put(0, bits, 14); }
    void code_length_length(std::uint32_t bits) {
        put_in_turn(bits, 3);
        first_code_length_ = true;
    }
    void code_length(std::uint32_t bits, unsigned count) {
        if (first_code_length_) turn_ = 0;
        first_code_length_ = false;
        in_codes_ = true;
        put_in_turn(bits, count);
    }
    void literal(std::uint32_t bits, unsigned count) {
        put_held();
        next_lane();
        writer_.put(turn_++, bits, count);
    }
    /// Successive copies of 258 bytes from one distance become one copy of up to 65538 bytes, so they are held back.
    bool match(unsigned symbol, std::uint32_t bits, unsigned count, std::uint32_t extra, unsigned length,
               std::uint32_t distance_bits, unsigned distance_count) {
        if (held_.length != 0 && held_.distance.bits == distance_bits && held_.distance.count == distance_count &&
            held_.length + length <= kLongestCopy) {
            held_.length += length;
            return true;
        }
        put_held();
        if (symbol == kLongLength) {
            held_ = {bits, count, length, {distance_bits, distance_count}};
            return true;
        }
        next_lane();
        writer_.put(turn_, bits | extra << count, count + kLengthExtra[symbol - 257]);
        pending_[turn_++] = {distance_bits, distance_count};
        return true;
    }
    void end_of_block(std::uint32_t bits, unsigned count) {
        put_held();
        next_lane();
        writer_.put(turn_++, bits, count);
        for (; turn_ < kLanes; ++turn_) put_pending(turn_);
        for (unsigned lane = 0; lane < kLanes; ++lane) put_pending(lane);
        turn_ = 0;
    }
    [[nodiscard]] std::size_t finish() { return writer_.finish(); }

private:
    struct Pending {
        std::uint32_t bits = 0;
        unsigned count = 0;
    };
    struct Held {
        std::uint32_t bits = 0;
        unsigned count = 0;
        std::uint32_t length = 0;  // 0: nothing is held
        Pending distance;
    };

    void put_held() {
        if (held_.length == 0) return;
        next_lane();
        writer_.put(turn_, held_.bits | (held_.length - 3) << held_.count, held_.count + 16);
        pending_[turn_++] = held_.distance;
        held_.length = 0;
    }

    void put_in_turn(std::uint32_t bits, unsigned count) {
        writer_.put(turn_, bits, count);
        turn_ = (turn_ + 1) % kLanes;
    }
    bool put_pending(unsigned lane) {
        Pending& pending = pending_[lane];
        if (pending.count == 0) return false;
        writer_.put(lane, pending.bits, pending.count);
        pending.count = 0;
        return true;
    }
    /// Goes to the next lane that is free for a symbol.
    void next_lane() {
        if (in_codes_) turn_ = 0;
        in_codes_ = false;
        for (;;) {
            if (turn_ == kLanes) turn_ = 0;
            if (!put_pending(turn_)) return;
            ++turn_;
        }
    }

    LaneWriter writer_;
    std::array<Pending, kLanes> pending_;
    Held held_;
    unsigned turn_ = 0;
    bool first_code_length_ = false;
    bool in_codes_ = false;
};

}  // namespace tricodec::compress
