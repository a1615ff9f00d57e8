// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "compress/container.h"
#include "compress/crc32c.h"
#include "compress/runs.h"
#include "tricodec/compress.h"
#include "tricodec/error.h"

namespace tricodec {
namespace {

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

Bytes compressed(const Compressor& codec, ByteView input) {
    Bytes result;
    codec.compress({&input, 1}, [&](std::size_t, std::size_t size) {
        result.resize(size);
        return std::span<std::byte>(result);
    });
    return result;
}

/// Decompresses to memory of exactly the size, so that a sanitizer sees every byte outside.
Bytes decompressed(const Compressor& codec, ByteView stream) {
    const auto sizes = codec.decompressed_sizes({&stream, 1});
    Bytes result(sizes[0]);
    const std::span<std::byte> output(result);
    codec.decompress({&stream, 1}, {&output, 1});
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
    const Compressor codec(options(BitstreamKind::native));
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

TEST_P(EveryAlgorithm, gives_the_bytes_back) {
    for (const BitstreamKind kind : kKinds) {
        const Compressor codec(options(kind));
        for (const std::size_t size : {0, 4, 2044, 2048, 2052, 100000}) {
            const Bytes input = sample(size);
            const Bytes stream = compressed(codec, input);
            EXPECT_LE(stream.size(), codec.max_compressed_bytes(size));
            EXPECT_EQ(decompressed(codec, stream), input) << size;
        }
    }
}

TEST_P(EveryAlgorithm, damaged_streams_raise_or_give_bytes) {
    std::mt19937 random(17);
    for (const BitstreamKind kind : kKinds) {
        const Compressor codec(options(kind));
        const Bytes stream = compressed(codec, sample(6000));
        int refused = 0;
        constexpr int kRounds = 1000;
        for (int round = 0; round < kRounds; ++round) {
            Bytes damaged = stream;
            for (unsigned change = random() % 4 + 1; change > 0; --change) {
                damaged[random() % damaged.size()] = static_cast<std::byte>(random());
            }
            if (random() % 4 == 0) damaged.resize(random() % damaged.size() + 1);
            damaged.shrink_to_fit();  // so that reading past the end is seen
            try {
                const ByteView view = damaged;
                const auto sizes = codec.decompressed_sizes({&view, 1});
                if (sizes[0] > 1 << 20) continue;
                static_cast<void>(decompressed(codec, view));
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

TEST(Compress, each_input_of_a_batch_has_its_own_codec) {
    std::vector<std::unique_ptr<Compressor>> codecs;
    for (const auto& [chunk_bytes, level, checksums] : {std::tuple{1000, 1, ChecksumPolicy::no_compute_no_verify},
                                                        std::tuple{65536, 15, ChecksumPolicy::compute_verify},
                                                        std::tuple{300000, 3, ChecksumPolicy::no_compute_no_verify}}) {
        CodecOptions options;
        options.algorithm = Compression::zstd;
        options.chunk_bytes = static_cast<std::size_t>(chunk_bytes);
        options.level = level;
        options.checksums = checksums;
        options.num_threads = 3;
        codecs.push_back(std::make_unique<Compressor>(options));
    }
    const Bytes input = sample(200000);
    std::vector<Compressor::Job> jobs;
    for (std::size_t i = 0; i < 9; ++i) jobs.push_back({codecs[i % 3].get(), ByteView(input).subspan(i * 8)});

    std::vector<Bytes> streams;
    Compressor::compress_each(jobs, [&](std::span<const std::size_t> sizes) {
        std::vector<std::span<std::byte>> places;
        for (const std::size_t size : sizes) streams.emplace_back(size);
        for (Bytes& stream : streams) places.emplace_back(stream);
        return places;
    });

    ASSERT_EQ(streams.size(), jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) EXPECT_EQ(streams[i], compressed(*jobs[i].codec, jobs[i].input)) << i;
    EXPECT_NE(streams[0].size(), streams[1].size());
}

TEST(Compress, an_input_that_its_codec_does_not_take_is_named) {
    CodecOptions options;
    options.algorithm = Compression::lz4;
    const Compressor any(options);
    options.algorithm = Compression::cascaded;
    const Compressor whole(options);
    const Bytes input(7);
    const Compressor::Job jobs[] = {{&any, input}, {&whole, input}};
    try {
        Compressor::compress_each(jobs, [](auto) { return std::vector<std::span<std::byte>>(); });
        FAIL();
    } catch (const BatchError& error) {
        EXPECT_EQ(error.index(), 1u);
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    }
}

TEST(Compress, crc32c_is_the_published_one) {
    const char text[] = "123456789";  // RFC 3720, B.4 and the catalogues of CRCs
    const ByteView bytes(reinterpret_cast<const std::byte*>(text), 9);

    EXPECT_EQ(compress::crc32c(bytes), 0xe3069283u);
    EXPECT_EQ(compress::crc32c(bytes.subspan(4), compress::crc32c(bytes.first(4))), 0xe3069283u);
    EXPECT_EQ(compress::crc32c({}), 0u);
}

TEST(Compress, runs_cover_every_chunk_once) {
    const compress::Chunks items[] = {{0, 65536, 0}, {1, 65536, 1}, {10 << 20, 65536, 160}, {300, 100, 3}};
    for (const int threads : {1, 2, 16}) {
        std::vector<std::uint64_t> covered(4);
        for (const compress::Run& run : compress::cut_into_runs(items, threads)) {
            EXPECT_EQ(run.first, covered[run.item]);
            covered[run.item] += run.count;
        }
        EXPECT_EQ(covered, (std::vector<std::uint64_t>{0, 1, 160, 3}));
    }
}

TEST(Compress, a_failure_in_one_run_reaches_the_caller) {
    EXPECT_THROW(compress::for_each_run(100, 4, {},
                                        [](std::size_t i) {
                                            if (i == 37) fail(ErrorCode::corrupt_data, "37");
                                        }),
                 Error);
}

}  // namespace
}  // namespace tricodec
