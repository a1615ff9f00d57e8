// SPDX-License-Identifier: Apache-2.0
#include <lz4.h>
#include <lz4hc.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "compress/chunk_codec.h"
#include "tricodec/base/error.h"

namespace tricodec::compress {
namespace {

constexpr std::size_t kPart = 8192;

/// Bit j of byte i becomes bit i of byte j (Warren, Hacker's Delight, 7-3).
std::uint64_t transposed(std::uint64_t bits) noexcept {
    const auto swap = [&](unsigned distance, std::uint64_t mask) {
        const std::uint64_t changed = (bits ^ (bits >> distance)) & mask;
        bits ^= changed ^ (changed << distance);
    };
    swap(7, 0x00aa'00aa'00aa'00aa);
    swap(14, 0x0000'cccc'0000'cccc);
    swap(28, 0x0000'0000'f0f0'f0f0);
    return bits;
}

/// Calls visit(element offset, plane offset, plane step) for each byte of each eight elements, in parts of 8 KiB. Those
/// are the offset of the byte in the first element, the offset of the result for its lowest bit, and the step to the
/// results of the other bits. The rest of a part, fewer than eight elements, is copied.
template <class Visit>
void for_each_eight(ByteView input, std::size_t element_bytes, bool highest_first, std::span<std::byte> output,
                    Visit visit) {
    const std::size_t planes = 8 * element_bytes;
    for (std::size_t part = 0; part < input.size(); part += kPart) {
        const std::size_t size = std::min(kPart, input.size() - part);
        const std::size_t groups = size / planes;
        const auto step = static_cast<std::ptrdiff_t>(groups) * (highest_first ? -1 : 1);
        for (std::size_t group = 0; group < groups; ++group) {
            for (std::size_t byte = 0; byte < element_bytes; ++byte) {
                const std::size_t plane = highest_first ? planes - 1 - 8 * byte : 8 * byte;
                visit(part + group * planes + byte, part + plane * groups + group, step);
            }
        }
        const std::size_t whole = groups * planes;
        std::memcpy(output.data() + part + whole, input.data() + part + whole, size - whole);
    }
}

/// Transposes the 8 x 8 bits of eight bytes that are `from_step` apart.
void transpose(const std::byte* from, std::ptrdiff_t from_step, std::byte* to, std::ptrdiff_t to_step) {
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits |= static_cast<std::uint64_t>(from[i * from_step]) << 8 * i;
    bits = transposed(bits);
    for (int i = 0; i < 8; ++i) to[i * to_step] = static_cast<std::byte>(bits >> 8 * i);
}

/// Gathers the bits of one significance of neighboring elements, as nvCOMP's bitshuffle_mode.
///
/// Note [Bit shuffle]. Each 8 KiB of a chunk are shuffled alone. Eight elements give one byte for each bit, with the
/// first element in bit 0. The bytes of one bit are together, those of the highest bit first, or of the lowest. The
/// rest, fewer than eight elements, follows unchanged. `output` is as large as `input`.
void shuffle_bits(ByteView input, std::size_t element_bytes, bool highest_first, std::span<std::byte> output) {
    const auto apart = static_cast<std::ptrdiff_t>(element_bytes);
    for_each_eight(input, element_bytes, highest_first, output,
                   [&](std::size_t element, std::size_t plane, std::ptrdiff_t step) {
                       transpose(input.data() + element, apart, output.data() + plane, step);
                   });
}

/// The inverse, in place.
void unshuffle_bits(std::span<std::byte> bytes, std::size_t element_bytes, bool highest_first) {
    const auto apart = static_cast<std::ptrdiff_t>(element_bytes);
    std::array<std::byte, kPart> shuffled;
    for (std::size_t begin = 0; begin < bytes.size(); begin += kPart) {
        const std::span<std::byte> part = bytes.subspan(begin, std::min(kPart, bytes.size() - begin));
        std::memcpy(shuffled.data(), part.data(), part.size());
        for_each_eight({shuffled.data(), part.size()}, element_bytes, highest_first, part,
                       [&](std::size_t element, std::size_t plane, std::ptrdiff_t step) {
                           transpose(shuffled.data() + plane, step, part.data() + element, apart);
                       });
    }
}

const char* chars(ByteView bytes) {
    return reinterpret_cast<const char*>(bytes.data());
}
char* chars(std::span<std::byte> bytes) {
    return reinterpret_cast<char*>(bytes.data());
}

class Lz4Worker final : public ChunkWorker {
public:
    explicit Lz4Worker(const ChunkOptions& options)
        : level_(options.level.value_or(0)),
          shuffle_(options.bit_shuffle),
          element_bytes_(size_of(options.element_type)),
          state_(static_cast<std::size_t>(level_ > 0 ? LZ4_sizeofStateHC() : LZ4_sizeofState()) / 8 + 1) {}

    std::size_t compress(ByteView input, std::span<std::byte> output) override {
        if (shuffle_ != BitShuffle::none) {
            shuffled_.resize(input.size());
            shuffle_bits(input, element_bytes_, shuffle_ == BitShuffle::msb_first, shuffled_);
            input = shuffled_;
        }
        const int size = static_cast<int>(input.size());
        const int room = static_cast<int>(std::min<std::size_t>(output.size(), LZ4_COMPRESSBOUND(LZ4_MAX_INPUT_SIZE)));
        const int written =
            level_ > 0 ? LZ4_compress_HC_extStateHC(state_.data(), chars(input), chars(output), size, room, level_)
                       : LZ4_compress_fast_extState(state_.data(), chars(input), chars(output), size, room, 1);
        TRICODEC_INVARIANT(written > 0);
        return static_cast<std::size_t>(written);
    }

    void decompress(ByteView input, std::span<std::byte> output) override {
        expand(input, output);
        if (shuffle_ != BitShuffle::none) unshuffle_bits(output, element_bytes_, shuffle_ == BitShuffle::msb_first);
    }

private:
    static void expand(ByteView input, std::span<std::byte> output) {
        TRICODEC_EXPECT(input.size() <= INT32_MAX && output.size() <= INT32_MAX, unsupported,
                        "LZ4 blocks of more than 2 GiB are not supported");
        const int size = LZ4_decompress_safe(chars(input), chars(output), static_cast<int>(input.size()),
                                             static_cast<int>(output.size()));
        TRICODEC_EXPECT(
            size >= 0 && static_cast<std::size_t>(size) == output.size(), corrupt_data,
            "the LZ4 block is damaged, or it does not expand to " + std::to_string(output.size()) + " bytes");
    }

    int level_;
    BitShuffle shuffle_;
    std::size_t element_bytes_;
    std::vector<std::uint64_t> state_;
    std::vector<std::byte> shuffled_;
};

class Lz4 final : public ChunkCodec {
public:
    explicit Lz4(const ChunkOptions& options) : options_(options) {}

    std::size_t bound(std::size_t size_bytes) const override { return size_bytes + size_bytes / 255 + 16; }
    std::uint64_t largest_chunk() const noexcept override { return LZ4_MAX_INPUT_SIZE; }
    std::unique_ptr<ChunkWorker> make_worker() const override { return std::make_unique<Lz4Worker>(options_); }

    /// A block does not contain its size: adds up the lengths of its sequences.
    std::uint64_t measure(ByteView stream, std::uint64_t most) const override {
        const auto damaged = [] { fail(ErrorCode::corrupt_data, "the LZ4 block is damaged"); };
        const auto* p = reinterpret_cast<const unsigned char*>(stream.data());
        const auto* end = p + stream.size();
        std::uint64_t total = 0;
        const auto length = [&](unsigned nibble) {
            std::uint64_t value = nibble;
            if (nibble != 15) return value;
            unsigned char next = 255;
            while (next == 255) {
                if (p == end) damaged();
                next = *p++;
                value += next;
            }
            return value;
        };
        while (p < end) {
            const unsigned token = *p++;
            const std::uint64_t literals = length(token >> 4);
            if (literals > static_cast<std::uint64_t>(end - p)) damaged();
            p += literals;
            total += literals;
            if (p == end) return total;
            if (end - p < 2) damaged();
            p += 2;
            total += length(token & 15) + 4;
            if (total > most) return total;
        }
        damaged();
        return 0;
    }

private:
    ChunkOptions options_;
};

}  // namespace

std::unique_ptr<ChunkCodec> make_lz4(const ChunkOptions& options) {
    return std::make_unique<Lz4>(options);
}

}  // namespace tricodec::compress
