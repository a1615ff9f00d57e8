// SPDX-License-Identifier: Apache-2.0
/// What reads hold, counted by the allocator of their pictures and batches.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "media.h"
#include "tricodec/base/buffer.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec {
namespace {

/// Blocks by size: how many there are, and the most there were at a time.
class WatchingAllocator final : public Allocator {
public:
    struct Count {
        int now = 0;
        int most = 0;
    };

    void* allocate(std::size_t size_bytes) override {
        const std::lock_guard lock(mutex_);
        Count& count = counts_[size_bytes];
        count.most = std::max(count.most, ++count.now);
        return std::aligned_alloc(64, (size_bytes + 63) / 64 * 64);
    }
    void deallocate(void* data, std::size_t size_bytes) noexcept override {
        const std::lock_guard lock(mutex_);
        --counts_[size_bytes].now;
        std::free(data);
    }
    std::map<std::size_t, Count> counts() {
        const std::lock_guard lock(mutex_);
        return counts_;
    }

private:
    std::mutex mutex_;
    std::map<std::size_t, Count> counts_;
};

class MemoryOfBatches : public ::testing::Test {
protected:
    MemoryOfBatches() {
        set_host_allocator(watcher_);
        transform_.size = Size{kSide, kSide};
        transform_.dtype = DType::float32;
    }
    ~MemoryOfBatches() override { set_host_allocator(nullptr); }

    /// Reads the clip as a program that spends some time on each batch, and may keep them all.
    void read(int num_workers, std::vector<Tensor>* kept = nullptr) {
        FrameReaderOptions options;
        options.num_workers = num_workers;
        const auto reader = FrameReader::open(MediaSource::from_path(testing::standard_clip()), options);
        const auto batches = reader->batches({}, kBatch, Transform(transform_));
        while (auto batch = batches->next()) {
            num_frames_ += batch->view.shape[0];
            if (kept != nullptr) kept->push_back(*std::move(batch));
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }

    static constexpr std::int64_t kBatch = 8;
    static constexpr int kSide = 320;
    static constexpr std::size_t kBatchBytes = kBatch * kSide * kSide * 3 * sizeof(float);  // 9.8 MB

    const std::shared_ptr<WatchingAllocator> watcher_ = std::make_shared<WatchingAllocator>();
    TransformOptions transform_;
    std::int64_t num_frames_ = 0;
};

TEST_F(MemoryOfBatches, holds_no_large_batch_but_the_next_and_the_callers_where_a_single_decoder_works) {
    read(1);
    EXPECT_LE(watcher_->counts()[kBatchBytes].most, 2);

    constexpr int kTimes = 3;  // of a side: a group of pictures is more than two decoders may have ready
    transform_.size = Size{kTimes * kSide, kTimes * kSide};
    read(2);
    EXPECT_LE(watcher_->counts()[kTimes * kTimes * kBatchBytes].most, 2);
    EXPECT_EQ(watcher_->counts()[kTimes * kTimes * kBatchBytes].now, 0);
}

TEST_F(MemoryOfBatches, holds_three_batches_and_the_callers_where_two_decoders_work) {
    read(2);  // 16 MiB a worker are three

    EXPECT_EQ(num_frames_, 50);
    EXPECT_GT(watcher_->counts()[kBatchBytes].most, 2);
    EXPECT_LE(watcher_->counts()[kBatchBytes].most, 4);
    EXPECT_EQ(watcher_->counts()[kBatchBytes].now, 0);
}

TEST_F(MemoryOfBatches, is_not_waited_for_where_the_caller_keeps_it) {
    std::vector<Tensor> kept;
    read(2, &kept);

    EXPECT_EQ(num_frames_, 50);
    EXPECT_EQ(watcher_->counts()[kBatchBytes].now, 7);
    kept.clear();
    EXPECT_EQ(watcher_->counts()[kBatchBytes].now, 0);
}

}  // namespace
}  // namespace tricodec
