// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "image/cpu/rgb_kernels.h"

namespace tricodec::image {
namespace {

/// The last rows of the picture with their components apart: a chroma row looks at up to three.
class SplitRows {
public:
    SplitRows(const RgbKernels& kernels, const RgbPicture& picture) : kernels_(kernels), picture_(picture) {
        const auto row = static_cast<std::size_t>(picture.width + kRgbPadding);
        store_.resize(kSlots * 3 * row);
        for (std::size_t i = 0; i < kSlots; ++i) {
            for (std::size_t c = 0; c < 3; ++c) slots_[i].part[c] = store_.data() + (i * 3 + c) * row;
        }
    }

    /// Of the row `y`, or of the nearest one that is there.
    RgbRows get(int y) {
        y = std::clamp(y, 0, picture_.height - 1);
        auto& slot = slots_[static_cast<std::size_t>(y) % kSlots];
        if (slot.row != y) {
            fill(slot.part, y);
            slot.row = y;
        }
        return {slot.part[0], slot.part[1], slot.part[2]};
    }

private:
    static constexpr std::size_t kSlots = 4;
    struct Slot {
        int row = -1;
        std::array<std::uint8_t*, 3> part{};
    };

    void fill(const std::array<std::uint8_t*, 3>& parts, int y) const {
        const auto at = [&](std::size_t c) { return picture_.first[c] + y * picture_.stride_bytes[c]; };
        if (picture_.step_bytes == 1) {
            // A copy: kernels read whole vectors, and a caller's plane ends with its last row.
            for (std::size_t c = 0; c < 3; ++c) std::memcpy(parts[c], at(c), static_cast<std::size_t>(picture_.width));
            return;
        }
        const std::byte* first = std::min({at(0), at(1), at(2)});
        std::array<std::uint8_t*, 3> ordered{};
        for (std::size_t c = 0; c < 3; ++c) ordered[static_cast<std::size_t>(at(c) - first)] = parts[c];
        kernels_.split(first, picture_.step_bytes, picture_.width, ordered);
    }

    const RgbKernels& kernels_;
    const RgbPicture& picture_;
    std::vector<std::uint8_t> store_;
    std::array<Slot, kSlots> slots_{};
};

/// A row of sums for each component, with a sample more at both ends.
class Sums {
public:
    explicit Sums(int width) : width_(width) {
        const auto row = static_cast<std::size_t>(width + 2 * kRgbPadding);
        store_.resize(3 * row);
        for (std::size_t c = 0; c < 3; ++c) rows_[c] = store_.data() + c * row + kRgbPadding / 2;
    }
    [[nodiscard]] std::uint16_t* row(std::size_t component) { return rows_[component]; }
    SumRows finished() {
        for (auto* row : rows_) {
            row[-1] = row[0];
            row[width_] = row[width_ - 1];
        }
        return {rows_[0], rows_[1], rows_[2]};
    }

private:
    int width_;
    std::vector<std::uint16_t> store_;
    std::array<std::uint16_t*, 3> rows_{};
};

std::byte* row_of(const Frame& frame, std::size_t plane, int y) {
    return frame.planes[plane].data + y * frame.planes[plane].stride_bytes;
}

}  // namespace

void rgb_to_yuv_cpu(const RgbKernels& kernels, const ForwardPlan& plan, const RgbPicture& picture, const Frame& out) {
    SplitRows split(kernels, picture);
    Sums sums(picture.width);
    const auto& format = info(out.format);
    const int num_chroma = format.plane_width(1, picture.width);
    const int chroma_rows = format.plane_height(1, picture.height);
    int luma_done = 0;
    for (int yc = 0; yc < chroma_rows; ++yc) {
        const int luma_end = std::min((yc + 1) << plan.log2_chroma_h, picture.height);
        for (; luma_done < luma_end; ++luma_done) {
            kernels.luma(plan, split.get(luma_done), picture.width, row_of(out, 0, luma_done));
        }
        const int y = (yc << plan.log2_chroma_h) + plan.down.first;
        const std::array<RgbRows, 3> rows = {split.get(y), split.get(plan.down.weight[1] == 0 ? y : y + 1),
                                             split.get(plan.down.weight[2] == 0 ? y : y + 2)};
        for (std::size_t c = 0; c < 3; ++c) {
            kernels.down(plan.down.weight, {rows[0][c], rows[1][c], rows[2][c]}, picture.width, sums.row(c));
        }
        kernels.chroma(plan, sums.finished(), num_chroma, row_of(out, 1, yc), row_of(out, 2, yc));
    }
}

}  // namespace tricodec::image
