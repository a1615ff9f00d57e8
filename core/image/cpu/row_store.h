// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "image/cpu/kernels.h"
#include "image/plan.h"
#include "image/target.h"

namespace tricodec::image {

/// Where finished rows go: straight into the output if its columns are side by side. Otherwise (mirrored, turned,
/// strided) a few rows are collected and then moved, so that turned pictures are written in runs of a row and not pixel
/// by pixel all over the memory.
class RowStore {
public:
    RowStore(const Plan& plan, const Target& target);

    /// Where the color kernel is to write row y of the grid.
    [[nodiscard]] ChannelRows begin_row(int y);
    /// That it has. Rows come in ascending order without gaps.
    void end_row(int y);
    /// Writes what is still collected.
    void flush();

private:
    [[nodiscard]] std::byte* plane_of(int y, int plane);

    const Target target_;
    int width_ = 0;
    int num_channels_ = 0;
    bool packed_ = false;  ///< the three channels of a column stand side by side; otherwise each is a plane
    bool direct_ = false;
    int unit_bytes_ = 1;  ///< moved at a time: a pixel, or an element of a plane
    int num_planes_ = 1;  ///< also those of zeros, for the elements of no channel
    int most_rows_ = 1;   ///< that are collected
    int first_ = 0;       ///< row of the grid that `collected_` starts with
    int count_ = 0;       ///< rows in it
    std::size_t plane_bytes_ = 0;
    std::size_t row_bytes_ = 0;
    std::vector<std::byte> collected_;
};

}  // namespace tricodec::image
