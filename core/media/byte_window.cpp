// SPDX-License-Identifier: Apache-2.0
#include "media/byte_window.h"

#include <algorithm>

namespace tricodec {

std::span<const std::uint8_t> ByteWindow::at(std::int64_t position, std::size_t count) {
    if (position < 0 || position >= end_) return {};
    const auto begin = static_cast<std::size_t>(position - start_);
    if (position < start_ || begin + count > filled_) fill(position, count);
    const auto first = static_cast<std::size_t>(position - start_);
    return std::span<const std::uint8_t>(window_.data(), filled_).subspan(first, std::min(count, filled_ - first));
}

void ByteWindow::fill(std::int64_t position, std::size_t count) {
    const auto left = static_cast<std::size_t>(end_ - position);
    window_.resize(std::min(std::max(count, window_bytes_), left));
    start_ = position;
    filled_ = 0;
    reader_.seek(position);
    while (filled_ < window_.size()) {
        const auto got = reader_.read(std::as_writable_bytes(std::span(window_)).subspan(filled_));
        if (got == 0) break;
        filled_ += got;
    }
}

}  // namespace tricodec
