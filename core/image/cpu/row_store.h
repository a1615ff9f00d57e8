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
    RowStore(const Kernels& kernels, const Plan& plan, const Target& target);

    [[nodiscard]] bool direct() const noexcept { return direct_; }
    /// Where direct: the memory of `count` rows from y on, in up to three runs a row.
    [[nodiscard]] std::array<LinesAhead::Rows, 3> memory_of(int y, int count) noexcept;
    /// Where the color kernel is to write row y of the grid.
    [[nodiscard]] ChannelRows begin_row(int y);
    /// That it has. Rows come in ascending order without gaps.
    void end_row(int y);
    /// Writes what is still collected.
    void flush();

private:
    enum class Kind : std::uint8_t {
        packed,  ///< three channels side by side
        planar,  ///< a row of each channel
        groups,  ///< CHW2 and HWC8: rows of channels are woven to groups
    };

    [[nodiscard]] std::byte* plane_of(int y, int plane);
    void choose_kind();
    void weave(int y);

    const Kernels& kernels_;
    const Target target_;
    int width_ = 0;
    int num_channels_ = 0;
    int value_bytes_ = 1;
    Layout layout_ = Layout::hwc;
    Kind kind_ = Kind::planar;
    bool direct_ = false;
    int unit_bytes_ = 1;  ///< moved at a time: the elements of a column that stand side by side
    int unit_slots_ = 1;
    int num_planes_ = 1;  ///< units of a column
    int most_rows_ = 1;   ///< that are collected
    int first_ = 0;       ///< row of the grid that `collected_` starts with
    int count_ = 0;       ///< rows in it
    std::size_t plane_bytes_ = 0;
    std::size_t row_bytes_ = 0;
    std::vector<std::byte> collected_;
    std::vector<std::byte> woven_;  ///< rows of channels for `weave`
    ChannelRows rows_{};
};

}  // namespace tricodec::image
