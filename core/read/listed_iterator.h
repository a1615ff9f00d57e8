// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tricodec/read/frame_reader.h"

namespace tricodec {

/// Frames that ListedFrames reads at a time: enough to decode a GOP range once, few enough to keep.
constexpr std::int64_t kListedFramesAtATime = 8;

/// Iterates over the frames of a selection that are in any order, some at a time. If a read renumbers the frames, the
/// iteration continues at the same place of the selection.
class ListedSelection {
public:
    ListedSelection(FrameReader& reader, FrameSelection selection)
        : reader_(&reader), selection_(std::move(selection)) {
        static_cast<void>(reader.select(selection_));  // throws for frames that are not there
    }

    /// Calls `read` with the numbers of the next `count` places. False past the last place.
    template <class Read>
    bool read_next(std::int64_t count, Read read) {
        std::int64_t num_read = 0;
        reader_->read_selected(
            [&](FrameReader& reader) {
                const auto numbers = reader.select(selection_);
                const auto first = std::min<std::int64_t>(given_, std::ssize(numbers));
                const auto last = std::min<std::int64_t>(first + count, std::ssize(numbers));
                return std::vector(numbers.begin() + first, numbers.begin() + last);
            },
            [&](std::span<const std::int64_t> numbers) {
                num_read = std::ssize(numbers);
                if (num_read > 0) read(*reader_, numbers);
            });
        given_ += num_read;
        return num_read > 0;
    }

private:
    FrameReader* reader_;
    FrameSelection selection_;
    std::int64_t given_ = 0;
};

class ListedFrames final : public FrameReader::Iterator {
public:
    ListedFrames(FrameReader& reader, FrameSelection selection) : selection_(reader, std::move(selection)) {}

    std::optional<Frame> next() override {
        if (ready_.empty()) {
            selection_.read_next(kListedFramesAtATime, [&](FrameReader& reader, auto numbers) {
                auto frames = reader.frames(numbers);
                ready_.assign(std::move_iterator(frames.begin()), std::move_iterator(frames.end()));
            });
        }
        if (ready_.empty()) return std::nullopt;
        std::optional<Frame> frame = std::move(ready_.front());
        ready_.pop_front();
        return frame;
    }

private:
    ListedSelection selection_;
    std::deque<Frame> ready_;
};

class ListedBatches final : public FrameReader::BatchIterator {
public:
    ListedBatches(FrameReader& reader, FrameSelection selection, std::int64_t batch_size, Transform transform)
        : selection_(reader, std::move(selection)), batch_size_(batch_size), transform_(std::move(transform)) {}

    std::optional<Tensor> next() override {
        std::optional<Tensor> batch;
        const bool any = selection_.read_next(
            batch_size_, [&](FrameReader& reader, auto numbers) { batch = reader.batch(numbers, transform_); });
        return any ? std::move(batch) : std::nullopt;
    }

private:
    ListedSelection selection_;
    std::int64_t batch_size_;
    Transform transform_;
};

}  // namespace tricodec
