// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "guarded_memory.h"
#include "tricodec/base/error.h"
#include "tricodec/compress/compress.h"

namespace tricodec {
namespace {

using compress::Codec;
using Bytes = std::vector<std::byte>;

Bytes sample(std::size_t size) {
    std::mt19937 random(5);
    Bytes bytes(size);
    std::uint32_t value = 1000;
    for (std::size_t i = 0; i + 4 <= size; i += 4) {
        if (random() % 4 != 0) value += static_cast<std::uint32_t>(random() % 3);
        std::memcpy(bytes.data() + i, &value, 4);
    }
    return bytes;
}

Bytes compressed(const Codec& codec, ByteView input) {
    Bytes result;
    codec.compress({&input, 1}, [&](std::span<const std::size_t> sizes) {
        result.resize(sizes[0]);
        return std::vector<MutableBytes>{result};
    });
    return result;
}

class EveryAlgorithm : public testing::TestWithParam<Compression> {
protected:
    void SetUp() override {
        // Bitcomp's decoder is NVIDIA's own, and ANS has none.
        if (const auto reason = compression_unavailable_reason(GetParam()); !reason.empty()) GTEST_SKIP() << reason;
    }
    static CodecOptions options(BitstreamKind bitstream) {
        CodecOptions options;
        options.algorithm = GetParam();
        options.bitstream = bitstream;
        options.chunk_bytes = 2048;
        options.num_threads = 1;
        return options;
    }
};

constexpr BitstreamKind kKinds[] = {BitstreamKind::native, BitstreamKind::raw, BitstreamKind::with_uncompressed_size};

TEST_P(EveryAlgorithm, asks_for_no_memory_before_a_stream_is_checked) {
    const Codec codec(options(BitstreamKind::native));
    const Bytes input = sample(2048);
    const Bytes right = compressed(codec, input);
    Bytes stream = right;
    const std::uint64_t huge = (std::uint64_t{1} << 32) - 8;  // of one chunk
    std::memcpy(stream.data() + 16, &huge, 8);
    std::memcpy(stream.data() + 48, &huge, 8);
    const ByteView view(stream);
    const auto never = [](std::size_t, std::size_t size) -> std::span<std::byte> {
        ADD_FAILURE() << size;
        return {};
    };
    Bytes output;

    EXPECT_THROW(static_cast<void>(codec.decompressed_sizes({&view, 1})), Error);
    EXPECT_THROW(codec.decompress_range(view, 0, huge, never), Error);
    EXPECT_THROW(codec.decompress_range(right, 1, 2049, never), Error);
    EXPECT_THROW(codec.decompress_range(right, 9, 8, never), Error);
    codec.decompress_range(right, 100, 2000, [&](std::size_t, std::size_t size) {
        output.resize(size);
        return std::span<std::byte>(output);
    });

    EXPECT_EQ(output, Bytes(input.begin() + 100, input.begin() + 2000));
}

/// The page after the stream and the one after the output may not be touched, by a library that no sanitizer sees
/// either.
TEST_P(EveryAlgorithm, damaged_streams_raise_or_give_bytes_inside_of_their_memory) {
    std::mt19937 random(17);
    for (const BitstreamKind kind : kKinds) {
        const Codec codec(options(kind));
        const Bytes stream = compressed(codec, sample(6000));
        int refused = 0;
        constexpr int kRounds = 1000;
        for (int round = 0; round < kRounds; ++round) {
            Bytes damaged = stream;
            for (unsigned change = random() % 4 + 1; change > 0; --change) {
                damaged[random() % damaged.size()] = static_cast<std::byte>(random());
            }
            if (random() % 4 == 0) damaged.resize(random() % damaged.size() + 1);
            const Guarded input(damaged.size());
            std::ranges::copy(damaged, input.bytes().begin());
            try {
                const ByteView view = input.bytes();
                const auto sizes = codec.decompressed_sizes({&view, 1});
                if (sizes[0] > 1 << 20) continue;
                const Guarded output(sizes[0]);
                const auto bytes = output.bytes();
                codec.decompress({&view, 1}, {&bytes, 1});
            } catch (const Error&) {
                ++refused;
            }
        }
        EXPECT_GT(refused, kRounds / 8);
    }
}

INSTANTIATE_TEST_SUITE_P(Compress, EveryAlgorithm,
                         testing::Values(Compression::lz4, Compression::snappy, Compression::zstd, Compression::deflate,
                                         Compression::gzip, Compression::gdeflate, Compression::cascaded),
                         [](const auto& each) { return std::string(to_string(each.param)); });

TEST(Codec, does_not_mix_the_sizes_that_streams_must_expand_to) {
    CodecOptions options;
    options.algorithm = Compression::lz4;
    const Codec codec(options);
    const Bytes streams[] = {compressed(codec, sample(4000)), compressed(codec, sample(8000))};
    const std::vector<ByteView> views(std::begin(streams), std::end(streams));
    Bytes outputs[] = {Bytes(4000), Bytes(4000)};
    const std::vector<MutableBytes> places(std::begin(outputs), std::end(outputs));
    const auto place = [&](std::span<const std::size_t>) { return places; };
    const std::vector<std::size_t> sizes = {4000, 4000};
    try {
        static_cast<void>(codec.start_decompress(views, place, {}, sizes));
        FAIL();
    } catch (const BatchError& error) {
        EXPECT_EQ(error.index(), 1u);
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    }
}

}  // namespace
}  // namespace tricodec
