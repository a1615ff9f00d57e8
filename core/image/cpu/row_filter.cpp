// SPDX-License-Identifier: Apache-2.0
#include "image/cpu/row_filter.h"

#include <algorithm>

namespace tricodec::image {
namespace {

std::int16_t one_output(const Filter& filter, const std::int16_t* v, int output) {
    const auto at = static_cast<std::size_t>(output);
    const std::int16_t* from = v + (filter.first[at] - filter.begin);
    std::int32_t sum = 1 << (kCoefBits - 1);
    for (int k = 0; k < filter.count[at]; ++k) sum += std::int32_t{from[k]} * filter.taps(output)[k];
    return static_cast<std::int16_t>(sum >> kCoefBits);
}

}  // namespace

RowFilter::RowFilter(const Kernels& kernels, const Filter& filter) : kernels_(kernels), filter_(filter) {
    repeats_ = find_repeats();
    if (filter.identity || find_doubling() || filter.max_taps == 1) return;
    pack();
}

/// The first and last outputs stand at the border and have taps of their own; those between must repeat every two.
bool RowFilter::find_doubling() {
    constexpr int kBorder = 2;
    const int n = filter_.num_outputs;
    if (filter_.max_taps > 2 || n < 4 * kBorder) return false;
    int x = kBorder + 2;
    for (; x < n; ++x) {
        const auto at = static_cast<std::size_t>(x);
        const bool repeats = filter_.first[at] == filter_.first[at - 2] + 1 &&
                             std::equal(filter_.taps(x), filter_.taps(x) + filter_.max_taps, filter_.taps(x - 2));
        if (!repeats) break;
    }
    if (x < n - kBorder) return false;
    edge_begin_ = kBorder;
    doubling_.num_pairs = (x - kBorder) / 2;
    edge_end_ = kBorder + 2 * doubling_.num_pairs;
    for (std::size_t phase = 0; phase < 2; ++phase) {
        const int output = kBorder + static_cast<int>(phase);
        doubling_.offset[phase] = filter_.first[static_cast<std::size_t>(output)] - filter_.begin;
        std::copy_n(filter_.taps(output), filter_.max_taps, doubling_.coefs[phase].begin());
    }
    return true;
}

bool RowFilter::doubles_from_left() const noexcept {
    if (filter_.max_taps != 2 || doubling_.num_pairs == 0) return false;
    const int last = filter_.end - 1;
    for (int x = 0; x < filter_.num_outputs; ++x) {
        const int column = filter_.begin + x / 2;
        const bool alone = x % 2 == 0 || column == last;
        const std::int16_t* taps = filter_.taps(x);
        if (filter_.first[static_cast<std::size_t>(x)] != column || column > last) return false;
        if (taps[0] != (alone ? kCoefOne : kCoefOne / 2) || taps[1] != (alone ? 0 : kCoefOne / 2)) return false;
    }
    return true;
}

bool RowFilter::find_repeats() const {
    if (filter_.max_taps != 1) return false;
    for (int x = 0; x < filter_.num_outputs; ++x) {
        if (filter_.first[static_cast<std::size_t>(x)] != filter_.begin + x / 2) return false;
    }
    return true;
}

/// See Note [Rows side by side].
void RowFilter::pack() {
    const int rows = kernels_.rows_at_once;
    // The column that an output's first chunk begins with; blocks of several rows begin at their own columns only.
    const auto column_of = [&](std::size_t output) {
        const int column = filter_.first[output] - filter_.begin;
        return rows == 1 ? column : column / kBlockColumns * kBlockColumns;
    };
    const auto chunks_of = [&](std::size_t output) {
        const int end = filter_.first[output] - filter_.begin + filter_.count[output];
        return (end - column_of(output) + kBlockColumns - 1) / kBlockColumns;
    };
    const auto num_outputs = static_cast<std::size_t>(filter_.num_outputs);
    for (std::size_t i = 0; i < num_outputs; ++i) chunks_ = std::max(chunks_, chunks_of(i));
    const std::size_t outputs = (num_outputs + kDotOutputs - 1) / kDotOutputs * kDotOutputs;
    const auto stride = static_cast<std::size_t>(chunks_ * kBlockColumns);
    offset_.assign(outputs, 0);
    has_last_chunk_.assign(outputs, 0);
    coefs_.assign(outputs * stride, 0);
    for (std::size_t i = 0; i < num_outputs; ++i) {
        const int column = column_of(i);
        const int before = filter_.first[i] - filter_.begin - column;
        offset_[i] = column * rows;
        has_last_chunk_[i] = chunks_of(i) == chunks_ ? 1 : 0;
        std::copy_n(filter_.taps(static_cast<int>(i)), filter_.count[i],
                    coefs_.begin() + static_cast<std::ptrdiff_t>(i * stride) + before);
    }
}

void RowFilter::run(const std::int16_t* v, std::int16_t* p) const {
    if (filter_.identity) {
        std::copy_n(v, filter_.num_outputs, p);
    } else if (doubling_.num_pairs > 0) {
        for (int x = 0; x < edge_begin_; ++x) p[x] = one_output(filter_, v, x);
        kernels_.double_up(doubling_, v, p + edge_begin_);
        for (int x = edge_end_; x < filter_.num_outputs; ++x) p[x] = one_output(filter_, v, x);
    } else {  // nearest
        for (std::size_t x = 0; x < static_cast<std::size_t>(filter_.num_outputs); ++x) {
            p[x] = v[filter_.first[x] - filter_.begin];
        }
    }
}

void RowFilter::run_dots(const RowsAtOnce& v, std::int16_t* blocks, const RowsAtOnce& p) const {
    const std::int16_t* from = v[0];
    if (kernels_.rows_at_once > 1) {
        const int columns = filter_.end - filter_.begin;
        kernels_.interleave(v, (columns + kBlockColumns - 1) / kBlockColumns, blocks);
        from = blocks;
    }
    kernels_.dot({offset_.data(), has_last_chunk_.data(), coefs_.data(), chunks_, num_dots()}, from, p);
}

}  // namespace tricodec::image
