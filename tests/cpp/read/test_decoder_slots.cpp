// SPDX-License-Identifier: Apache-2.0
/// Slots for decoders at work on a GPU, and the memory for frames decoded ahead.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "read/decoder_slots.h"
#include "tricodec/base/limits.h"

namespace tricodec {
namespace {

constexpr std::int64_t kNoLimit = std::int64_t{1} << 34;  // limits().max_device_buffered_bytes
constexpr auto kSoon = std::chrono::seconds(20);

/// What happened, in order, on any thread; and a door that work waits at.
class Diary {
public:
    void note(int what) {
        std::lock_guard lock(mutex_);
        notes_.push_back(what);
        changed_.notify_all();
    }
    [[nodiscard]] bool reaches(std::size_t count) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, kSoon, [&] { return notes_.size() >= count; });
    }
    void pass_when_open() {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, kSoon, [&] { return open_; });
    }
    void open() {
        std::lock_guard lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    [[nodiscard]] std::vector<int> notes() {
        std::lock_guard lock(mutex_);
        return notes_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<int> notes_;
    bool open_ = false;
};

bool needed() {
    return true;
}
bool ahead() {
    return false;
}

TEST(DecoderSlots, go_first_to_work_that_a_consumer_waits_for) {
    Diary diary;
    std::atomic<bool> late_is_needed{false};
    DecoderSlots slots(1, kNoLimit);
    slots.run([&] { diary.note(0), diary.pass_when_open(); }, ahead);
    slots.run([&] { diary.note(1); }, ahead);
    slots.run([&] { diary.note(2); }, [&] { return late_is_needed.load(); });
    slots.run([&] { diary.note(3); }, needed);
    ASSERT_TRUE(diary.reaches(1));
    EXPECT_EQ(diary.notes(), std::vector<int>{0});

    late_is_needed = true;
    diary.open();

    ASSERT_TRUE(diary.reaches(4));
    EXPECT_EQ(diary.notes(), (std::vector<int>{0, 2, 3, 1}));
    EXPECT_EQ(slots.most_at_once(), 1);
}

TEST(DecoderSlots, are_lent_by_work_that_waits_for_its_consumer) {
    Diary diary;
    DecoderSlots slots(1, kNoLimit);
    slots.run(
        [&] {
            slots.pause();
            diary.pass_when_open();
            slots.resume();
            diary.note(2);
        },
        needed);
    slots.run([&] { diary.note(1); }, ahead);
    ASSERT_TRUE(diary.reaches(1));
    diary.open();
    ASSERT_TRUE(diary.reaches(2));
    EXPECT_EQ(diary.notes(), (std::vector<int>{1, 2}));
}

TEST(DecoderSlots, let_no_more_work_run_at_once_than_there_are) {
    std::atomic<int> at_work{0};
    std::atomic<int> most{0};
    std::atomic<int> done{0};
    DecoderSlots slots(3, kNoLimit);
    for (int i = 0; i < 200; ++i) {
        slots.run(
            [&] {
                const int now = ++at_work;
                for (int known = most; known < now && !most.compare_exchange_weak(known, now);) {
                }
                std::this_thread::yield();
                --at_work;
                ++done;
            },
            i % 2 == 0 ? needed : ahead);
    }
    const auto soon = std::chrono::steady_clock::now() + kSoon;
    while (done < 200 && std::chrono::steady_clock::now() < soon) std::this_thread::yield();
    EXPECT_EQ(done, 200);
    EXPECT_LE(most, 3);
    EXPECT_LE(slots.most_at_once(), 3);
}

TEST(DecoderSlots, are_free_unless_work_has_them_or_waits_for_them) {
    Diary diary;
    DecoderSlots slots(3, kNoLimit);
    EXPECT_EQ(slots.num_free(), 3);

    for (const int expected : {2, 1, 1, 1}) {  // a read that begins now gets one at least
        slots.run([&] { diary.pass_when_open(), diary.note(0); }, ahead);
        EXPECT_EQ(slots.num_free(), expected);
    }
    diary.open();
    ASSERT_TRUE(diary.reaches(4));
}

TEST(DecoderSlots, keep_to_the_memory_for_frames_decoded_ahead) {
    DecoderSlots slots(1, 100);
    EXPECT_TRUE(slots.reserve(60));
    EXPECT_FALSE(slots.reserve(41));
    EXPECT_TRUE(slots.reserve(40));
    slots.release(60);
    EXPECT_TRUE(slots.reserve(60));
}

TEST(DecoderSlots, keep_to_the_limit_of_the_process_where_that_is_less) {
    DecoderSlots slots(1, 100);
    const Limits before = limits();
    Limits tight = before;
    tight.max_device_buffered_bytes = 70;
    set_limits(tight);
    const bool too_much = slots.reserve(71);
    const bool enough = slots.reserve(70);
    set_limits(before);
    EXPECT_FALSE(too_much);
    EXPECT_TRUE(enough);
    EXPECT_TRUE(slots.reserve(30));
}

}  // namespace
}  // namespace tricodec
