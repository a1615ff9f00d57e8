// SPDX-License-Identifier: Apache-2.0
/// GDeflate: DEFLATE with its bits distributed to 32 lanes, so that a warp reads them at once.
///
/// Note [GDeflate]. Every lane has a window of bits, which starts with one 32-bit word each, in order. A lane that has
/// used bits and has fewer than 32 left takes the next word of the stream, so the symbols determine the order of words.
/// Block headers, counts and the 16-bit size of a stored block are in lane 0; code lengths and stored bytes are in the
/// lanes in turn, from lane 0. Symbols come in rounds: each lane reads a literal, a length, or the distance for the
/// length that it read in the round before. The round after the end of a block has only such distances. Length symbol
/// 285 has 16 extra bits on a base of 3, and distance symbols 30 and 31 reach back 64 KiB, as in Deflate64. There is no
/// check of the size of a stored block, and no alignment.
/// (github.com/microsoft/DirectStorage, GDeflate/README.md.)
///
/// So a GDeflate stream is a DEFLATE stream in another order, and is made from one here.
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "compress/chunk_codec.h"
#include "compress/cpu/deflate_compressor.h"
#include "compress/cpu/gdeflate_writer.h"
#include "compress/cpu/inflate.h"
#include "tricodec/base/error.h"

namespace tricodec::compress {
namespace {

/// Reads the lanes.
class LaneReader {
public:
    static constexpr unsigned kLanes = compress::kLanes;

    explicit LaneReader(ByteView stream) : next_(stream.data()), end_(stream.data() + stream.size()) {
        for (unsigned lane = 0; lane < kLanes; ++lane) bits_[lane] = next_word();
        count_.fill(32);
    }

    [[nodiscard]] std::uint32_t peek(unsigned lane) const noexcept { return static_cast<std::uint32_t>(bits_[lane]); }
    /// The place of the next word. A loop that writes bytes keeps it in a local variable, because the compiler reads
    /// members again after every such write.
    [[nodiscard]] const std::byte* place() const noexcept { return next_; }
    void set_place(const std::byte* next) noexcept { next_ = next; }
    void skip(unsigned lane, unsigned count) { skip(lane, count, next_, end_); }
    void skip(unsigned lane, unsigned count, const std::byte*& next, const std::byte* end) {
        std::uint64_t bits = bits_[lane] >> count;
        unsigned left = count_[lane] - count;
        const bool low = left < 32;
        if (end - next >= 4) {
            // Without a branch: the processor cannot predict which symbol needs a word.
            const std::uint64_t word = load<std::uint32_t>(next);
            bits |= (low ? word : 0) << left;
            left += low ? 32 : 0;
            next += low ? 4 : 0;
        } else if (low) {
            damaged("it is cut off");
        }
        bits_[lane] = bits;
        count_[lane] = left;
    }
    [[nodiscard]] std::uint32_t take(unsigned lane, unsigned count) {
        const std::uint32_t value = low_bits(peek(lane), count);
        skip(lane, count);
        return value;
    }

    [[nodiscard]] const std::byte* end() const noexcept { return end_; }

    [[noreturn]] static void damaged(const char* what) {
        fail(ErrorCode::corrupt_data, std::string("the GDeflate stream is damaged: ") + what);
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

/// Decodes a stream to memory, or only counts if there is none.
class GdeflateDecoder {
public:
    GdeflateDecoder(ByteView stream, std::byte* output, std::uint64_t room)
        : reader_(stream), output_(output), room_(room) {}

    /// Returns the size of the data. If it is more than `room`, it throws if there is an output.
    std::uint64_t run() {
        NoSink none;
        visit_blocks(reader_, none, *this);
        return size_;
    }

    static constexpr unsigned kFixedDistances = 32;

    void stored() {
        const std::uint32_t size = reader_.take(0, 16);
        const std::uint64_t at = claim(size);
        for (std::uint32_t i = 0; i < size; ++i) {
            const auto value = static_cast<std::byte>(reader_.take(i % kLanes, 8));
            if (output_ != nullptr) output_[at + i] = value;
        }
    }

    void compressed(const BlockCodes& codes) {
        std::array<Copy, kLanes> copies;
        for (bool ended = false; !ended;) {
            unsigned lane = 0;
            if (output_ != nullptr && room_ >= kLanes && size_ <= room_ - kLanes)
                lane = literals(codes.literals, copies);
            for (; lane < kLanes; ++lane) {
                if (copies[lane].length != 0) {
                    copy(codes.distances, lane, copies[lane]);
                } else if (!ended) {
                    ended = symbol(codes.literals, lane, copies[lane]);
                }
            }
            if (size_ > room_) return;  // only counting, and it is enough
        }
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            if (copies[lane].length != 0) copy(codes.distances, lane, copies[lane]);
        }
    }

    [[nodiscard]] bool wants_more() const noexcept { return size_ <= room_; }

private:
    struct Copy {
        std::uint64_t at = 0;
        std::uint32_t length = 0;  // 0: no copy needs a distance
    };

    /// Adds `count` bytes to the size. Returns their place.
    std::uint64_t claim(std::uint64_t count) {
        const std::uint64_t at = size_;
        size_ += count;
        if (output_ != nullptr && size_ > room_) LaneReader::damaged("it expands to more than it should");
        return at;
    }

    /// Reads the literals of a round up to the first lane with another symbol, which it returns. There must be room.
    /// This makes weights and other floats faster, which are nearly all literals.
    unsigned literals(const HuffmanCode& code, const std::array<Copy, kLanes>& copies) {
        const std::byte* next = reader_.place();
        const std::byte* const end = reader_.end();
        std::byte* to = output_ + size_;
        unsigned lane = 0;
        for (; lane < kLanes && copies[lane].length == 0; ++lane) {
            const Symbol symbol = code.decode(reader_.peek(lane));
            if (symbol.length == 0 || symbol.value >= kEndOfBlock) break;
            reader_.skip(lane, symbol.length, next, end);
            *to++ = static_cast<std::byte>(symbol.value);
        }
        reader_.set_place(next);
        size_ = static_cast<std::uint64_t>(to - output_);
        return lane;
    }

    /// Reads a literal, a length, or the end of the block: true.
    bool symbol(const HuffmanCode& literals, unsigned lane, Copy& next) {
        const std::uint32_t bits = reader_.peek(lane);
        const Symbol symbol = literals.decode(bits);
        if (symbol.length == 0) LaneReader::damaged("it has an invalid code");
        if (symbol.value <= kEndOfBlock) {
            reader_.skip(lane, symbol.length);
            if (symbol.value == kEndOfBlock) return true;
            const std::uint64_t at = claim(1);
            if (output_ != nullptr) output_[at] = static_cast<std::byte>(symbol.value);
            return false;
        }
        const unsigned index = symbol.value - 257;
        if (index >= kLengthBase.size()) LaneReader::damaged("it has an invalid length");
        const bool is_long = symbol.value == kLongLength;
        const unsigned extra = is_long ? 16 : kLengthExtra[index];
        next.length = (is_long ? 3u : kLengthBase[index]) + low_bits(bits >> symbol.length, extra);
        reader_.skip(lane, symbol.length + extra);
        next.at = claim(next.length);
        return false;
    }

    void copy(const HuffmanCode& distances, unsigned lane, Copy& pending) {
        const std::uint32_t bits = reader_.peek(lane);
        const Symbol symbol = distances.decode(bits);
        if (symbol.length == 0) LaneReader::damaged("it has an invalid distance");
        const unsigned extra = kDistanceExtra[symbol.value];
        const std::uint32_t distance = kDistanceBase[symbol.value] + low_bits(bits >> symbol.length, extra);
        reader_.skip(lane, symbol.length + extra);
        if (distance > pending.at) LaneReader::damaged("it copies bytes from before its start");
        if (output_ != nullptr) {
            std::byte* to = output_ + pending.at;
            if (distance >= pending.length) {
                copy_apart(to, to - distance, pending.length);
            } else {
                for (std::uint32_t i = 0; i < pending.length; ++i)
                    to[i] = to[static_cast<std::ptrdiff_t>(i) - distance];
            }
        }
        pending.length = 0;
    }

    /// Copies three bytes or more that do not overlap. It must not write past them, as DEFLATE's decoders do, because
    /// other lanes may have written there. A call of memcpy takes longer than most of the copies, which are short.
    static void copy_apart(std::byte* to, const std::byte* from, std::uint32_t length) {
        const auto ends = [&]<class Word>(Word first) {
            first = load<Word>(from);
            const auto last = load<Word>(from + length - sizeof(Word));
            store<Word>(to, first);
            store<Word>(to + length - sizeof(Word), last);
        };
        if (length > 16) {
            std::memcpy(to, from, length);
        } else if (length >= 8) {
            ends(std::uint64_t{});
        } else if (length >= 4) {
            ends(std::uint32_t{});
        } else {
            ends(std::uint16_t{});
        }
    }

    LaneReader reader_;
    std::byte* output_;
    std::uint64_t room_;
    std::uint64_t size_ = 0;
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

    /// More than DEFLATE's: 16 bits for each length of 258, and the bits in the windows of the lanes at the end.
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
    return std::make_unique<Gdeflate>(options.algorithm_type);
}

}  // namespace tricodec::compress
