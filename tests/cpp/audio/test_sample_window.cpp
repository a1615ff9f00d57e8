// SPDX-License-Identifier: Apache-2.0
/// The queue of decoded samples, and the clock that gives them times.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "audio/sample_clock.h"
#include "audio/sample_window.h"
#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"

namespace tricodec {
namespace {

/// Appends samples that hold their numbers, on the right channel negated.
void append(SampleWindow& window, std::int64_t count) {
    const auto first = window.end();
    const auto planes = window.reserve(count);
    for (std::int64_t i = 0; i < count; ++i) {
        reinterpret_cast<float*>(planes[0])[i] = static_cast<float>(first + i);
        reinterpret_cast<float*>(planes[1])[i] = -static_cast<float>(first + i);
    }
    window.commit(count);
}

void expect_numbers(const Tensor& samples, std::int64_t first, std::int64_t count) {
    ASSERT_EQ(samples.view.shape, (std::vector<std::int64_t>{2, count}));
    const auto* data = static_cast<const float*>(samples.view.data);
    for (std::int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(data[i], static_cast<float>(first + i));
        ASSERT_EQ(data[count + i], -static_cast<float>(first + i));
    }
}

TEST(SampleWindow, TakesSamplesAcrossBlocksAndKeepsWhatIsAsked) {
    SampleWindow window(2, DType::float32);
    for (int i = 0; i < 50; ++i) append(window, 3001);

    expect_numbers(window.take(10, 150000, 140000), 10, 149990);

    EXPECT_EQ(window.begin(), 140000);
    EXPECT_EQ(window.end(), 50 * 3001);
    expect_numbers(window.take(140000, 140001, 140000), 140000, 1);
    append(window, 70000);
    expect_numbers(window.take(150000, window.end(), 0), 150000, window.end() - 150000);
}

TEST(SampleWindow, CountsOnFromAnyNumberAndDropsWhatIsStillToCome) {
    SampleWindow window(2, DType::float32);
    window.reset(1000);
    append(window, 10);

    window.drop_before(1500);
    append(window, 600);

    EXPECT_EQ(window.begin(), 1500);
    EXPECT_EQ(window.end(), 1610);
    expect_numbers(window.take(1500, 1610, 1500), 1500, 110);
}

TEST(SampleClock, FollowsJumpsOfTheTimeStamps) {
    SampleClock clock(0.0, 1000);
    clock.note(1000, 1.05);  // within the rounding of containers
    clock.note(2000, 5.0);

    EXPECT_EQ(clock.num_stretches(), 2u);
    EXPECT_DOUBLE_EQ(clock.seconds_of(1999), 1.999);
    EXPECT_DOUBLE_EQ(clock.seconds_of(2500), 5.5);
    EXPECT_EQ(clock.sample_at(1.9), 1900);
    EXPECT_EQ(clock.sample_at(3.0), 2000);  // in the hole: the first sample after it
    EXPECT_EQ(clock.sample_at(5.5), 2500);
}

}  // namespace
}  // namespace tricodec
