// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "image/cuda/launch.h"
#include "image/plan.h"

namespace tricodec::image::gpu {

/// The tables of a plan, in one piece of memory that may be copied to a device.
class Tables {
public:
    /// Returns the offset of the values, a multiple of 16.
    template <typename Value>
    std::size_t add(const std::vector<Value>& values) {
        const std::size_t offset = (bytes_.size() + 15) / 16 * 16;
        bytes_.resize(offset + values.size() * sizeof(Value));
        if (!values.empty()) std::memcpy(bytes_.data() + offset, values.data(), values.size() * sizeof(Value));
        return offset;
    }
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

/// The planes that a resize reads: those of components that a channel needs.
struct SourcePlanes {
    int num_planes = 0;
    std::array<TilePlane, 3> planes{};
    std::array<int, 3> component_axis{-1, -1, -1};  ///< as in TileArgs
    std::array<int, 3> of_frame{};                  ///< the frame's plane that is the kernel's i-th
};

[[nodiscard]] SourcePlanes source_planes(const Plan& plan);

/// resample_tile.h for a plan: any plan.
class TilePlan {
public:
    TilePlan(const Plan& plan, const SourcePlanes& planes, Tables& tables);
    [[nodiscard]] Launch launch(const Batch& batch) const;

private:
    struct Axis {
        std::size_t row_first, row_count, row_coefs;
        std::size_t column_first, column_coefs, tile_begin, tile_end;
    };
    TileArgs args_{};  // without tables, output and frames
    std::array<Axis, 2> offsets_{};
    std::array<int, 3> of_frame_;
    unsigned shared_bytes_ = 0;
};

/// convert.h for a plan.
class ConvertPlan {
public:
    /// Nothing for plans that resize, turn, mirror or pad, and for chroma that needs more than two taps of integer
    /// quarters, or repeats samples for more than two columns.
    [[nodiscard]] static std::optional<ConvertPlan> make(const Plan& plan, Tables& tables);
    /// Nothing for outputs with gaps between the pixels of a row.
    [[nodiscard]] std::optional<Launch> launch(const Batch& batch) const;

private:
    ConvertArgs args_{};  // without tables, output and frames
    std::size_t chroma_rows_ = 0;
    std::array<int, 3> of_frame_{};
    int num_planes_ = 0;
    const char* chroma_name_ = "";
};

/// A plan as the kernels need it: which of them can run it, and their tables. Immutable once made.
class KernelPlan {
public:
    /// Keeps `plan`.
    explicit KernelPlan(std::shared_ptr<const Plan> plan);

    [[nodiscard]] const Plan& plan() const noexcept { return *plan_; }
    [[nodiscard]] std::span<const std::byte> tables() const noexcept { return tables_.bytes(); }

    /// The kernel for a batch of the plan.
    [[nodiscard]] Launch launch(const std::byte* tables, std::span<const Item> items) const;

private:
    std::shared_ptr<const Plan> plan_;
    Tables tables_;
    std::optional<ConvertPlan> convert_;
    std::optional<TilePlan> tile_;
};

}  // namespace tricodec::image::gpu
