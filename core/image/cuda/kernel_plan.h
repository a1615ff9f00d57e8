// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "image/cuda/band_kernel.h"
#include "image/cuda/box_plan.h"
#include "image/cuda/direct_kernel.h"
#include "image/cuda/period_plan.h"
#include "image/cuda/tile_kernel.h"
#include "image/cuda/whole_kernel.h"
#include "image/plan.h"
#include "image/target.h"
#include "tricodec/frame.h"

namespace tricodec::image::gpu {

/// One frame of a batch and where its result goes.
struct Item {
    const Frame* frame = nullptr;
    Target target{};
};

/// Bytes of shared memory that every block may have without being told.
inline constexpr std::size_t kSharedBytesOfAll = 48 * 1024;

/// All that the driver needs to start a kernel for up to kMaxFrames frames.
struct Launch {
    std::string kernel;
    unsigned blocks_x = 0;  ///< of a frame
    unsigned blocks_y = 0;
    unsigned blocks_z = 0;  ///< frames, or groups of frames
    unsigned threads = 0;
    unsigned shared_bytes = 0;  ///< beyond what the kernel declares itself
    std::variant<TileArgs, DirectArgs, WholeArgs, BandArgs, BoxArgs<BoxMap>, PeriodArgs> args;
};

/// A plan as the kernels want it: which of them can run it, and the tables that they read, in one piece of memory that
/// may be copied to a device. Immutable once made.
class KernelPlan {
public:
    /// Keeps `plan`. The band kernel is among the choices where it is the faster one, or, with `bands`, wherever it can
    /// run the plan.
    explicit KernelPlan(std::shared_ptr<const Plan> plan, bool bands = false);

    [[nodiscard]] const Plan& plan() const noexcept { return *plan_; }
    [[nodiscard]] std::span<const std::byte> tables() const noexcept { return tables_; }

    /// `tables` is where the tables are in the kernel's memory, a multiple of 16; `items` are 1 to kMaxFrames frames of
    /// the plan's geometry whose targets have the same steps; a block may have `shared_bytes` of shared memory on a
    /// GPU that multiplies matrices of bytes (compute capability 8.0 and later), 0 on others; with `boxes` it copies
    /// whole boxes, and the driver knows how (9.0 and later).
    [[nodiscard]] Launch launch(const std::byte* tables, std::span<const Item> items, std::size_t shared_bytes,
                                int multiprocessors, bool boxes = false) const;

    /// Whether the direct kernel takes outputs whose pixels are side by side; else the tile kernel does.
    [[nodiscard]] bool has_direct() const noexcept { return direct_.has_value(); }

private:
    struct TileTables {
        std::array<std::size_t, 2> row_first{};
        std::array<std::size_t, 2> row_count{};
        std::array<std::size_t, 2> row_coefs{};
        std::array<std::size_t, 2> column_first{};
        std::array<std::size_t, 2> column_coefs{};
        std::array<std::size_t, 2> tile_begin{};
        std::array<std::size_t, 2> tile_end{};
    };

    /// By axis; columns' for the plane that has it.
    struct BandTables {
        std::array<std::size_t, 2> rows{};
        std::array<std::size_t, 2> block_rows{};
        std::array<std::size_t, 2> row_weights{};
        std::array<std::size_t, 2> bytes{};
        std::array<std::size_t, 2> ranges{};
        std::array<std::size_t, 2> words{};
    };

    struct BoxTables {
        std::size_t ranges = 0;
        std::size_t words = 0;
    };

    template <typename Value>
    [[nodiscard]] std::size_t add_table(const std::vector<Value>& values);
    void add_planes();
    void lay_out_shared_memory();
    void add_direct();
    void add_band();
    /// What the aligned and packed launch of the direct kernel becomes where the whole kernel can do it.
    [[nodiscard]] std::optional<Launch> whole_launch(const DirectArgs& direct, unsigned num_frames) const;
    [[nodiscard]] TileArgs tile_args(const std::byte* tables) const;
    [[nodiscard]] std::optional<Launch> direct_launch(const std::byte* tables, std::span<const Item> items) const;
    [[nodiscard]] std::optional<Launch> period_launch(const std::byte* tables, std::span<const Item> items,
                                                      std::size_t shared_bytes) const;
    [[nodiscard]] std::optional<Launch> band_launch(const std::byte* tables, std::span<const Item> items,
                                                    std::size_t shared_bytes, int multiprocessors) const;
    /// What a launch of the band kernel becomes where box copies can do it.
    [[nodiscard]] std::optional<Launch> box_launch(const std::byte* tables, const Launch& band,
                                                   std::size_t shared_bytes, int multiprocessors) const;
    [[nodiscard]] Launch tile_launch(const std::byte* tables, std::span<const Item> items) const;

    std::shared_ptr<const Plan> plan_;
    std::vector<std::byte> tables_;
    TileArgs tile_{};  // without tables, output and frames
    TileTables offsets_{};
    unsigned shared_bytes_ = 0;
    std::array<int, 3> tile_plane_{};  // the frame's plane that is the kernel's i-th
    std::optional<BandArgs> band_;     // without tables, output and frames
    BandTables band_offsets_{};
    unsigned band_shared_bytes_ = 0;
    std::optional<BoxPlan> boxes_;
    BoxTables box_offsets_{};
    std::optional<Period> period_;
    std::array<std::size_t, 2> period_rows_{};
    std::optional<DirectArgs> direct_;
    std::optional<WholeArgs> whole_;  // without output and frames
    std::size_t chroma_rows_ = 0;
    std::array<int, 3> direct_plane_{};
};

}  // namespace tricodec::image::gpu
