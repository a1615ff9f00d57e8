// SPDX-License-Identifier: Apache-2.0
/// Reading a DEFLATE stream symbol by symbol (RFC 1951): to measure it, or to lay its symbols out anew for GDeflate.
#pragma once

#include <cstdint>
#include <string>

#include "compress/bytes.h"
#include "compress/cpu/deflate_blocks.h"
#include "compress/cpu/huffman.h"
#include "tricodec/compress.h"
#include "tricodec/error.h"

namespace tricodec::compress {

/// Bits of a stream, the first in bit 0. Past the end there are zeros, until that is noticed.
class BitReader {
public:
    static constexpr unsigned kTurns = 1;

    explicit BitReader(ByteView bytes) : next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

    /// At least 32 valid bits, or what the stream has left.
    [[nodiscard]] std::uint32_t peek(unsigned /*turn*/ = 0) {
        while (count_ < 32) {
            if (next_ != end_) {
                bits_ |= static_cast<std::uint64_t>(*next_++) << count_;
            } else if (++missing_ > 8) {
                damaged("it is cut off");
            }
            count_ += 8;
        }
        return static_cast<std::uint32_t>(bits_);
    }
    void skip(unsigned /*turn*/, unsigned count) {
        bits_ >>= count;
        count_ -= count;
    }
    [[nodiscard]] std::uint32_t take(unsigned /*turn*/, unsigned count) {
        const std::uint32_t value = low_bits(peek(), count);
        skip(0, count);
        return value;
    }
    void align_to_byte() { skip(0, count_ % 8); }
    /// Throws if bits past the end were used.
    void expect_inside() const {
        if (count_ < 8 * missing_) damaged("it is cut off");
    }
    [[noreturn]] static void damaged(const char* what) {
        fail(ErrorCode::corrupt_data, std::string("the Deflate stream is damaged: ") + what);
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

    void run() { visit_blocks(reader_, sink_, *this); }
    [[nodiscard]] BitReader& reader() noexcept { return reader_; }

    static constexpr unsigned kFixedDistances = 30;

    void stored() {
        reader_.align_to_byte();
        const std::uint32_t size = reader_.take(0, 16);
        if ((size ^ 0xffffu) != reader_.take(0, 16)) {
            BitReader::damaged("a stored block's length is not what its check says");
        }
        sink_.stored(size);
        for (std::uint32_t i = 0; i < size; ++i) sink_.byte(reader_.take(0, 8));
        reader_.expect_inside();
    }

    void compressed(const BlockCodes& codes) {
        while (symbol(codes)) {
        }
        reader_.expect_inside();
    }
    [[nodiscard]] bool goes_on() const noexcept { return !stopped_; }

private:
    /// False after the last one.
    bool symbol(const BlockCodes& codes) {
        std::uint32_t bits = reader_.peek();
        const Symbol symbol = codes.literals.decode(bits);
        if (symbol.length == 0) BitReader::damaged("bits that are no code");
        if (symbol.value <= kEndOfBlock) {
            const std::uint32_t used = low_bits(bits, symbol.length);
            reader_.skip(0, symbol.length);
            if (symbol.value < kEndOfBlock) {
                sink_.literal(used, symbol.length);
                return true;
            }
            sink_.end_of_block(used, symbol.length);
            return false;
        }
        const unsigned index = symbol.value - 257;
        if (index >= kLengthBase.size()) BitReader::damaged("a length that does not exist");
        const unsigned extra = kLengthExtra[index];
        const std::uint32_t length_bits = low_bits(bits, symbol.length);
        const std::uint32_t more = low_bits(bits >> symbol.length, extra);
        reader_.skip(0, symbol.length + extra);
        bits = reader_.peek();
        const Symbol distance = codes.distances.decode(bits);
        if (distance.length == 0 || distance.value >= 30) BitReader::damaged("a distance that does not exist");
        const unsigned used = distance.length + kDistanceExtra[distance.value];
        reader_.skip(0, used);
        stopped_ = !sink_.match(symbol.value, length_bits, symbol.length, more, kLengthBase[index] + more,
                                low_bits(bits, used), used);
        return !stopped_;
    }

    BitReader reader_;
    Sink& sink_;
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
