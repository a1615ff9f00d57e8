// SPDX-License-Identifier: Apache-2.0
/// Readers, frames, transforms and codecs that threads share, hand on and drop. Its work is done under ThreadSanitizer
/// (preset `thread`); without it the results are compared.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "media.h"
#include "tricodec/base/limits.h"
#include "tricodec/base/log.h"
#include "tricodec/base/memory_tracker.h"
#include "tricodec/base/profiler.h"
#include "tricodec/compress/compress.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec {
namespace {

constexpr int kNumThreads = 4;
constexpr int kRounds = 6;

/// Things that one thread gives and another one takes.
template <class T>
class Handover {
public:
    void give(T thing) {
        const std::lock_guard lock(mutex_);
        things_.push_back(std::move(thing));
    }
    [[nodiscard]] std::optional<T> take() {
        const std::lock_guard lock(mutex_);
        if (things_.empty()) return std::nullopt;
        std::optional<T> thing(std::move(things_.front()));
        things_.pop_front();
        return thing;
    }

private:
    std::mutex mutex_;
    std::deque<T> things_;
};

/// Runs `work(thread)` on several threads at once.
template <class Work>
void on_threads(const Work& work) {
    std::vector<std::jthread> threads;
    for (int number = 0; number < kNumThreads; ++number) threads.emplace_back([&work, number] { work(number); });
}

std::unique_ptr<FrameReader> open(const std::filesystem::path& path,
                                  std::shared_ptr<const FrameIndex> index = nullptr) {
    FrameReaderOptions options;
    options.device = "cpu";
    options.num_workers = 2;
    options.known_index = std::move(index);
    return FrameReader::open(MediaSource::from_path(path), options);
}

TEST(SharedBetweenThreads, one_transform_and_one_index_serve_readers_of_all_threads) {
    const auto path = testing::standard_clip();
    TransformOptions options;
    options.size = Size{40, 64};
    const Transform transform(options);
    const auto first = open(path);
    const auto index = first->frame_index();
    const auto expected = first->batch(FrameSelection{0, 5, -1}, transform).tensor;
    const auto* const bytes = static_cast<const std::byte*>(expected.view.data);
    const std::vector<std::byte> whole(bytes, bytes + expected.view.num_elements());  // of uint8
    std::atomic<int> num_equal{0};

    on_threads([&](int) {
        for (int round = 0; round < kRounds; ++round) {
            const auto batch =
                open(path, index)->batch(FrameSelection{0, 5, -1}, transform).tensor;  // outlives its reader
            const auto* const data = static_cast<const std::byte*>(batch.view.data);
            if (std::equal(whole.begin(), whole.end(), data)) ++num_equal;
        }
    });

    EXPECT_EQ(num_equal, kNumThreads * kRounds);
}

TEST(SharedBetweenThreads, frames_and_readers_are_dropped_by_a_thread_that_did_not_make_them) {
    const auto path = testing::standard_clip();
    const auto expected = testing::packed(open(path)->frame(3));
    Handover<Frame> frames;
    Handover<std::unique_ptr<FrameReader>> readers;
    std::atomic<int> num_equal{0};
    std::atomic<int> num_read{0};

    on_threads([&](int) {
        for (int round = 0; round < kRounds; ++round) {
            auto reader = open(path);
            const auto iterator = reader->iterate({round, 1, -1});
            for (int i = 0; i < 3; ++i) {
                if (auto frame = iterator->next()) frames.give(std::move(*frame));
            }
            frames.give(reader->frame(3));
            if (auto other = readers.take()) {  // in the middle of what another thread read
                ++num_read;
                if (testing::packed((*other)->frame(3)) == expected) ++num_equal;
            }
            while (auto frame = frames.take()) (void)testing::packed(*frame);
            if (round % 2 == 0) readers.give(open(path));
        }
    });

    EXPECT_GT(num_read, 0);
    EXPECT_EQ(num_equal, num_read);
}

TEST(SharedBetweenThreads, iterators_are_dropped_while_their_decoders_work_ahead) {
    const auto path = testing::standard_clip();
    const Transform transform{};
    std::atomic<int> num_batches{0};

    on_threads([&](int number) {
        for (int round = 0; round < kRounds; ++round) {
            const auto reader = open(path);
            const auto batches = reader->batches({0, 1, -1}, 4, transform);
            for (int i = 0; i <= (number + round) % 3; ++i) {
                if (batches->next()) ++num_batches;
            }
            const auto frames = reader->iterate({number, 2, -1});  // takes the reader from the batches
            (void)frames->next();
        }
    });

    EXPECT_GE(num_batches, kNumThreads * kRounds);
}

TEST(SharedBetweenThreads, one_codec_compresses_and_decompresses_for_all_threads) {
    for (const auto algorithm : {Compression::lz4, Compression::zstd, Compression::deflate, Compression::cascaded}) {
        CodecOptions options;
        options.algorithm = algorithm;
        options.num_threads = 2;
        options.chunk_bytes = 4096;
        auto codec = std::make_shared<const compress::Codec>(options);
        std::atomic<int> num_equal{0};

        on_threads([&, codec](int number) {
            std::vector<std::byte> data(40'000);
            for (std::size_t i = 0; i < data.size(); ++i) {
                data[i] = static_cast<std::byte>(i / 64 + static_cast<std::size_t>(number));
            }
            for (int round = 0; round < kRounds; ++round) {
                const ByteView input = data;
                std::vector<std::byte> stream(codec->max_compressed_bytes(input.size()));
                MutableBytes room = stream;
                stream.resize(codec->compress_to(std::span(&input, 1), std::span(&room, 1)).front());
                const ByteView compressed = stream;
                std::vector<std::byte> again(data.size());
                MutableBytes output = again;
                codec->decompress(std::span(&compressed, 1), std::span(&output, 1));
                if (again == data) ++num_equal;
            }
        });
        codec.reset();  // the last of it went with a thread

        EXPECT_EQ(num_equal, kNumThreads * kRounds) << to_string(algorithm);
    }
}

TEST(SharedBetweenThreads, limits_logs_and_measurements_change_while_threads_read) {
    const auto path = testing::standard_clip();
    const Limits before = limits();
    const LogLevel level = log_level();
    std::atomic<bool> done{false};
    std::jthread changes([&] {
        for (int i = 0; !done; ++i) {
            Limits changed = before;
            changed.max_packets = before.max_packets - i % 2;
            set_limits(changed);
            set_log_level(i % 2 == 0 ? LogLevel::error : LogLevel::off);
            set_log_sink([](LogLevel, std::string_view) {});
            (void)memory_use();
            std::this_thread::yield();
        }
    });
    std::atomic<int> num_read{0};

    on_threads([&](int) {
        for (int round = 0; round < kRounds; ++round) {
            num_read += static_cast<int>(open(path)->frames(std::vector<std::int64_t>{0, 20, 40}).size());
        }
    });
    done = true;
    changes.join();
    set_limits(before);
    set_log_level(level);
    set_log_sink({});

    EXPECT_EQ(num_read, 3 * kNumThreads * kRounds);
}

}  // namespace
}  // namespace tricodec
