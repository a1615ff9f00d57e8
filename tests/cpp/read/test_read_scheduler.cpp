// SPDX-License-Identifier: Apache-2.0
/// Reads in the slots of a GPU: over decoders of the CPU, which take the place of a GPU's.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "media.h"
#include "read/frame_reader.h"

namespace tricodec {
namespace {

constexpr std::int64_t kNoLimit = std::int64_t{1} << 34;  // limits().max_device_buffered_bytes

/// A clip of three to seven tasks, and its frames as one decoder gives them.
class ReadInSlots : public ::testing::Test {
protected:
    static constexpr std::int64_t kFrames = 112;

    void SetUp() override {
        reader_ = open();
        for (std::int64_t i = 0; i < kFrames; ++i) expected_.push_back(testing::packed(reader_->frame(i)));
    }

    static std::filesystem::path clip_path(const std::string& name = "slots16.mp4") {
        return testing::clip(name, "-pix_fmt yuv420p -c:v libx264 -g 16 -bf 2 -sc_threshold 0",
                             static_cast<int>(kFrames));
    }
    /// One that has read nothing yet.
    static std::unique_ptr<FrameReaderImpl> open(const std::string& name = "slots16.mp4") {
        return open_at(clip_path(name));
    }
    static std::unique_ptr<FrameReaderImpl> open_at(const std::filesystem::path& path) {
        FrameReaderOptions options;
        options.device = "cpu";
        options.num_workers = 1;
        return std::make_unique<FrameReaderImpl>(MediaSource::from_path(path), options);
    }

    std::unique_ptr<FrameReader::Iterator> iterate(DecoderSlots& slots, std::int64_t stride = 1) {
        return iterate(*reader_, slots, stride);
    }
    static Read::MakePlan plan_for(DecoderSlots& slots) {
        return [&slots](const auto& index, std::span<const std::int64_t> numbers) {
            ReadPlan plan;
            plan.slots = &slots;
            plan.tasks = plan_for_slots(*index, numbers, slots.num_slots());
            EXPECT_GE(plan.tasks.size(), index->counted() ? 1u : 2u);
            plan.num_decoders = 4;
            return plan;
        };
    }
    static std::unique_ptr<FrameReader::Iterator> iterate(FrameReaderImpl& reader, DecoderSlots& slots,
                                                          std::int64_t stride = 1) {
        return std::make_unique<FramesAhead>(
            reader.video(), [stride] { return FrameRange{.stride = stride}; }, 0, plan_for(slots));
    }
    void expect_all(FrameReader::Iterator& frames, std::int64_t stride = 1) {
        for (std::int64_t i = 0; i < kFrames; i += stride) {
            const auto frame = frames.next();
            ASSERT_TRUE(frame) << i;
            EXPECT_EQ(frame->index, i);
            EXPECT_EQ(testing::packed(*frame), expected_[static_cast<std::size_t>(i)]) << i;
        }
        EXPECT_FALSE(frames.next());
    }

    std::unique_ptr<FrameReaderImpl> reader_;
    std::vector<std::vector<std::byte>> expected_;
};

TEST_F(ReadInSlots, gives_all_frames_in_order_whatever_the_slots_and_the_memory) {
    for (const int num_slots : {1, 2, 4}) {
        for (const std::int64_t most_bytes : {std::int64_t{0}, std::int64_t{320 * 180 * 10}, kNoLimit}) {
            DecoderSlots slots(num_slots, most_bytes);
            for (const std::int64_t stride : {1, 4}) {
                const auto frames = iterate(slots, stride);
                expect_all(*frames, stride);
            }
            const auto fresh = open();
            const auto frames = iterate(*fresh, slots);
            EXPECT_TRUE(fresh->video().has_index());
            expect_all(*frames);
            EXPECT_TRUE(slots.reserve(most_bytes)) << "memory was not given back";
        }
    }
}

TEST_F(ReadInSlots, goes_on_after_damage_that_shows_ahead_of_the_consumer) {
    const auto index = reader_->video().index();
    const auto entry = index->entry_for(60);
    const auto num_whole = index->packet(entry).frame - 4;  // B pictures before the key frame may refer to it
    const auto& packet = index->packet(entry + 3);
    auto bytes = testing::read_file(clip_path());
    for (std::int64_t i = packet.size_bytes / 4; i < packet.size_bytes; ++i) {
        bytes[static_cast<std::size_t>(packet.pos + i)] ^= std::byte{0x55};
    }
    const auto path = testing::write_file("slots.damaged16.mp4", bytes);
    const auto one_by_one = open_at(path);
    DecoderSlots slots(1, kNoLimit);
    const auto damaged = open_at(path);
    const auto frames = iterate(*damaged, slots);
    for (std::int64_t i = 0; i < one_by_one->num_frames(); ++i) {
        const auto frame = frames->next();
        ASSERT_TRUE(frame) << i;
        if (i >= num_whole) continue;
        EXPECT_EQ(testing::packed(*frame), testing::packed(one_by_one->frame(i))) << i;
    }
    EXPECT_FALSE(frames->next());
    EXPECT_GT(damaged->num_damaged_packets(), 0);
    EXPECT_TRUE(slots.reserve(kNoLimit)) << "memory was not given back";
}

/// Frames by position, from any thread.
class Frames final : public FrameSink {
public:
    void put(std::int64_t position, Frame frame) override {
        const std::lock_guard lock(mutex_);
        frames_[position] = std::move(frame);
    }
    void restart(std::int64_t position, std::int64_t /*count*/) override {
        frames_.erase(frames_.lower_bound(position), frames_.end());
        ++num_restarts;
    }
    [[nodiscard]] const std::map<std::int64_t, Frame>& frames() const { return frames_; }
    int num_restarts = 0;

private:
    std::mutex mutex_;
    std::map<std::int64_t, Frame> frames_;
};

TEST_F(ReadInSlots, gives_all_frames_to_a_call_that_waits_for_them) {
    for (const std::int64_t most_bytes : {std::int64_t{0}, kNoLimit}) {
        DecoderSlots slots(2, most_bytes);
        const auto reader = open();
        Frames sink;
        const auto read = Read::make(
            reader->video(), sink, [&] { return clipped_numbers({}, reader->num_frames()); }, plan_for(slots));
        read->run();
        ASSERT_EQ(sink.frames().size(), static_cast<std::size_t>(kFrames));
        EXPECT_EQ(sink.num_restarts, 0);
        for (const auto& [position, frame] : sink.frames()) {
            EXPECT_EQ(frame.index, position);
            EXPECT_EQ(testing::packed(frame), expected_[static_cast<std::size_t>(position)]) << position;
        }
        EXPECT_TRUE(slots.reserve(most_bytes)) << "memory was not given back";
    }
}

TEST_F(ReadInSlots, gives_the_frames_of_a_stream_that_only_decoding_numbers) {
    DecoderSlots slots(4, kNoLimit);
    const auto reader = open("slots16.h264");  // without time stamps
    const auto frames = iterate(*reader, slots);
    EXPECT_TRUE(reader->video().index()->scanned());
    expect_all(*frames);
    EXPECT_TRUE(slots.reserve(kNoLimit)) << "memory was not given back";
}

TEST_F(ReadInSlots, reads_at_the_same_time_go_on_whichever_is_read) {
    DecoderSlots slots(1, 0);
    std::vector<std::unique_ptr<FrameReader::Iterator>> reads;
    for (int i = 0; i < 4; ++i) reads.push_back(iterate(slots));
    for (auto& read : reads) EXPECT_EQ(read->next()->index, 0);  // and each of them stays in the middle of its GOP
    for (auto& read : reads) EXPECT_EQ(read->next()->index, 1);
    reads.pop_back();
    auto last = iterate(slots);
    expect_all(*last);
    while (const auto frame = reads.front()->next())
        EXPECT_EQ(testing::packed(*frame), expected_[static_cast<std::size_t>(frame->index)]);
    reads.clear();
}

TEST_F(ReadInSlots, many_reads_at_the_same_time_give_the_same_frames) {
    DecoderSlots slots(4, kNoLimit);
    std::atomic<int> same{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 7; ++t) {
        threads.emplace_back([&] {
            const auto reader = open();
            const auto frames = iterate(*reader, slots);
            std::size_t i = 0;
            while (const auto frame = frames->next()) {
                if (i < expected_.size() && testing::packed(*frame) == expected_[i++]) ++same;
            }
        });
    }
    threads.clear();
    EXPECT_EQ(same, 7 * kFrames);
    EXPECT_TRUE(slots.reserve(kNoLimit)) << "memory was not given back";
}

TEST_F(ReadInSlots, a_read_that_is_dropped_gives_back_what_it_held) {
    DecoderSlots slots(2, kNoLimit);
    for (int frames = 0; frames < 20; frames += 3) {
        const auto read = iterate(slots);
        for (int i = 0; i < frames; ++i) ASSERT_TRUE(read->next());
    }
    EXPECT_TRUE(slots.reserve(kNoLimit));
}

/// Single frames in order, of the whole clip and of a part that is left in its middle.
TEST_F(ReadInSlots, single_frames_in_order_are_read_ahead_after_some) {
    for (const std::int64_t most_bytes : {std::int64_t{0}, kNoLimit}) {
        DecoderSlots slots(4, most_bytes);
        for (const std::int64_t end : {std::int64_t{40}, kFrames}) {
            const auto reader = open();
            FollowingRead frames(reader->video(), 3, plan_for(slots));
            for (std::int64_t i = 3; i < end; ++i) {
                EXPECT_EQ(frames.reads_ahead(), i > 3 + FollowingRead::kFramesInOrder) << i;
                EXPECT_EQ(frames.next_number(), i);
                const auto frame = frames.next();
                ASSERT_TRUE(frame) << i;
                EXPECT_EQ(frame->index, i);
                EXPECT_EQ(testing::packed(*frame), expected_[static_cast<std::size_t>(i)]) << i;
            }
            if (end == kFrames) {
                EXPECT_FALSE(frames.next());
            }
        }
        EXPECT_TRUE(slots.reserve(most_bytes)) << "memory was not given back";
        EXPECT_GE(slots.most_at_once(), most_bytes == 0 ? 1 : 2);
    }
}

TEST_F(ReadInSlots, reading_ahead_stays_within_the_memory_of_its_plan) {
    const std::int64_t two_ranges = std::int64_t{2} * 16 * 320 * 180 * 3 / 2;
    for (const std::int64_t most_bytes : {std::int64_t{1}, two_ranges, std::int64_t{0}}) {
        DecoderSlots slots(4, kNoLimit);
        const auto reader = open();
        FollowingRead frames(reader->video(), 0, [&](const auto& index, std::span<const std::int64_t> numbers) {
            auto plan = plan_for(slots)(index, numbers);
            plan.most_bytes = most_bytes;
            return plan;
        });
        for (int i = 0; i < FollowingRead::kFramesInOrder + 1; ++i) EXPECT_TRUE(frames.next());
        const auto rest = kNoLimit - (most_bytes == 0 ? two_ranges : most_bytes);
        EXPECT_EQ(slots.reserve(rest), most_bytes != 0) << most_bytes;
        for (std::int64_t i = frames.next_number(); i < kFrames; ++i) EXPECT_TRUE(frames.next()) << i;
        EXPECT_FALSE(frames.next());
    }
}

}  // namespace
}  // namespace tricodec
