// SPDX-License-Identifier: Apache-2.0
/// Turns on a GPU's engines: who has one, and for how long.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine_turns.h"
#include "tricodec/limits.h"
#include "video/engine_queue.h"
#include "video/segment.h"

namespace tricodec {
namespace {

using testing::kNoLimit;
using testing::settle;
using Urgency = EngineQueue::Urgency;
constexpr auto kSoon = std::chrono::seconds(20);

/// What happened, in order, on whatever thread; and doors that work waits at.
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

TEST(EngineQueue, gives_turns_to_those_that_somebody_waits_for_first) {
    EngineQueue queue(1, kNoLimit);
    const EngineQueue::Read read(queue, false);
    Diary diary;
    queue.add([&] { diary.note(0), diary.pass_when_open(); }, read.share(), Urgency::ahead);
    queue.add([&] { diary.note(1); }, read.share(), Urgency::ahead);
    const auto late = queue.add([&] { diary.note(2); }, read.share(), Urgency::ahead);
    queue.add([&] { diary.note(3); }, read.share(), Urgency::next);
    const auto unwanted = queue.add([&] { diary.note(4); }, read.share(), Urgency::first);
    queue.hurry(late);
    EXPECT_TRUE(queue.withdraw(unwanted));
    ASSERT_TRUE(diary.reaches(1));
    EXPECT_EQ(diary.notes(), std::vector<int>{0});

    diary.open();

    ASSERT_TRUE(diary.reaches(4));
    EXPECT_EQ(diary.notes(), (std::vector<int>{0, 3, 2, 1}));
    EXPECT_FALSE(queue.withdraw(late));
    EXPECT_EQ(queue.most_at_once(), 1);
    settle(queue);
}

TEST(EngineQueue, work_that_waits_for_its_reader_lends_its_turn) {
    EngineQueue queue(1, kNoLimit);
    const EngineQueue::Read read(queue, false);
    Diary diary;
    queue.add(
        [&] {
            queue.pause(read.share());
            diary.pass_when_open();
            queue.resume(read.share());
            diary.note(2);
        },
        read.share(), Urgency::next);
    queue.add([&] { diary.note(1); }, read.share(), Urgency::ahead);
    ASSERT_TRUE(diary.reaches(1));
    diary.open();
    ASSERT_TRUE(diary.reaches(2));
    EXPECT_EQ(diary.notes(), (std::vector<int>{1, 2}));
    settle(queue);
}

TEST(EngineQueue, a_turn_is_kept_until_others_have_waited_for_so_many_packets) {
    EngineQueue queue(1, kNoLimit);
    const EngineQueue::Read read(queue, false);
    Diary diary;
    bool kept_alone = false;
    bool kept_for_long = true;
    EngineQueue::Ticket following = 0;
    queue.add(
        [&] {
            diary.pass_when_open();
            kept_alone = queue.go_on(following, 1000);
            queue.add([&] { diary.note(1); }, read.share(), Urgency::next);
            const bool kept_a_little = queue.go_on(0, 255);
            kept_for_long = queue.go_on(0, 256);
            diary.note(kept_a_little ? 0 : -1);
        },
        read.share(), Urgency::next);
    following = queue.add([&] { diary.note(2); }, read.share(), Urgency::ahead);
    diary.open();

    ASSERT_TRUE(diary.reaches(2));
    EXPECT_TRUE(kept_alone);
    EXPECT_FALSE(kept_for_long);
    EXPECT_FALSE(queue.withdraw(following)) << "it was withdrawn for the turn that goes on with it";
    settle(queue);
    EXPECT_EQ(diary.notes(), (std::vector<int>{0, 1}));
}

TEST(EngineQueue, no_turn_is_kept_where_a_read_waits_for_its_first_frames) {
    EngineQueue queue(1, kNoLimit);
    const EngineQueue::Read read(queue, false);
    const EngineQueue::Read beginning(queue, false);
    Diary diary;
    queue.add([&] { diary.pass_when_open(), diary.note(queue.go_on(0, 1) ? 1 : 0); }, read.share(), Urgency::next);
    queue.add([&] { diary.note(2); }, beginning.share(), Urgency::first);
    diary.open();

    ASSERT_TRUE(diary.reaches(2));
    EXPECT_EQ(diary.notes(), (std::vector<int>{0, 2}));
    settle(queue);
}

TEST(EngineQueue, reads_more_than_engines_keep_to_one_turn_each) {
    EngineQueue queue(4, kNoLimit);  // two engines
    std::vector<std::unique_ptr<EngineQueue::Read>> reads;
    for (int i = 0; i < 4; ++i) reads.push_back(std::make_unique<EngineQueue::Read>(queue, false));
    std::vector<Diary> ends(3);
    Diary begun;
    const auto begin = [&](int read, Urgency urgency) {
        return queue.add([&, read] { begun.note(read), ends[static_cast<std::size_t>(read)].pass_when_open(); },
                         reads[static_cast<std::size_t>(read)]->share(), urgency);
    };
    for (int read = 0; read < 3; ++read) begin(read, Urgency::next);
    ASSERT_TRUE(begun.reaches(3));
    const auto ahead = queue.add([&] { begun.note(10); }, reads[0]->share(), Urgency::ahead);
    queue.add([&] { begun.note(3); }, reads[3]->share(), Urgency::ahead);  // it has no turn yet
    ASSERT_TRUE(begun.reaches(4));
    EXPECT_EQ(begun.notes().back(), 3);
    const auto wanted = queue.add([&] { begun.note(11); }, reads[1]->share(), Urgency::ahead);
    queue.hurry(wanted);
    ASSERT_TRUE(begun.reaches(5));
    EXPECT_EQ(begun.notes().back(), 11);

    ends[2].open();  // two reads are left for two engines

    ASSERT_TRUE(begun.reaches(6));
    EXPECT_EQ(begun.notes().back(), 10);
    EXPECT_FALSE(queue.withdraw(ahead));
    for (auto& end : ends) end.open();
    settle(queue);
}

TEST(EngineQueue, threads_wait_for_their_turns_and_no_more_work_at_once_than_there_are) {
    EngineQueue queue(3, kNoLimit);
    std::atomic<int> at_work{0};
    std::atomic<int> most{0};
    const EngineQueue::Read read(queue, true);
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 50; ++i) {
                const EngineQueue::Turn turn(queue, read.share());
                const int now = ++at_work;
                for (int known = most; known < now && !most.compare_exchange_weak(known, now);) {
                }
                std::this_thread::yield();
                --at_work;
            }
        });
    }
    threads.clear();
    EXPECT_LE(most, 3);
    EXPECT_LE(queue.most_at_once(), 3);
}

TEST(EngineQueue, keeps_to_the_memory_for_frames_decoded_ahead) {
    EngineQueue queue(1, 100);
    EXPECT_TRUE(queue.reserve(60));
    EXPECT_FALSE(queue.reserve(41));
    EXPECT_TRUE(queue.reserve(40));
    queue.release(60);
    EXPECT_TRUE(queue.reserve(60));
}

TEST(EngineQueue, keeps_to_the_limit_of_the_process_where_that_is_less) {
    EngineQueue queue(1, 100);
    const Limits before = limits();
    Limits tight = before;
    tight.max_device_buffered_bytes = 70;
    set_limits(tight);
    const bool too_much = queue.reserve(71);
    const bool enough = queue.reserve(70);
    set_limits(before);
    EXPECT_FALSE(too_much);
    EXPECT_TRUE(enough);
    EXPECT_TRUE(queue.reserve(30));
}

TEST(EngineQueue, reads_at_the_same_time_share_turns_and_threads) {
    EngineQueue queue(14, kNoLimit);
    EXPECT_EQ(queue.turns_for_a_read(), 14);
    EXPECT_FALSE(queue.more_reads_than_engines());
    const EngineQueue::Read alone(queue, true);
    EXPECT_EQ(alone.num_threads(20), 14);
    EXPECT_EQ(alone.num_threads(10), 10);
    EXPECT_EQ(queue.turns_for_a_read(), 7);
    {
        std::vector<std::unique_ptr<EngineQueue::Read>> others;
        for (int i = 0; i < 5; ++i) others.push_back(std::make_unique<EngineQueue::Read>(queue, false));
        EXPECT_FALSE(queue.more_reads_than_engines());  // seven with one that begins now
        for (int i = 5; i < 20; ++i) others.push_back(std::make_unique<EngineQueue::Read>(queue, false));
        EXPECT_TRUE(queue.more_reads_than_engines());
        EXPECT_EQ(queue.turns_for_a_read(), 1);
        EXPECT_EQ(alone.num_threads(20), 14);  // those have no threads of their own
        const EngineQueue::Read second(queue, true);
        EXPECT_EQ(alone.num_threads(20), 7);
        EXPECT_EQ(alone.num_threads(0), 1);
    }
    EXPECT_EQ(queue.turns_for_a_read(), 7);
    EXPECT_EQ(alone.num_threads(20), 14);
}

TEST(DecodersForEvenTurns, leave_no_engine_idle_at_the_end_where_that_can_be) {
    EXPECT_EQ(decoders_for_even_turns(14, 100, 7), 13);  // 7 times 13, then 9
    EXPECT_EQ(decoders_for_even_turns(12, 100, 7), 10);
    EXPECT_EQ(decoders_for_even_turns(14, 12, 7), 14);  // all at once
    EXPECT_EQ(decoders_for_even_turns(14, 280, 7), 14);
    EXPECT_EQ(decoders_for_even_turns(7, 100, 7), 7);
    EXPECT_EQ(decoders_for_even_turns(2, 9, 1), 2);
    EXPECT_EQ(decoders_for_even_turns(1, 5, 1), 1);
}

TEST(JoinShortSegments, joins_what_touches_until_it_is_worth_a_turn) {
    std::vector<Segment> segments;
    for (std::int64_t i = 0; i < 40; ++i) segments.push_back({i, i, {i}});
    segments.push_back({100, 130, {100}});
    segments.push_back({131, 140, {131}});
    segments.push_back({200, 201, {200}});
    const auto joined = join_short_segments(segments, 16);
    ASSERT_EQ(joined.size(), 6);
    EXPECT_EQ(joined[0].num_packets(), 16);
    EXPECT_EQ(joined[0].wanted.size(), 16);
    EXPECT_EQ(joined[2].num_packets(), 8);
    EXPECT_EQ(joined[3].num_packets(), 31);
    EXPECT_EQ(joined[4].entry, 131);
    EXPECT_EQ(joined[5].entry, 200);
}

TEST(PacketsATurn, are_many_where_every_decoder_still_has_several_turns) {
    EXPECT_EQ(packets_a_turn(100, 14), 16);
    EXPECT_EQ(packets_a_turn(1680, 14), 40);
    EXPECT_EQ(packets_a_turn(100'000, 14), 48);
    EXPECT_EQ(packets_a_turn(0, 14), 16);
    EXPECT_EQ(packets_a_turn(90, 1), 30);
    EXPECT_EQ(packets_a_kept_turn(100'000, 2, false), 48);
    EXPECT_EQ(packets_a_kept_turn(100'000, 2, true), 24);
    EXPECT_EQ(packets_a_kept_turn(50, 1, true), 16);
}

}  // namespace
}  // namespace tricodec
