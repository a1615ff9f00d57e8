// SPDX-License-Identifier: Apache-2.0
#include "audio/sample_window.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"

namespace tricodec {
namespace {
constexpr std::int64_t kBlockSamples = 32768;
}

void SampleWindow::reset(std::int64_t at) {
    blocks_.clear();
    begin_ = end_ = at;
}

std::vector<std::uint8_t*> SampleWindow::reserve(std::int64_t count) {
    if (blocks_.empty() || blocks_.back().capacity - blocks_.back().count < count) {
        const auto most = limits().max_output_bytes / sample_bytes();
        TRICODEC_EXPECT(
            count <= most, refused,
            "a packet gives " + std::to_string(count) + " samples of " + std::to_string(num_channels_) +
                " channels, more than limits.max_output_bytes = " + std::to_string(limits().max_output_bytes));
        Block block;
        block.first = end_;
        block.capacity = std::max(std::min(kBlockSamples, most), count);
        block.data =
            std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(block.capacity * sample_bytes()));
        blocks_.push_back(std::move(block));
    }
    const auto& block = blocks_.back();
    const auto size = static_cast<std::int64_t>(size_of(dtype_));
    std::vector<std::uint8_t*> planes(static_cast<std::size_t>(num_channels_));
    for (std::size_t channel = 0; channel < planes.size(); ++channel) {
        planes[channel] = reinterpret_cast<std::uint8_t*>(block.data.get()) +
                          (static_cast<std::int64_t>(channel) * block.capacity + block.count) * size;
    }
    return planes;
}

void SampleWindow::commit(std::int64_t count) {
    blocks_.back().count += count;
    end_ += count;
}

void SampleWindow::drop_before(std::int64_t number) {
    begin_ = std::max(begin_, number);
    while (!blocks_.empty() && blocks_.front().count > 0 && blocks_.front().first + blocks_.front().count <= begin_) {
        blocks_.pop_front();
    }
}

Tensor SampleWindow::take(std::int64_t from, std::int64_t to, std::int64_t keep_from) {
    Tensor result = Tensor::empty({num_channels_, to - from}, dtype_);
    const auto size = static_cast<std::int64_t>(size_of(dtype_));
    auto* out = static_cast<std::byte*>(result.view.data);
    for (std::size_t i = 0; i < blocks_.size();) {
        const auto& block = blocks_[i];
        const auto first = std::max(from, block.first);
        const auto last = std::min(to, block.first + block.count);
        for (std::int64_t channel = 0; first < last && channel < num_channels_; ++channel) {
            std::memcpy(out + (channel * (to - from) + first - from) * size,
                        block.data.get() + (channel * block.capacity + first - block.first) * size,
                        static_cast<std::size_t>((last - first) * size));
        }
        const auto before = blocks_.size();
        if (i == 0 && last == block.first + block.count) drop_before(std::min(last, keep_from));
        if (blocks_.size() == before) ++i;
    }
    drop_before(std::min(keep_from, end_));
    return result;
}

}  // namespace tricodec
