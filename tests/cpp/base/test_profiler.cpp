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
    const StageScope scope(stage);
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

TEST(Profiler, is_stopped_once_by_several_threads) {
    Profiler profiler;
    {
        const Profiler other;
        std::vector<std::thread> threads;
        for (int i = 0; i < 8; ++i) threads.emplace_back([&profiler] { profiler.stop(); });
        for (auto& thread : threads) thread.join();
        EXPECT_TRUE(is_profiling());
    }
    EXPECT_FALSE(is_profiling());
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

TEST(Profiler, leaves_out_what_began_before_it) {
    std::optional<StageScope> scope(std::in_place, Stage::read);
    const Profiler profiler;
    scope.reset();
    EXPECT_FALSE(time_of(profiler, Stage::read));
}

TEST(Profiler, adds_times_of_gpus_that_are_told_late) {
    static bool told = false;
    set_gpu_time_collector([]() noexcept {
        if (std::exchange(told, true)) return;
        add_gpu_time(Stage::transform, 1500);
    });
    told = true;
    Profiler profiler;
    work(Stage::transform);
    told = false;
    EXPECT_EQ(time_of(profiler, Stage::transform)->gpu_ns, 1500);
    set_gpu_time_collector(nullptr);
}

TEST(Profiler, sums_threads) {
    const Profiler profiler;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([] { work(Stage::compress); });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(time_of(profiler, Stage::compress)->num_calls, 4);
    EXPECT_GE(time_of(profiler, Stage::compress)->host_ns, std::chrono::nanoseconds(4 * kPause).count());
}

}  // namespace
}  // namespace tricodec
