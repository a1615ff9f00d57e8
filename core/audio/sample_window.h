// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "tricodec/tensor/tensor.h"

namespace tricodec {

/// The samples of a stream that were decoded last, by their numbers: a planar queue.
class SampleWindow {
public:
    SampleWindow(int num_channels, DType dtype) : num_channels_(num_channels), dtype_(dtype) {}

    [[nodiscard]] std::int64_t begin() const noexcept { return begin_; }
    [[nodiscard]] std::int64_t end() const noexcept { return end_; }
    [[nodiscard]] std::int64_t sample_bytes() const noexcept {
        return num_channels_ * static_cast<std::int64_t>(size_of(dtype_));
    }

    /// Forgets everything; the next sample has the number `at`.
    void reset(std::int64_t at);
    /// Where `count` samples can be written, an address for each channel. Throws Error(refused) past
    /// Limits::max_output_bytes.
    [[nodiscard]] std::vector<std::uint8_t*> reserve(std::int64_t count);
    /// The first `count` samples of what was reserved last are written.
    void commit(std::int64_t count);
    /// Forgets the samples before a number, which may be past end().
    void drop_before(std::int64_t number);
    /// A copy of [from, to), which must be in the window: [channels, samples]. What lies before `keep_from` is
    /// forgotten as it is copied.
    [[nodiscard]] Tensor take(std::int64_t from, std::int64_t to, std::int64_t keep_from);

private:
    struct Block {
        std::int64_t first = 0;
        std::int64_t count = 0;
        std::int64_t capacity = 0;
        std::unique_ptr<std::byte[]> data;  // a row of `capacity` samples for each channel
    };

    int num_channels_;
    DType dtype_;
    std::deque<Block> blocks_;
    std::int64_t begin_ = 0;
    std::int64_t end_ = 0;
};

}  // namespace tricodec
