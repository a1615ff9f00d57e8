// SPDX-License-Identifier: Apache-2.0
/// Shape or strides of an array.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tricodec::python {

/// A number for each axis. Up to four need no memory of their own: a call gives a thousand arrays, most with one axis,
/// and each piece of memory costs as much as all else there is to an array.
class Extents {
public:
    Extents() = default;
    Extents(std::initializer_list<std::int64_t> values) : Extents(values.begin(), values.end()) {}
    template <class Iterator>
    Extents(Iterator first, Iterator last) {
        for (; first != last; ++first) push_back(static_cast<std::int64_t>(*first));
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] const std::int64_t* data() const noexcept { return size_ <= kFew ? few_.data() : many_.data(); }
    [[nodiscard]] std::int64_t& operator[](std::size_t axis) noexcept {
        return size_ <= kFew ? few_[axis] : many_[axis];
    }
    [[nodiscard]] std::int64_t operator[](std::size_t axis) const noexcept { return data()[axis]; }
    [[nodiscard]] const std::int64_t* begin() const noexcept { return data(); }
    [[nodiscard]] const std::int64_t* end() const noexcept { return data() + size_; }

    void push_back(std::int64_t value) {
        if (size_ == kFew) many_.assign(few_.begin(), few_.end());
        if (size_ < kFew) {
            few_[size_] = value;
        } else {
            many_.push_back(value);
        }
        ++size_;
    }

private:
    static constexpr std::size_t kFew = 4;
    std::size_t size_ = 0;
    std::array<std::int64_t, kFew> few_{};
    std::vector<std::int64_t> many_;  // all of them where there are more
};

}  // namespace tricodec::python
