// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "compress/cpu/deflate_choice.h"

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

/// Floats whose upper bytes are others after each 16 KiB.
Bytes random_walk(std::size_t size_bytes) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 1);
    std::vector<float> values(size_bytes / sizeof(float));
    float sum = 0;
    for (float& value : values) value = sum += normal(random);
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

TEST(DeflateChoice, takes_literals_for_weights) {
    EXPECT_EQ(choose_deflate_way(float_weights(kChunk)), DeflateWay::literals);
    EXPECT_EQ(choose_deflate_way(bfloat16_weights(kChunk)), DeflateWay::literals);
}

TEST(DeflateChoice, weighs_matches_in_fields_of_floats) {
    EXPECT_EQ(choose_deflate_way(field(kChunk)), DeflateWay::weighing);
}

TEST(DeflateChoice, takes_no_literals_where_frequencies_change_within_a_chunk) {
    EXPECT_NE(choose_deflate_way(random_walk(kChunk)), DeflateWay::literals);
}

TEST(DeflateChoice, keeps_the_usual_way_for_text_and_for_what_repeats) {
    EXPECT_EQ(choose_deflate_way(words(kChunk)), DeflateWay::usual);
    EXPECT_EQ(choose_deflate_way(picks(kChunk)), DeflateWay::usual);
}

TEST(DeflateChoice, keeps_the_usual_way_for_small_inputs) {
    for (const std::size_t size : {0U, 1U, 4U, 8191U, 8192U, 16380U}) {
        Bytes weights = float_weights(16384);
        weights.resize(size);
        EXPECT_EQ(choose_deflate_way(weights), DeflateWay::usual) << size;
    }
}

TEST(DeflateChoice, goes_by_most_of_a_large_input) {
    Bytes input = words(kChunk);
    const Bytes weights = float_weights(4 * kChunk + 1000);
    input.insert(input.end(), weights.begin(), weights.end());

    EXPECT_EQ(choose_deflate_way(input), DeflateWay::literals);
}

}  // namespace
}  // namespace tricodec::compress
