// SPDX-License-Identifier: Apache-2.0
/// Reading a DEFLATE stream symbol by symbol (RFC 1951): to measure it, or to lay its symbols out anew for GDeflate.
#pragma once

#include <cstdint>
#include <string>

#include "compress/bytes.h"
#include "compress/cpu/huffman.h"
#include "tricodec/compress.h"
#include "tricodec/error.h"

namespace tricodec::compress {

[[noreturn]] inline void deflate_damaged(const char* what) {
    fail(ErrorCode::corrupt_data, std::string("the Deflate stream is damaged: ") + what);
}

/// Bits of a stream, the first in bit 0. Past the end there are zeros, until that is noticed.
class BitReader {
public:
    explicit BitReader(ByteView bytes) : next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

    /// At least 32 valid bits, or what the stream has left.
    [[nodiscard]] std::uint32_t peek() {
        while (count_ < 32) {
            if (next_ != end_) {
                bits_ |= static_cast<std::uint64_t>(*next_++) << count_;
            } else if (++missing_ > 8) {
                deflate_damaged("it is cut off");
            }
            count_ += 8;
        }
        return static_cast<std::uint32_t>(bits_);
    }
    void skip(unsigned count) {
        bits_ >>= count;
        count_ -= count;
    }
    [[nodiscard]] std::uint32_t take(unsigned count) {
        const std::uint32_t value = peek() & ((1u << count) - 1u);
        skip(count);
        return value;
    }
    void align_to_byte() { skip(count_ % 8); }
    /// Throws if bits past the end were used.
    void expect_inside() const {
        if (count_ < 8 * missing_) deflate_damaged("it is cut off");
    }
    /// Bytes not used, once aligned.
    [[nodiscard]] std::size_t bytes_left() const {
        return static_cast<std::size_t>(end_ - next_) + count_ / 8 - missing_;
    }

private:
    const std::byte* next_;
    const std::byte* end_;
    std::uint64_t bits_ = 0;
    unsigned count_ = 0;
    unsigned missing_ = 0;  // bytes of zeros that stand for what is past the end
};

/// Visits a stream's blocks. `Sink` gets every field with its bits:
///   block(bits, n)          the three bits of a block's header
///   stored(size), byte(b)   a stored block
///   counts(bits)            14 bits: how many codes a dynamic block has
///   code_length_length(b)   3 bits each
///   code_length(bits, n)    a code length's code and what follows it
///   literal(bits, n), match(symbol, bits, n, extra, length, distance bits, n, distance), end_of_block(bits, n)
/// match() may return false to end the visit.
template <class Sink>
class InflateVisitor {
public:
    InflateVisitor(ByteView stream, Sink& sink) : reader_(stream), sink_(sink) {}

    void run() {
        for (bool last = false; !last && !stopped_;) {
            const std::uint32_t header = reader_.take(3);
            last = (header & 1u) != 0;
            sink_.block(header, 3);
            switch (header >> 1) {
                case 0:
                    stored();
                    break;
                case 1: {
                    const auto lengths = fixed_code_lengths();
                    static_cast<void>(codes_.literals.build({lengths.data(), 288}));
                    static_cast<void>(codes_.distances.build({lengths.data() + 288, 30}));
                    compressed();
                    break;
                }
                case 2:
                    dynamic_codes();
                    compressed();
                    break;
                default:
                    deflate_damaged("a block has no known type");
            }
            reader_.expect_inside();
        }
    }
    [[nodiscard]] BitReader& reader() noexcept { return reader_; }

private:
    void stored() {
        reader_.align_to_byte();
        const std::uint32_t size = reader_.take(16);
        if ((size ^ 0xffffu) != reader_.take(16)) deflate_damaged("a stored block's length is not what its check says");
        sink_.stored(size);
        for (std::uint32_t i = 0; i < size; ++i) sink_.byte(reader_.take(8));
    }

    void dynamic_codes() {
        const std::uint32_t counts = reader_.take(14);
        sink_.counts(counts);
        const unsigned num_literals = (counts & 31u) + 257;
        const unsigned num_distances = (counts >> 5 & 31u) + 1;
        const unsigned num_lengths = (counts >> 10) + 4;
        std::array<std::uint8_t, 320> lengths{};
        std::array<std::uint8_t, 19> code_lengths{};
        for (unsigned i = 0; i < num_lengths; ++i) {
            const std::uint32_t bits = reader_.take(3);
            sink_.code_length_length(bits);
            code_lengths[kCodeLengthOrder[i]] = static_cast<std::uint8_t>(bits);
        }
        HuffmanCode code;
        if (!code.build(code_lengths)) deflate_damaged("too many code lengths");
        for (unsigned i = 0; i < num_literals + num_distances;) {
            const std::uint32_t bits = reader_.peek();
            const Symbol symbol = code.decode(bits);
            if (symbol.length == 0) deflate_damaged("a code length has no such code");
            const unsigned extra = symbol.value < 16 ? 0 : symbol.value == 16 ? 2 : symbol.value == 17 ? 3 : 7;
            const unsigned used = symbol.length + extra;
            const std::uint32_t more = bits >> symbol.length & ((1u << extra) - 1u);
            sink_.code_length(bits & ((1u << used) - 1u), used);
            reader_.skip(used);
            unsigned repeat = 1;
            std::uint8_t value = static_cast<std::uint8_t>(symbol.value);
            if (symbol.value >= 16) {
                if (symbol.value == 16 && i == 0) deflate_damaged("a code length is repeated before there is one");
                value = symbol.value == 16 ? lengths[i - 1] : std::uint8_t{0};
                repeat = (symbol.value == 18 ? 11 : 3) + more;
            }
            if (i + repeat > num_literals + num_distances) deflate_damaged("there are too many code lengths");
            for (; repeat > 0; --repeat) lengths[i++] = value;
        }
        if (lengths[kEndOfBlock] == 0) deflate_damaged("a block has no end");
        if (!codes_.literals.build({lengths.data(), num_literals}) ||
            !codes_.distances.build({lengths.data() + num_literals, num_distances})) {
            deflate_damaged("there are more codes than fit");
        }
    }

    void compressed() {
        for (;;) {
            std::uint32_t bits = reader_.peek();
            const Symbol symbol = codes_.literals.decode(bits);
            if (symbol.length == 0) deflate_damaged("bits that are no code");
            if (symbol.value < kEndOfBlock) {
                sink_.literal(bits & ((1u << symbol.length) - 1u), symbol.length);
                reader_.skip(symbol.length);
                continue;
            }
            if (symbol.value == kEndOfBlock) {
                sink_.end_of_block(bits & ((1u << symbol.length) - 1u), symbol.length);
                reader_.skip(symbol.length);
                return;
            }
            const unsigned index = symbol.value - 257;
            if (index >= kLengthBase.size()) deflate_damaged("a length that does not exist");
            const unsigned extra = kLengthExtra[index];
            const std::uint32_t length_bits = bits & ((1u << symbol.length) - 1u);
            const std::uint32_t more = bits >> symbol.length & ((1u << extra) - 1u);
            reader_.skip(symbol.length + extra);
            bits = reader_.peek();
            const Symbol distance = codes_.distances.decode(bits);
            if (distance.length == 0 || distance.value >= 30) deflate_damaged("a distance that does not exist");
            const unsigned used = distance.length + kDistanceExtra[distance.value];
            const std::uint32_t distance_bits = bits & ((1u << used) - 1u);
            reader_.skip(used);
            stopped_ = !sink_.match(symbol.value, length_bits, symbol.length, more, kLengthBase[index] + more,
                                    distance_bits, used);
            if (stopped_) return;
        }
    }

    BitReader reader_;
    Sink& sink_;
    BlockCodes codes_;
    bool stopped_ = false;
};

/// What a DEFLATE stream expands to; the walk may end once it is more than `most`.
[[nodiscard]] inline std::uint64_t measure_deflate(ByteView stream, std::uint64_t most) {
    struct Counter {
        std::uint64_t total = 0;
        std::uint64_t most;
        void block(std::uint32_t, unsigned) {}
        void stored(std::uint32_t) {}
        void byte(std::uint32_t) { ++total; }
        void counts(std::uint32_t) {}
        void code_length_length(std::uint32_t) {}
        void code_length(std::uint32_t, unsigned) {}
        void literal(std::uint32_t, unsigned) { ++total; }
        bool match(unsigned, std::uint32_t, unsigned, std::uint32_t, unsigned length, std::uint32_t, unsigned) {
            total += length;
            return total <= most;
        }
        void end_of_block(std::uint32_t, unsigned) {}
    } counter{.most = most};
    InflateVisitor<Counter>(stream, counter).run();
    return counter.total;
}

}  // namespace tricodec::compress
