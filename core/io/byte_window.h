// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "io/bit_reader.h"
#include "tricodec/io/media_source.h"

namespace tricodec {

/// Reads numbers anywhere in a source, through a window of some bytes. Positions past the end have no bytes.
class ByteWindow {
public:
    explicit ByteWindow(ByteReader& reader, std::size_t window_bytes = 512)
        : reader_(reader), size_(reader.size_bytes().value_or(0)), window_bytes_(window_bytes) {}

    [[nodiscard]] std::int64_t size() const noexcept { return size_; }
    /// Reads nothing from `position` on, as if the source ended there.
    void end_at(std::int64_t position) noexcept { end_ = std::min(size_, position); }

    /// `count` bytes at `position`; fewer at the end. Valid until the next call.
    std::span<const std::uint8_t> at(std::int64_t position, std::size_t count);
    /// Nothing where there are too few bytes.
    std::optional<std::uint64_t> big_endian(std::int64_t position, std::size_t count) {
        const auto bytes = at(position, count);
        if (bytes.size() < count) return std::nullopt;
        return tricodec::big_endian(bytes);
    }

private:
    void fill(std::int64_t position, std::size_t count);

    ByteReader& reader_;
    std::int64_t size_;
    std::int64_t end_ = size_;
    std::size_t window_bytes_;
    std::vector<std::uint8_t> window_;
    std::int64_t start_ = 0;
    std::size_t filled_ = 0;
};

inline std::span<const std::uint8_t> ByteWindow::at(std::int64_t position, std::size_t count) {
    if (position < 0 || position >= end_) return {};
    const auto begin = static_cast<std::size_t>(position - start_);
    if (position < start_ || begin + count > filled_) fill(position, count);
    const auto first = static_cast<std::size_t>(position - start_);
    return std::span<const std::uint8_t>(window_.data(), filled_).subspan(first, std::min(count, filled_ - first));
}

inline void ByteWindow::fill(std::int64_t position, std::size_t count) {
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
