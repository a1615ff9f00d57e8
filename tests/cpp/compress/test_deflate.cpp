// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "compress/cpu/deflate_library.h"

namespace tricodec::compress {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kChunk = 65536;

template <class Value>
Bytes bytes_of(const std::vector<Value>& values) {
    Bytes bytes(values.size() * sizeof(Value));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

Bytes float_weights(std::size_t size_bytes) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 0.05F);
    std::vector<float> values(size_bytes / sizeof(float));
    for (float& value : values) value = normal(random);
    return bytes_of(values);
}

/// The upper halves of float_weights().
Bytes bfloat16_weights(std::size_t size_bytes) {
    const Bytes wide = float_weights(2 * size_bytes);
    Bytes bytes;
    for (std::size_t i = 0; i < wide.size(); i += 4) bytes.insert(bytes.end(), {wide[i + 2], wide[i + 3]});
    return bytes;
}

/// A smooth quantity about 280, as a temperature, with noise in its lower bytes.
Bytes field(std::size_t size_bytes) {
    std::mt19937 random(5);
    std::normal_distribution<float> normal(0, 0.3F);
    std::vector<float> values(size_bytes / sizeof(float));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto at = static_cast<float>(i);
        values[i] = 280 + 20 * std::cos(at / 21720) + 5 * std::sin(at / 17) + normal(random);
    }
    return bytes_of(values);
}

Bytes words(std::size_t size_bytes) {
    const char* const all[] = {"codec ", "frame ", "chunk ", "packet ", "surface ", "a ", "of "};
    std::mt19937 random(7);
    std::string text;
    while (text.size() < size_bytes) text += all[random() % std::size(all)];
    Bytes bytes(size_bytes);
    std::memcpy(bytes.data(), text.data(), size_bytes);
    return bytes;
}

/// Floats that come again now and then, whole.
Bytes picks(std::size_t size_bytes) {
    const Bytes all = float_weights(40'000);
    std::mt19937 random(7);
    Bytes bytes;
    while (bytes.size() < size_bytes) {
        const auto from = all.begin() + static_cast<std::ptrdiff_t>(4 * (random() % 10'000));
        bytes.insert(bytes.end(), from, from + 4);
    }
    return bytes;
}

TEST(DeflateCompressor, takes_literals_for_weights) {
    EXPECT_TRUE(literals_suffice(float_weights(kChunk)));
    EXPECT_TRUE(literals_suffice(bfloat16_weights(kChunk)));
}

TEST(DeflateCompressor, takes_matches_where_they_save_bits) {
    EXPECT_FALSE(literals_suffice(words(kChunk)));
    EXPECT_FALSE(literals_suffice(picks(kChunk)));
    EXPECT_FALSE(literals_suffice(field(kChunk)));
    EXPECT_FALSE(literals_suffice(Bytes(kChunk)));
}

TEST(DeflateCompressor, does_not_sample_small_inputs) {
    for (const std::size_t size : {0U, 1U, 4U, 8191U, 8192U, 16380U}) {
        Bytes weights = float_weights(16384);
        weights.resize(size);
        EXPECT_FALSE(literals_suffice(weights)) << size;
    }
}

TEST(DeflateCompressor, takes_matches_for_a_large_input_if_a_part_has_them) {
    Bytes input = float_weights(4 * kChunk + 1000);
    EXPECT_TRUE(literals_suffice(input));
    const Bytes text = words(kChunk);
    std::copy(text.begin(), text.end(), input.begin() + 2 * static_cast<std::ptrdiff_t>(kChunk));

    EXPECT_FALSE(literals_suffice(input));
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
        ASSERT_TRUE(literals_suffice(input));
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
    ASSERT_TRUE(literals_suffice(weights));
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
