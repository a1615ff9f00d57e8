// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/stage_scope.h"
#include "tricodec/base/profiler.h"

namespace tricodec {
namespace {

constexpr auto kPause = std::chrono::milliseconds(20);

void work(Stage stage) {
    const StageScope scope(stage, 1);
    std::this_thread::sleep_for(kPause);
}

std::optional<StageTime> time_of(const Profiler& profiler, Stage stage) {
    const auto stages = profiler.stages();
    const auto found = std::ranges::find(stages, stage, &StageTime::stage);
    return found == stages.end() ? std::nullopt : std::optional(*found);
}

TEST(Profiler, keeps_what_it_measured_once_it_is_stopped) {
    Profiler profiler;
    work(Stage::write);
    profiler.stop();
    const auto elapsed = profiler.elapsed_ns();
    const auto before = time_of(profiler, Stage::write);
    const Profiler other;
    work(Stage::write);
    EXPECT_EQ(time_of(profiler, Stage::write)->host_ns, before->host_ns);
    EXPECT_EQ(profiler.elapsed_ns(), elapsed);
    EXPECT_EQ(time_of(other, Stage::write)->num_calls, 1);
}

TEST(Profiler, is_asked_for_by_nobody_once_all_are_gone) {
    EXPECT_FALSE(is_profiling());
    {
        Profiler first;
        const Profiler second;
        first.stop();
        EXPECT_TRUE(is_profiling());
    }
    EXPECT_FALSE(is_profiling());
}

TEST(Profiler, adds_times_of_gpus_that_are_told_late) {
    static bool told = false;
    set_gpu_time_collector([]() noexcept {
        if (std::exchange(told, true)) return;
        add_gpu_time({Stage::transform, {Device::Kind::cuda, 1}, 0, profiler_now_ns(), 1500, 3});
    });
    told = true;
    Profiler profiler(8);
    work(Stage::transform);
    told = false;
    EXPECT_EQ(time_of(profiler, Stage::transform)->gpu_ns, 1500);
    const auto events = profiler.events();
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].device, Device{});
    EXPECT_EQ(events[1].device, (Device{Device::Kind::cuda, 1}));
    EXPECT_EQ(events[1].num_frames, 3);
    set_gpu_time_collector(nullptr);
}

TEST(Profiler, leaves_a_stage_the_time_of_no_stage_inside_it) {
    const Profiler profiler;
    const auto begin = profiler_now_ns();
    {
        const StageScope outer(Stage::filter, 1);
        std::this_thread::sleep_for(kPause);
        work(Stage::encode);
        work(Stage::write);
    }
    const auto all = profiler_now_ns() - begin;
    std::int64_t sum = 0;
    for (const auto stage : {Stage::filter, Stage::encode, Stage::write}) {
        EXPECT_GE(time_of(profiler, stage)->host_ns, std::chrono::nanoseconds(kPause).count());
        sum += time_of(profiler, stage)->host_ns;
    }
    EXPECT_LE(sum, all);
}

TEST(Profiler, keeps_the_latest_events_and_counts_the_others) {
    Profiler profiler(3);
    const Profiler nothing_kept;
    for (int i = 0; i < 5; ++i) {
        const StageScope scope(Stage::read, i);
    }
    const auto events = profiler.events();
    ASSERT_EQ(events.size(), 3U);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(events[static_cast<std::size_t>(i)].num_frames, i + 2);
    EXPECT_EQ(profiler.num_dropped_events(), 2);
    EXPECT_TRUE(nothing_kept.events().empty());
    profiler.stop();
    {
        const StageScope scope(Stage::read, 9);
    }
    EXPECT_EQ(profiler.events().back().num_frames, 4);
}

TEST(Profiler, gives_each_event_to_a_taker_once) {
    Profiler profiler(100);
    work(Stage::read);
    EXPECT_EQ(profiler.take_events().size(), 1U);
    EXPECT_TRUE(profiler.take_events().empty());
    work(Stage::decode);
    work(Stage::read);
    profiler.stop();
    const auto rest = profiler.take_events();
    ASSERT_EQ(rest.size(), 2U);
    EXPECT_EQ(rest[0].stage, Stage::decode);
    EXPECT_GE(rest[1].begin_ns, rest[0].begin_ns + rest[0].duration_ns);
    EXPECT_EQ(profiler.events().size(), 3U);
}

}  // namespace
}  // namespace tricodec
