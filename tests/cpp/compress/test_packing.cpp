// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "compress/bytes.h"
#include "compress/cpu/deflate_choice.h"
#include "compress/cpu/deflate_library.h"
#include "compress/packing.h"
#include "tricodec/compress.h"

namespace tricodec::compress {
namespace {

using Bytes = std::vector<std::byte>;

/// Run `index` as its bytes: as many as its size, all its number.
Bytes run_bytes(std::size_t index) {
    return Bytes(7 + index * 13 % 50, static_cast<std::byte>(index + 1));
}

TEST(Packing, puts_runs_one_behind_the_other_whatever_the_order_they_finish_in) {
    constexpr std::size_t kRuns = 40;
    constexpr std::size_t kWorst = 64;
    Bytes expected;
    for (std::size_t i = 0; i < kRuns; ++i) {
        expected.resize(align_up(expected.size(), 8));
        const Bytes run = run_bytes(i);
        expected.insert(expected.end(), run.begin(), run.end());
    }
    std::mt19937 random(3);
    for (int repetition = 0; repetition < 50; ++repetition) {
        Bytes room(kRuns * kWorst, std::byte{0xee});
        Packing packing(room, kRuns);
        std::vector<std::pair<std::size_t, Packing::Target>> open;
        std::size_t started = 0;
        while (started < kRuns || !open.empty()) {
            if (started < kRuns && (open.empty() || random() % 2 == 0)) {
                Packing::Target target = packing.start(started, kWorst);
                std::memset(target.data(), 0xcc, kWorst);  // a compressor may write more than it gives
                open.emplace_back(started++, std::move(target));
                continue;
            }
            const auto chosen = open.begin() + static_cast<std::ptrdiff_t>(random() % open.size());
            auto [run, target] = std::move(*chosen);
            open.erase(chosen);
            const Bytes bytes = run_bytes(run);
            std::memcpy(target.data(), bytes.data(), bytes.size());
            packing.finish(run, std::move(target), bytes.size());
        }

        ASSERT_EQ(packing.total_bytes(), expected.size());
        room.resize(expected.size());
        ASSERT_EQ(room, expected);
    }
}

TEST(Compressor, gives_the_same_bytes_to_memory_for_the_worst_case) {
    std::mt19937 random(9);
    Bytes input(700'001);
    for (auto& byte : input) byte = static_cast<std::byte>(random() % 7);
    for (const auto bitstream : {BitstreamKind::native, BitstreamKind::raw, BitstreamKind::with_uncompressed_size}) {
        for (const auto checksums : {ChecksumPolicy::no_compute_no_verify, ChecksumPolicy::compute_no_verify}) {
            if (bitstream != BitstreamKind::native && checksums != ChecksumPolicy::no_compute_no_verify) continue;
            for (const int threads : {1, 5}) {
                CodecOptions options;
                options.algorithm = Compression::cascaded;
                options.element_type = ElementType::uint8;
                options.bitstream = bitstream;
                options.checksums = checksums;
                options.num_threads = threads;
                const Compressor codec(options);
                const std::vector<ByteView> inputs = {input, ByteView(input).first(5), ByteView(input).first(65536)};
                std::vector<Bytes> exact(inputs.size());
                codec.compress(inputs, [&](std::size_t i, std::size_t size) {
                    exact[i].resize(size);
                    return std::span<std::byte>(exact[i]);
                });
                std::vector<Bytes> rooms;
                for (const ByteView view : inputs) rooms.emplace_back(codec.max_compressed_bytes(view.size()));
                const std::vector<std::span<std::byte>> outputs(rooms.begin(), rooms.end());

                const std::vector<std::size_t> sizes = codec.compress_to(inputs, outputs);

                for (std::size_t i = 0; i < inputs.size(); ++i) {
                    rooms[i].resize(sizes[i]);
                    EXPECT_EQ(rooms[i], exact[i]);
                }
            }
        }
    }
}

/// Makes each input's stream with 150 compressors, each of which has its own place.
void expect_the_same_streams(int algorithm_type, const std::vector<Bytes>& inputs) {
    std::vector<Bytes> expected;
    std::vector<std::unique_ptr<DeflateCompressor>> all;
    for (int i = 0; i < 150; ++i) {
        all.push_back(std::make_unique<DeflateCompressor>(algorithm_type, DeflateUse::raw));
        for (std::size_t k = 0; k < inputs.size(); ++k) {
            Bytes output(deflate_bound(inputs[k].size()));
            output.resize(all.back()->compress(inputs[k], output));
            if (i == 0) {
                expected.push_back(output);
            } else {
                ASSERT_EQ(output, expected[k]) << "compressor " << i << ", input " << k;
            }
        }
    }
}

TEST(DeflateCompressor, gives_the_same_stream_wherever_its_memory_lies) {
    if (!deflate_available()) GTEST_SKIP() << "no libdeflate";
    // Small words, cumulated: short inputs of them need many buckets of ISA-L's smallest tables.
    std::mt19937 random(11);
    std::vector<Bytes> inputs;
    for (int i = 0; i < 24; ++i) {
        std::vector<std::int32_t> words(static_cast<std::size_t>(40 + i));
        for (auto& word : words) word = static_cast<std::int32_t>(random() % 5) - 2;
        Bytes input(words.size() * sizeof(words[0]));
        std::memcpy(input.data(), words.data(), input.size());
        inputs.push_back(std::move(input));
    }
    expect_the_same_streams(1, inputs);
}

TEST(DeflateCompressor, gives_weights_the_same_stream_wherever_its_memory_lies) {
    if (!deflate_available()) GTEST_SKIP() << "no libdeflate";
    // Bytes of 100 values have few matches, and some of four bytes: ISA-L's level 3 makes their streams.
    std::mt19937 random(11);
    std::vector<Bytes> inputs(3, Bytes(40'000));
    for (auto& input : inputs) {
        for (auto& byte : input) byte = static_cast<std::byte>(random() % 100);
        // Matches with the first bytes, which ISA-L enters into its tables by their own way.
        for (const std::size_t at : {100U, 1000U, 9000U}) std::copy_n(input.begin(), 8, input.begin() + at);
        ASSERT_EQ(choose_deflate_way(input), DeflateWay::literals);
    }
    expect_the_same_streams(2, inputs);
}

TEST(DeflateCompressor, gives_the_same_stream_whatever_it_compressed_before) {
    if (!deflate_available()) GTEST_SKIP() << "without libdeflate";
    std::mt19937 random(4);
    Bytes text(65536);
    for (std::size_t i = 0; i < text.size(); ++i) {
        text[i] = i >= 100 && random() % 8 != 0 ? text[i - 1 - random() % 100] : static_cast<std::byte>(random() % 256);
    }
    Bytes weights(65536);
    for (auto& byte : weights) byte = static_cast<std::byte>(random() % 100);
    ASSERT_EQ(choose_deflate_way(weights), DeflateWay::literals);
    const std::pair<int, const Bytes&> cases[] = {{0, text}, {1, text}, {2, text}, {2, weights}};
    for (const auto& [type, input] : cases) {
        for (const DeflateUse use : {DeflateUse::raw, DeflateUse::gzip}) {
            DeflateCompressor used(type, use);
            for (int repetition = 0; repetition < 15; ++repetition) {
                // What stays on the stack and in freed memory is of no consequence either.
                Bytes noise(1 + random() % 70000);
                for (auto& byte : noise) byte = static_cast<std::byte>(random() % (1 + random() % 256));
                Bytes room(deflate_bound(input.size()) + deflate_bound(noise.size()));
                static_cast<void>(used.compress(noise, room));
                const std::size_t size = used.compress(input, room);
                DeflateCompressor fresh(type, use);
                Bytes alone(room.size());
                ASSERT_EQ(fresh.compress(input, alone), size);
                ASSERT_TRUE(std::equal(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(size), alone.begin()));
            }
        }
    }
}

}  // namespace
}  // namespace tricodec::compress
