// SPDX-License-Identifier: Apache-2.0
/// Reading a DEFLATE stream symbol by symbol (RFC 1951): its Huffman codes, its blocks, and a visitor of its fields.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "tricodec/base/error.h"
#include "tricodec/compress/compress.h"

namespace tricodec::compress {

inline constexpr int kMaxCodeLength = 15;
inline constexpr unsigned kEndOfBlock = 256;

struct Symbol {
    unsigned value = 0;
    unsigned length = 0;  ///< bits of its code; 0 if the bits are no code
};

/// A set of codes. Bits are in the order of the stream, the first in bit 0.
class HuffmanCode {
public:
    /// From the code lengths of symbols 0, 1, ...; 0 for those without a code. False if there are too many codes.
    [[nodiscard]] bool build(std::span<const std::uint8_t> lengths) noexcept {
        count_.fill(0);
        for (const unsigned length : lengths) ++count_[length];
        count_[0] = 0;
        int left = 1;
        std::array<std::uint16_t, kMaxCodeLength + 2> place{};
        std::array<std::uint32_t, kMaxCodeLength + 2> next{};
        std::uint32_t code = 0;
        for (unsigned length = 1; length <= kMaxCodeLength; ++length) {
            left = 2 * left - count_[length];
            if (left < 0) return false;
            code = (code + count_[length - 1]) << 1;
            next[length] = code;
            place[length + 1] = static_cast<std::uint16_t>(place[length] + count_[length]);
        }
        fast_.fill(0);
        for (unsigned symbol = 0; symbol < lengths.size(); ++symbol) {
            const unsigned length = lengths[symbol];
            if (length == 0) continue;
            symbols_[place[length]++] = static_cast<std::uint16_t>(symbol);
            const std::uint32_t bits = next[length]++;
            if (length > kFastBits) continue;
            std::uint32_t reversed = 0;
            for (unsigned bit = 0; bit < length; ++bit) reversed |= (bits >> bit & 1u) << (length - 1 - bit);
            for (std::uint32_t i = reversed; i < fast_.size(); i += 1u << length) {
                fast_[i] = static_cast<std::uint16_t>(symbol << 4 | length);
            }
        }
        return true;
    }

    /// The symbol of the code at the start of `bits`, which has at least 15 valid bits.
    [[nodiscard]] Symbol decode(std::uint32_t bits) const noexcept {
        const unsigned entry = fast_[bits & (fast_.size() - 1)];
        if (entry != 0) return {entry >> 4, entry & 15};
        return decode_long(bits);
    }

private:
    static constexpr unsigned kFastBits = 11;

    [[nodiscard]] Symbol decode_long(std::uint32_t bits) const noexcept {
        int code = 0;
        int first = 0;
        int index = 0;
        for (unsigned length = 1; length <= kMaxCodeLength; ++length) {
            code |= static_cast<int>(bits & 1u);
            bits >>= 1;
            const int count = count_[length];
            if (code - count < first) return {symbols_[static_cast<unsigned>(index + (code - first))], length};
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        return {};
    }

    std::array<std::uint16_t, 1u << kFastBits> fast_{};  // symbol << 4 | length; 0 for longer codes and none
    std::array<std::uint16_t, kMaxCodeLength + 1> count_{};
    std::array<std::uint16_t, 320> symbols_{};
};

/// A block's two codes.
struct BlockCodes {
    HuffmanCode literals;
    HuffmanCode distances;
};

inline constexpr std::array<std::uint16_t, 29> kLengthBase = {
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
inline constexpr std::array<std::uint8_t, 29> kLengthExtra = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                              2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
/// The last two are for GDeflate and Deflate64.
inline constexpr std::array<std::uint16_t, 32> kDistanceBase = {
    1,   2,   3,   4,   5,    7,    9,    13,   17,   25,   33,   49,    65,    97,    129,   193,
    257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577, 32769, 49153};
inline constexpr std::array<std::uint8_t, 32> kDistanceExtra = {
    0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14};
inline constexpr std::array<std::uint8_t, 19> kCodeLengthOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                                  11, 4,  12, 3, 13, 2, 14, 1, 15};

/// Lengths of the codes of a fixed block: 288 literals and lengths, then 32 distances.
[[nodiscard]] inline std::array<std::uint8_t, 320> fixed_code_lengths() noexcept {
    std::array<std::uint8_t, 320> lengths{};
    for (unsigned i = 0; i < lengths.size(); ++i) {
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : i < 288 ? 8 : 5;
    }
    return lengths;
}

constexpr std::uint32_t low_bits(std::uint32_t bits, unsigned count) noexcept {
    return bits & ((1u << count) - 1u);
}

/// A visitor of the fields of a stream, with their bits. This one ignores them.
struct NoSink {
    void block(std::uint32_t /*bits*/, unsigned /*count*/) {}  ///< the header of a block
    void counts(std::uint32_t /*bits*/) {}                     ///< how many codes a dynamic block has
    void code_length_length(std::uint32_t /*bits*/) {}
    void code_length(std::uint32_t /*bits*/, unsigned /*count*/) {}  ///< with the bits after the code
    void stored(std::uint32_t /*size*/) {}
    void end_of_block(std::uint32_t /*bits*/, unsigned /*count*/) {}
};

/// Reads the codes of a dynamic block. `Bits` has peek(lane), skip(lane, count), take(lane, count), damaged(what) and
/// kLanes: code lengths are in its lanes in turn.
template <class Bits, class Sink>
void read_codes(Bits& bits, Sink& sink, BlockCodes& codes) {
    const std::uint32_t counts = bits.take(0, 14);
    sink.counts(counts);
    const unsigned num_literals = (counts & 31u) + 257;
    const unsigned num_distances = (counts >> 5 & 31u) + 1;
    const unsigned num_lengths = (counts >> 10) + 4;
    const unsigned total = num_literals + num_distances;
    std::array<std::uint8_t, 320> lengths{};
    std::array<std::uint8_t, 19> code_lengths{};
    for (unsigned i = 0; i < num_lengths; ++i) {
        const std::uint32_t length = bits.take(i % Bits::kLanes, 3);
        sink.code_length_length(length);
        code_lengths[kCodeLengthOrder[i]] = static_cast<std::uint8_t>(length);
    }
    HuffmanCode code;
    if (!code.build(code_lengths)) Bits::damaged("too many code lengths");
    for (unsigned i = 0, lane = 0; i < total; lane = (lane + 1) % Bits::kLanes) {
        const std::uint32_t next = bits.peek(lane);
        const Symbol symbol = code.decode(next);
        if (symbol.length == 0) Bits::damaged("a code length has no such code");
        const unsigned extra = symbol.value < 16 ? 0 : symbol.value == 16 ? 2 : symbol.value == 17 ? 3 : 7;
        const unsigned used = symbol.length + extra;
        sink.code_length(low_bits(next, used), used);
        bits.skip(lane, used);
        unsigned repeat = 1;
        auto value = static_cast<std::uint8_t>(symbol.value);
        if (symbol.value >= 16) {
            if (symbol.value == 16 && i == 0) Bits::damaged("a code length is repeated before there is one");
            value = symbol.value == 16 ? lengths[i - 1] : std::uint8_t{0};
            repeat = (symbol.value == 18 ? 11 : 3) + low_bits(next >> symbol.length, extra);
        }
        if (i + repeat > total) Bits::damaged("there are too many code lengths");
        for (; repeat > 0; --repeat) lengths[i++] = value;
    }
    if (lengths[kEndOfBlock] == 0) Bits::damaged("a block has no end");
    if (!codes.literals.build({lengths.data(), num_literals}) ||
        !codes.distances.build({lengths.data() + num_literals, num_distances})) {
        Bits::damaged("there are more codes than fit");
    }
}

/// Visits all blocks. `body` reads a block after its header by stored() or compressed(codes), wants_more() reports
/// whether to read another block, and kFixedDistances is the number of distance codes of a fixed block.
template <class Bits, class Sink, class Body>
void visit_blocks(Bits& bits, Sink& sink, Body& body) {
    BlockCodes codes;
    for (bool last = false; !last && body.wants_more();) {
        const std::uint32_t header = bits.take(0, 3);
        last = (header & 1u) != 0;
        sink.block(header, 3);
        switch (header >> 1) {
            case 0:
                body.stored();
                break;
            case 1: {
                const auto lengths = fixed_code_lengths();
                static_cast<void>(codes.literals.build({lengths.data(), 288}));
                static_cast<void>(codes.distances.build({lengths.data() + 288, Body::kFixedDistances}));
                body.compressed(codes);
                break;
            }
            case 2:
                read_codes(bits, sink, codes);
                body.compressed(codes);
                break;
            default:
                Bits::damaged("a block has no known type");
        }
    }
}

/// The bits of a stream, the first in bit 0. Past the end it gives zeros until the error is found.
class BitReader {
public:
    static constexpr unsigned kLanes = 1;

    explicit BitReader(ByteView bytes) : next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

    /// At least 32 valid bits, or what the stream has left.
    [[nodiscard]] std::uint32_t peek(unsigned /*lane*/ = 0) {
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
    void skip(unsigned /*lane*/, unsigned count) {
        bits_ >>= count;
        count_ -= count;
    }
    [[nodiscard]] std::uint32_t take(unsigned /*lane*/, unsigned count) {
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

private:
    const std::byte* next_;
    const std::byte* end_;
    std::uint64_t bits_ = 0;
    unsigned count_ = 0;
    unsigned missing_ = 0;  // bytes of zeros past the end
};

/// Visits the blocks of a stream. `Sink` is a NoSink that also has byte(bits) for the bytes of a stored block,
/// literal(bits, count) and match(symbol, bits, count, extra, length, distance bits, count), which may return false to
/// end the visit.
template <class Sink>
class InflateVisitor {
public:
    InflateVisitor(ByteView stream, Sink& sink) : reader_(stream), sink_(sink) {}

    void run() { visit_blocks(reader_, sink_, *this); }

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
    [[nodiscard]] bool wants_more() const noexcept { return !stopped_; }

private:
    /// Reads one symbol; false after the last one.
    bool symbol(const BlockCodes& codes) {
        std::uint32_t bits = reader_.peek();
        const Symbol symbol = codes.literals.decode(bits);
        if (symbol.length == 0) BitReader::damaged("it has an invalid code");
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
        if (index >= kLengthBase.size()) BitReader::damaged("it has an invalid length");
        const unsigned extra = kLengthExtra[index];
        const std::uint32_t length_bits = low_bits(bits, symbol.length);
        const std::uint32_t more = low_bits(bits >> symbol.length, extra);
        reader_.skip(0, symbol.length + extra);
        bits = reader_.peek();
        const Symbol distance = codes.distances.decode(bits);
        if (distance.length == 0 || distance.value >= 30) BitReader::damaged("it has an invalid distance");
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

/// The size of the data of a DEFLATE stream. The walk may end past `most`.
[[nodiscard]] inline std::uint64_t measure_deflate(ByteView stream, std::uint64_t most) {
    struct Counter : NoSink {
        std::uint64_t most;
        std::uint64_t total = 0;
        explicit Counter(std::uint64_t limit) : most(limit) {}
        void byte(std::uint32_t) { ++total; }
        void literal(std::uint32_t, unsigned) { ++total; }
        bool match(unsigned, std::uint32_t, unsigned, std::uint32_t, unsigned length, std::uint32_t, unsigned) {
            total += length;
            return total <= most;
        }
    } counter(most);
    InflateVisitor<Counter>(stream, counter).run();
    return counter.total;
}

}  // namespace tricodec::compress
