// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "base/memory_counter.h"
#include "tricodec/base/buffer.h"
#include "tricodec/base/memory_tracker.h"

namespace tricodec {
namespace {

constexpr Device kGpu{Device::Kind::cuda, 7};  // no machine here has it
constexpr std::size_t kLarge = 8 << 20;

template <class Uses>
auto use_of(const Uses& uses, std::string_view name) {
    const auto found = std::ranges::find_if(uses, [&](const auto& use) { return use.name() == name; });
    return found == uses.end() ? std::nullopt : std::optional(*found);
}

TEST(MemoryUse, counts_what_is_given_out_and_what_is_kept) {
    MemoryCounter counter(MemoryKind::device, kGpu);
    counter.add(MemoryAction::allocate, 100);
    counter.add(MemoryAction::allocate, 10);
    counter.add(MemoryAction::release, 100);
    auto use = use_of(memory_use(), "device cuda:7");
    ASSERT_TRUE(use);
    EXPECT_EQ(use->in_use_bytes, 10);
    EXPECT_EQ(use->idle_bytes, 100);
    counter.add(MemoryAction::reuse, 100);
    counter.add(MemoryAction::release, 10);
    counter.add(MemoryAction::free, 10);
    use = use_of(memory_use(), "device cuda:7");
    EXPECT_EQ(use->in_use_bytes, 100);
    EXPECT_EQ(use->idle_bytes, 0);
}

TEST(MemoryUse, adds_up_what_several_contexts_of_a_gpu_hold) {
    MemoryCounter first(MemoryKind::pinned, kGpu);
    first.add(MemoryAction::allocate, 5);
    {
        MemoryCounter second(MemoryKind::pinned, kGpu);
        const MemoryCounter other(MemoryKind::decoders, kGpu);
        second.add(MemoryAction::allocate, 7);
        EXPECT_EQ(use_of(memory_use(), "pinned cuda:7")->in_use_bytes, 12);
        EXPECT_EQ(use_of(memory_use(), "decoders cuda:7")->in_use_bytes, 0);
    }
    EXPECT_EQ(use_of(memory_use(), "pinned cuda:7")->in_use_bytes, 5);
    EXPECT_FALSE(use_of(memory_use(), "decoders cuda:7"));
}

TEST(MemoryTracker, keeps_the_latest_events_and_counts_the_others) {
    MemoryCounter counter(MemoryKind::device, kGpu);
    const MemoryTracker some(3);
    const MemoryTracker none;
    for (std::size_t size = 1; size <= 10; ++size) counter.add(MemoryAction::allocate, size);
    std::vector<std::int64_t> sizes;
    for (const MemoryEvent& event : some.events()) sizes.push_back(event.size_bytes);
    EXPECT_EQ(sizes, (std::vector<std::int64_t>{8, 9, 10}));
    EXPECT_EQ(some.num_dropped_events(), 7);
    EXPECT_TRUE(none.events().empty());
    EXPECT_EQ(none.num_dropped_events(), 10);
    EXPECT_EQ(use_of(none.allocators(), "device cuda:7")->peak_bytes, 55);
}

TEST(MemoryTracker, misses_nothing_of_several_threads) {
    constexpr int kThreads = 4;
    constexpr int kRounds = 500;
    MemoryCounter counter(MemoryKind::device, kGpu);
    MemoryTracker tracker(static_cast<std::size_t>(2 * kThreads * kRounds));
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&counter] {
            for (int round = 0; round < kRounds; ++round) {
                counter.add(MemoryAction::allocate, 3);
                counter.add(MemoryAction::release, 3);
            }
        });
    }
    for (auto& thread : threads) thread.join();
    tracker.stop();
    const auto device = *use_of(tracker.allocators(), "device cuda:7");
    EXPECT_EQ(device.num_allocations, kThreads * kRounds);
    EXPECT_EQ(device.in_use_bytes, 0);
    EXPECT_EQ(device.idle_bytes, 3 * kThreads * kRounds);
    EXPECT_LE(device.peak_bytes, 3 * kThreads);
    std::int64_t in_use = 0;
    for (const MemoryEvent& event : tracker.events()) {
        in_use += event.action == MemoryAction::allocate ? 3 : -3;
        ASSERT_EQ(event.in_use_bytes, in_use);
    }
    EXPECT_EQ(tracker.num_dropped_events(), 0);
}

}  // namespace
}  // namespace tricodec
