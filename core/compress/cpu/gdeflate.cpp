// SPDX-License-Identifier: Apache-2.0
/// GDeflate: DEFLATE whose bits are dealt out to 32 lanes, so that a warp reads them at once.
///
/// Note [GDeflate]. Every lane has a window of bits. It starts with one 32-bit word each, in order; whenever a lane
/// that has just used bits has fewer than 32 left, it takes the next word of the stream. So the order of words follows
/// from what is read. Block header, counts and a stored block's 16-bit size are lane 0's; code lengths and stored bytes
/// are dealt out in turn from lane 0 on. Symbols come in rounds: each lane reads a literal, a length, or the distance
/// that belongs to the length it read in the round before; the round after the end of the block has only such
/// distances. Length symbol 285 has 16 extra bits on a base of 3, and distance symbols 30 and 31 reach back 64 KiB, as
/// in Deflate64. There is no check of a stored block's size, and nothing is aligned.
/// (github.com/microsoft/DirectStorage, GDeflate/README.md.)
///
/// So a GDeflate stream is a DEFLATE stream in another order, and that is how it is made here.
#include <cstring>
#include <string>
#include <vector>

#include "compress/bytes.h"
#include "compress/chunk_codec.h"
#include "compress/cpu/deflate_library.h"
#include "compress/cpu/inflate_reader.h"
#include "tricodec/error.h"

namespace tricodec::compress {
namespace {

constexpr unsigned kLanes = 32;
constexpr unsigned kLongLength = 285;
constexpr std::uint32_t kLongestCopy = 65538;

[[noreturn]] void damaged(const char* what) {
    fail(ErrorCode::corrupt_data, std::string("the GDeflate stream is damaged: ") + what);
}

constexpr std::uint32_t low_bits(std::uint32_t bits, unsigned count) noexcept {
    return bits & ((1u << count) - 1u);
}

/// Deals bits out to lanes and puts the words where a reader will look for them.
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
        int reader_bits = 0;                 // that a reader has in its window now
        std::array<std::size_t, 4> slots{};  // words reserved and not yet written, the first in [0]
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

/// Lays the fields of a DEFLATE stream out in lanes.
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
    /// Copies of 258 bytes from the same distance in a row are one copy of up to 65538 here, so they are held back.
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
    /// Moves on to the next lane that is free for a symbol.
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

/// The lanes as a reader sees them.
class LaneReader {
public:
    explicit LaneReader(ByteView stream) : next_(stream.data()), end_(stream.data() + stream.size()) {
        for (unsigned lane = 0; lane < kLanes; ++lane) bits_[lane] = next_word();
        count_.fill(32);
    }

    [[nodiscard]] std::uint32_t peek(unsigned lane) const noexcept { return static_cast<std::uint32_t>(bits_[lane]); }
    void skip(unsigned lane, unsigned count) {
        bits_[lane] >>= count;
        count_[lane] -= count;
        if (count_[lane] < 32) {
            bits_[lane] |= static_cast<std::uint64_t>(next_word()) << count_[lane];
            count_[lane] += 32;
        }
    }
    [[nodiscard]] std::uint32_t take(unsigned lane, unsigned count) {
        const std::uint32_t value = low_bits(peek(lane), count);
        skip(lane, count);
        return value;
    }

private:
    std::uint32_t next_word() {
        if (end_ - next_ < 4) damaged("it is cut off");
        const auto word = load<std::uint32_t>(next_);
        next_ += 4;
        return word;
    }

    const std::byte* next_;
    const std::byte* end_;
    std::array<std::uint64_t, kLanes> bits_{};
    std::array<unsigned, kLanes> count_{};
};

/// Decodes a stream to memory, or with none only counts.
class GdeflateDecoder {
public:
    GdeflateDecoder(ByteView stream, std::byte* output, std::uint64_t room)
        : reader_(stream), output_(output), room_(room) {}

    /// Returns the bytes; more than `room` if there are more, or with an output throws.
    std::uint64_t run() {
        for (bool last = false; !last && size_ <= room_;) {
            const std::uint32_t header = reader_.take(0, 3);
            last = (header & 1u) != 0;
            switch (header >> 1) {
                case 0:
                    stored();
                    break;
                case 1: {
                    const auto lengths = fixed_code_lengths();
                    static_cast<void>(codes_.literals.build({lengths.data(), 288}));
                    static_cast<void>(codes_.distances.build({lengths.data() + 288, 32}));
                    compressed();
                    break;
                }
                case 2:
                    dynamic_codes();
                    compressed();
                    break;
                default:
                    damaged("a block has no known type");
            }
        }
        return size_;
    }

private:
    struct Copy {
        std::uint64_t at = 0;
        std::uint32_t length = 0;  // 0: no copy waits for its distance
    };

    /// Room for `count` more bytes; without output it only counts.
    std::uint64_t claim(std::uint64_t count) {
        const std::uint64_t at = size_;
        size_ += count;
        if (output_ != nullptr && size_ > room_) damaged("it expands to more than it should");
        return at;
    }

    void stored() {
        const std::uint32_t size = reader_.take(0, 16);
        const std::uint64_t at = claim(size);
        for (std::uint32_t i = 0; i < size; ++i) {
            const auto value = static_cast<std::byte>(reader_.take(i % kLanes, 8));
            if (output_ != nullptr) output_[at + i] = value;
        }
    }

    void dynamic_codes() {
        const std::uint32_t counts = reader_.take(0, 14);
        const unsigned num_literals = (counts & 31u) + 257;
        const unsigned num_distances = (counts >> 5 & 31u) + 1;
        const unsigned num_lengths = (counts >> 10) + 4;
        std::array<std::uint8_t, 19> code_lengths{};
        for (unsigned i = 0; i < num_lengths; ++i) {
            code_lengths[kCodeLengthOrder[i]] = static_cast<std::uint8_t>(reader_.take(i, 3));
        }
        HuffmanCode code;
        if (!code.build(code_lengths)) damaged("too many code lengths");
        std::array<std::uint8_t, 320> lengths{};
        const unsigned total = num_literals + num_distances;
        for (unsigned i = 0, lane = 0; i < total; lane = (lane + 1) % kLanes) {
            const std::uint32_t bits = reader_.peek(lane);
            const Symbol symbol = code.decode(bits);
            if (symbol.length == 0) damaged("a code length has no such code");
            const unsigned extra = symbol.value < 16 ? 0 : symbol.value == 16 ? 2 : symbol.value == 17 ? 3 : 7;
            unsigned repeat = 1;
            auto value = static_cast<std::uint8_t>(symbol.value);
            if (symbol.value >= 16) {
                if (symbol.value == 16 && i == 0) damaged("a code length is repeated before there is one");
                value = symbol.value == 16 ? lengths[i - 1] : std::uint8_t{0};
                repeat = (symbol.value == 18 ? 11 : 3) + low_bits(bits >> symbol.length, extra);
            }
            reader_.skip(lane, symbol.length + extra);
            if (i + repeat > total) damaged("there are too many code lengths");
            for (; repeat > 0; --repeat) lengths[i++] = value;
        }
        if (lengths[kEndOfBlock] == 0) damaged("a block has no end");
        if (!codes_.literals.build({lengths.data(), num_literals}) ||
            !codes_.distances.build({lengths.data() + num_literals, num_distances})) {
            damaged("there are more codes than fit");
        }
    }

    void compressed() {
        std::array<Copy, kLanes> copies;
        for (bool ended = false; !ended;) {
            for (unsigned lane = 0; lane < kLanes; ++lane) {
                if (copies[lane].length != 0) {
                    copy(lane, copies[lane]);
                } else if (!ended) {
                    ended = symbol(lane, copies[lane]);
                }
            }
            if (size_ > room_) return;  // counting only: more than anybody wants to know
        }
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            if (copies[lane].length != 0) copy(lane, copies[lane]);
        }
    }

    /// A literal, a length or the end of the block, which is true.
    bool symbol(unsigned lane, Copy& next) {
        const std::uint32_t bits = reader_.peek(lane);
        const Symbol symbol = codes_.literals.decode(bits);
        if (symbol.length == 0) damaged("bits that are no code");
        if (symbol.value <= kEndOfBlock) {
            reader_.skip(lane, symbol.length);
            if (symbol.value == kEndOfBlock) return true;
            const std::uint64_t at = claim(1);
            if (output_ != nullptr) output_[at] = static_cast<std::byte>(symbol.value);
            return false;
        }
        const unsigned index = symbol.value - 257;
        if (index >= kLengthBase.size()) damaged("a length that does not exist");
        const bool is_long = symbol.value == kLongLength;
        const unsigned extra = is_long ? 16 : kLengthExtra[index];
        next.length = (is_long ? 3u : kLengthBase[index]) + low_bits(bits >> symbol.length, extra);
        reader_.skip(lane, symbol.length + extra);
        next.at = claim(next.length);
        return false;
    }

    void copy(unsigned lane, Copy& pending) {
        const std::uint32_t bits = reader_.peek(lane);
        const Symbol symbol = codes_.distances.decode(bits);
        if (symbol.length == 0) damaged("bits that are no distance");
        const unsigned extra = kDistanceExtra[symbol.value];
        const std::uint32_t distance = kDistanceBase[symbol.value] + low_bits(bits >> symbol.length, extra);
        reader_.skip(lane, symbol.length + extra);
        if (distance > pending.at) damaged("a copy from before the start");
        if (output_ != nullptr) {
            std::byte* to = output_ + pending.at;
            if (distance >= pending.length) {
                std::memcpy(to, to - distance, pending.length);
            } else {
                for (std::uint32_t i = 0; i < pending.length; ++i)
                    to[i] = to[static_cast<std::ptrdiff_t>(i) - distance];
            }
        }
        pending.length = 0;
    }

    LaneReader reader_;
    std::byte* output_;
    std::uint64_t room_;
    std::uint64_t size_ = 0;
    BlockCodes codes_;
};

class GdeflateWorker final : public ChunkWorker {
public:
    explicit GdeflateWorker(int algorithm_type) : compressor_(algorithm_type, DeflateUse::lanes) {}

    std::size_t compress(ByteView input, std::span<std::byte> output) override {
        scratch_.resize(deflate_bound(input.size()));
        const std::size_t size = compressor_.compress(input, scratch_);
        Dealer dealer(output);
        InflateVisitor<Dealer>(ByteView(scratch_).first(size), dealer).run();
        return dealer.finish();
    }

    void decompress(ByteView input, std::span<std::byte> output) override {
        std::byte none{};
        GdeflateDecoder decoder(input, output.empty() ? &none : output.data(), output.size());
        const std::uint64_t size = decoder.run();
        TRICODEC_EXPECT(
            size == output.size(), corrupt_data,
            "the GDeflate stream expands to " + std::to_string(size) + " bytes, not " + std::to_string(output.size()));
    }

private:
    DeflateCompressor compressor_;
    std::vector<std::byte> scratch_;
};

class Gdeflate final : public ChunkCodec {
public:
    explicit Gdeflate(int algorithm_type) : type_(algorithm_type) {}

    /// More than DEFLATE's: 16 bits for each length of 258, and what the lanes' windows hold at the end.
    std::size_t bound(std::size_t size_bytes) const override {
        return align_up(deflate_bound(size_bytes) + size_bytes / 64, 4) + 16 * kLanes;
    }
    std::uint64_t largest_chunk() const noexcept override { return std::uint64_t{1} << 31; }
    std::unique_ptr<ChunkWorker> make_worker() const override { return std::make_unique<GdeflateWorker>(type_); }
    std::uint64_t measure(ByteView stream, std::uint64_t most) const override {
        return GdeflateDecoder(stream, nullptr, most).run();
    }

private:
    int type_;
};

}  // namespace

std::unique_ptr<ChunkCodec> make_gdeflate(const ChunkOptions& options) {
    if (!deflate_available()) return nullptr;
    return std::make_unique<Gdeflate>(options.algorithm_type);
}

}  // namespace tricodec::compress
