// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "compress/chunk_codec.h"
#include "compress/cpu/bit_shuffle.h"
#include "tricodec/error.h"

#ifdef TRICODEC_HAVE_LZ4
#include <lz4.h>
#include <lz4hc.h>
#endif

namespace tricodec::compress {

#ifdef TRICODEC_HAVE_LZ4
namespace {

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
                        "an LZ4 block of more than 2 GiB is not read");
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

    /// A block does not tell its size: the lengths of all its sequences are added up.
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
#else
std::unique_ptr<ChunkCodec> make_lz4(const ChunkOptions&) {
    return nullptr;
}
#endif

}  // namespace tricodec::compress
