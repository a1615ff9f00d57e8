// SPDX-License-Identifier: Apache-2.0
#include "image/cpu/row_filter.h"

#include <algorithm>

namespace tricodec::image {
namespace {

constexpr int kChunk = 8;  // taps that DotRow takes at a time
constexpr int kGroup = 4;  // outputs that it gives

std::int16_t one_output(const Filter& filter, const std::int16_t* v, int output) {
    const auto at = static_cast<std::size_t>(output);
    const std::int16_t* from = v + (filter.first[at] - filter.begin);
    std::int32_t sum = 1 << (kCoefBits - 1);
    for (int k = 0; k < filter.count[at]; ++k) sum += std::int32_t{from[k]} * filter.taps(output)[k];
    return static_cast<std::int16_t>(sum >> kCoefBits);
}

}  // namespace

RowFilter::RowFilter(const Filter& filter) : filter_(filter) {
    if (filter.identity || filter.max_taps == 1 || find_doubling()) return;
    pack();
}

/// The first and last outputs stand at the border and have taps of their own; those between must repeat every two.
bool RowFilter::find_doubling() {
    constexpr int kBorder = 2;
    const int n = filter_.num_outputs;
    if (filter_.max_taps != 2 || n < 4 * kBorder) return false;
    int x = kBorder + 2;
    for (; x < n; ++x) {
        const auto at = static_cast<std::size_t>(x);
        const bool repeats = filter_.first[at] == filter_.first[at - 2] + 1 &&
                             std::equal(filter_.taps(x), filter_.taps(x) + 2, filter_.taps(x - 2));
        if (!repeats) break;
    }
    if (x < n - kBorder) return false;
    edge_begin_ = kBorder;
    doubling_.num_pairs = (x - kBorder) / 2;
    edge_end_ = kBorder + 2 * doubling_.num_pairs;
    for (std::size_t phase = 0; phase < 2; ++phase) {
        const int output = kBorder + static_cast<int>(phase);
        doubling_.offset[phase] = filter_.first[static_cast<std::size_t>(output)] - filter_.begin;
        doubling_.coefs[phase] = {filter_.taps(output)[0], filter_.taps(output)[1]};
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

void RowFilter::pack() {
    chunks_ = (filter_.max_taps + kChunk - 1) / kChunk;
    const auto outputs = static_cast<std::size_t>((filter_.num_outputs + kGroup - 1) / kGroup * kGroup);
    const auto stride = static_cast<std::size_t>(chunks_ * kChunk);
    offset_.assign(outputs, 0);
    coefs_.assign(outputs * stride, 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(filter_.num_outputs); ++i) {
        offset_[i] = filter_.first[i] - filter_.begin;
        std::copy_n(filter_.taps(static_cast<int>(i)), filter_.count[i],
                    coefs_.begin() + static_cast<std::ptrdiff_t>(i * stride));
    }
}

void RowFilter::run(const Kernels& kernels, const std::int16_t* v, std::int16_t* p, LinesAhead& ahead) const {
    if (filter_.identity) {
        std::copy_n(v, filter_.num_outputs, p);
    } else if (filter_.max_taps == 1) {  // nearest
        for (std::size_t x = 0; x < static_cast<std::size_t>(filter_.num_outputs); ++x) {
            p[x] = v[filter_.first[x] - filter_.begin];
        }
    } else if (doubling_.num_pairs > 0) {
        for (int x = 0; x < edge_begin_; ++x) p[x] = one_output(filter_, v, x);
        kernels.double_up(doubling_, v, p + edge_begin_);
        for (int x = edge_end_; x < filter_.num_outputs; ++x) p[x] = one_output(filter_, v, x);
    } else {
        kernels.dot({offset_.data(), coefs_.data(), chunks_, static_cast<int>(offset_.size()), &ahead}, v, p);
    }
}

}  // namespace tricodec::image
