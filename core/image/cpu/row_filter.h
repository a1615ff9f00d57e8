// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "image/cpu/kernels.h"
#include "image/filter.h"

namespace tricodec::image {

/// A horizontal filter as the kernels want it.
class RowFilter {
public:
    RowFilter(const Kernels& kernels, const Filter& filter);

    /// Whether P is V itself, from the first column on.
    [[nodiscard]] bool identity() const noexcept { return filter_.identity; }
    /// Whether output 2 * i is column i and output 2 * i + 1 the mean of columns i and i + 1, the last column repeated.
    [[nodiscard]] bool doubles_from_left() const noexcept;
    /// Whether outputs 2 * i and 2 * i + 1 are column i.
    [[nodiscard]] bool repeats_from_left() const noexcept { return repeats_; }
    /// Outputs that are dot products of their own, as many rows at once as the kernels take; 0 where taps repeat or are
    /// single.
    [[nodiscard]] int num_dots() const noexcept { return static_cast<int>(offset_.size()); }
    /// Columns of V after the last one that dots multiply by zero.
    [[nodiscard]] int columns_beyond() const noexcept { return chunks_ * kBlockColumns; }
    /// Of one row, where there are no dots. v[0] is column filter.begin; both rows have kRowPadding.
    void run(const std::int16_t* v, std::int16_t* p) const;
    /// Of rows_at_once rows, where there are. `blocks` is room for as many rows of V; one row may stand for several.
    void run_dots(const RowsAtOnce& v, std::int16_t* blocks, const RowsAtOnce& p) const;

private:
    bool find_doubling();
    [[nodiscard]] bool find_repeats() const;
    void pack();

    const Kernels& kernels_;
    const Filter& filter_;
    bool repeats_ = false;
    int edge_begin_ = 0;  // outputs that the doubling does not cover: [0, edge_begin_) and [edge_end_, num_outputs)
    int edge_end_ = 0;
    DoubleRow doubling_{};
    int chunks_ = 0;
    std::vector<std::int32_t> offset_;
    std::vector<std::uint8_t> has_last_chunk_;
    std::vector<std::int16_t> coefs_;
};

}  // namespace tricodec::image
