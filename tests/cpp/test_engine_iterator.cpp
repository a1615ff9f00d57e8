// SPDX-License-Identifier: Apache-2.0
/// Reads that take turns on a GPU's engines: over decoders of the CPU, which are taken for a GPU's.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine_turns.h"
#include "media.h"
#include "video/engine_iterator.h"

namespace tricodec {
namespace {

using testing::kNoLimit;
using testing::settle;

/// A clip of three to seven groups for decoders that take turns, and its frames as one decoder gives them.
class EngineIteratorOver : public ::testing::Test {
protected:
    static constexpr std::int64_t kFrames = 112;

    void SetUp() override {
        reader_ = open();
        for (std::int64_t i = 0; i < kFrames; ++i) expected_.push_back(testing::packed(reader_->frame(i)));
    }

    static std::filesystem::path clip_path(const std::string& name = "engine.iterator16.mp4") {
        return testing::clip(name, "-pix_fmt yuv420p -c:v libx264 -g 16 -bf 2 -sc_threshold 0",
                             static_cast<int>(kFrames));
    }
    /// One that has read nothing yet.
    static std::unique_ptr<FrameReaderImpl> open(const std::string& name = "engine.iterator16.mp4") {
        return open_at(clip_path(name));
    }
    static std::unique_ptr<FrameReaderImpl> open_at(const std::filesystem::path& path) {
        FrameReaderOptions options;
        options.device = "cpu";
        options.num_workers = 1;
        return std::make_unique<FrameReaderImpl>(MediaSource::from_path(path), options);
    }

    std::unique_ptr<FrameReader::Iterator> iterate(EngineQueue& queue, std::int64_t stride = 1) {
        return iterate(*reader_, queue, stride);
    }
    static std::unique_ptr<FrameReader::Iterator> iterate(FrameReaderImpl& reader, EngineQueue& queue,
                                                          std::int64_t stride = 1) {
        return make_engine_iterator(reader, {.stride = stride}, queue, [](auto, std::int64_t num_groups) {
            EXPECT_GE(num_groups, 3);  // more for more turns
            return 4;
        });
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

TEST_F(EngineIteratorOver, gives_all_frames_in_order_whatever_the_turns_and_the_memory) {
    for (const int num_turns : {1, 2, 4}) {
        for (const std::int64_t most_bytes : {std::int64_t{0}, std::int64_t{320 * 180 * 10}, kNoLimit}) {
            EngineQueue queue(num_turns, most_bytes);
            for (const std::int64_t stride : {1, 4}) {
                const auto frames = iterate(queue, stride);
                expect_all(*frames, stride);
            }
            const auto fresh = open();
            const auto frames = iterate(*fresh, queue);
            EXPECT_TRUE(fresh->has_index());
            expect_all(*frames);
            EXPECT_LE(queue.most_at_once(), num_turns);
            EXPECT_TRUE(queue.reserve(most_bytes)) << "memory was not given back";
            settle(queue);
        }
    }
}

TEST_F(EngineIteratorOver, nothing_is_decoded_twice_where_one_decoder_goes_on) {
    const auto path =
        testing::clip("engine.pyramid16.mp4",
                      "-pix_fmt yuv420p -c:v libx264 -x264-params "
                      "open-gop=1:keyint=16:min-keyint=16:scenecut=0:bframes=3:b-adapt=0:b-pyramid=normal",
                      static_cast<int>(kFrames));
    const auto reader = open_at(path);
    ASSERT_TRUE(reader->index()->is_open(reader->index()->entry_for(kFrames - 1)));
    const auto sent_by = [&](int num_turns) {
        EngineQueue queue(num_turns, kNoLimit);
        const auto before = reader->pool().num_sent();
        const auto frames = iterate(*reader, queue);
        for (std::int64_t i = 0; i < kFrames; ++i) EXPECT_EQ(frames->next().value().index, i);
        EXPECT_FALSE(frames->next());
        settle(queue);
        return reader->pool().num_sent() - before;
    };

    EXPECT_EQ(sent_by(1), kFrames);
    EXPECT_GT(sent_by(4), kFrames);  // decoders that end at a key frame, and such as begin there
}

TEST_F(EngineIteratorOver, goes_on_after_damage_that_shows_while_a_turn_is_kept) {
    const auto index = reader_->index();
    const auto& packet = index->packet(index->entry_for(60) + 3);
    auto bytes = testing::read_file(clip_path());
    for (std::int64_t i = packet.size_bytes / 4; i < packet.size_bytes; ++i) {
        bytes[static_cast<std::size_t>(packet.pos + i)] ^= std::byte{0x55};
    }
    const auto path = testing::write_file("engine.damaged16.mp4", bytes);
    const auto one_by_one = open_at(path);
    EngineQueue queue(1, kNoLimit);
    const auto damaged = open_at(path);
    const auto frames = iterate(*damaged, queue);
    for (std::int64_t i = 0; i < one_by_one->num_frames(); ++i) {
        const auto frame = frames->next();
        ASSERT_TRUE(frame) << i;
        EXPECT_EQ(testing::packed(*frame), testing::packed(one_by_one->frame(i))) << i;
    }
    EXPECT_FALSE(frames->next());
    EXPECT_TRUE(damaged->index()->scanned());
    EXPECT_TRUE(queue.reserve(kNoLimit)) << "memory was not given back";
    settle(queue);
}

TEST_F(EngineIteratorOver, gives_every_frame_once_where_the_order_does_not_matter) {
    for (const std::int64_t most_bytes : {std::int64_t{0}, kNoLimit}) {
        EngineQueue queue(4, most_bytes);
        const auto reader = open();
        const auto frames = make_engine_iterator(*reader, {}, queue, [](auto, auto) { return 4; }, FrameOrder::any);
        std::vector<int> times(kFrames);
        while (const auto frame = frames->next()) {
            ++times[static_cast<std::size_t>(frame->index)];
            EXPECT_EQ(testing::packed(*frame), expected_[static_cast<std::size_t>(frame->index)]) << frame->index;
        }
        EXPECT_EQ(times, std::vector<int>(kFrames, 1));
        EXPECT_TRUE(queue.reserve(most_bytes)) << "memory was not given back";
        settle(queue);
    }
}

TEST_F(EngineIteratorOver, gives_the_frames_of_a_stream_that_only_decoding_numbers) {
    EngineQueue queue(4, kNoLimit);
    const auto reader = open("engine.iterator16.h264");  // without time stamps
    const auto frames = iterate(*reader, queue);
    EXPECT_TRUE(reader->index()->scanned());
    expect_all(*frames);
    EXPECT_TRUE(queue.reserve(kNoLimit)) << "memory was not given back";
    settle(queue);
}

TEST_F(EngineIteratorOver, reads_at_the_same_time_go_on_whoever_is_read) {
    EngineQueue queue(1, 0);
    std::vector<std::unique_ptr<FrameReader::Iterator>> reads;
    for (int i = 0; i < 4; ++i) reads.push_back(iterate(queue));
    for (auto& read : reads) EXPECT_EQ(read->next()->index, 0);  // and each of them stays in the middle of its group
    for (auto& read : reads) EXPECT_EQ(read->next()->index, 1);
    reads.pop_back();
    auto last = iterate(queue);
    expect_all(*last);
    while (const auto frame = reads.front()->next())
        EXPECT_EQ(testing::packed(*frame), expected_[static_cast<std::size_t>(frame->index)]);
    reads.clear();
    settle(queue);
}

TEST_F(EngineIteratorOver, many_reads_give_the_same_frames_where_decoders_go_on_from_group_to_group) {
    EngineQueue queue(4, kNoLimit);
    std::atomic<int> same{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 7; ++t) {
        threads.emplace_back([&] {
            const auto reader = open();
            const auto frames = iterate(*reader, queue);
            std::size_t i = 0;
            while (const auto frame = frames->next()) {
                if (i < expected_.size() && testing::packed(*frame) == expected_[i++]) ++same;
            }
        });
    }
    threads.clear();
    EXPECT_EQ(same, 7 * kFrames);
    EXPECT_LE(queue.most_at_once(), 4);
    EXPECT_TRUE(queue.reserve(kNoLimit)) << "memory was not given back";
    settle(queue);
}

TEST_F(EngineIteratorOver, a_read_that_is_dropped_gives_back_what_it_held) {
    EngineQueue queue(2, kNoLimit);
    for (int frames = 0; frames < 20; frames += 3) {
        const auto read = iterate(queue);
        for (int i = 0; i < frames; ++i) ASSERT_TRUE(read->next());
    }
    EXPECT_TRUE(queue.reserve(kNoLimit));
    settle(queue);
}

}  // namespace
}  // namespace tricodec
