// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "image/cpu/engine.h"
#include "image/cpu/row_filter.h"
#include "image/cpu/row_store.h"
#include "image/target.h"

namespace tricodec::image {
namespace {

static_assert(std::endian::native == std::endian::little, "samples of more than 8 bits are stored little-endian");

constexpr std::int16_t kNeutral = 8192;  // replaces the components that a gray source lacks

/// One plane and the components that its rows hold side by side.
struct PlaneSource {
    int number = 0;
    const std::byte* data = nullptr;  // of the first column that is read, in row 0
    std::ptrdiff_t stride_bytes = 0;
    int columns = 0;
    int parts = 0;                      // components in the plane
    std::array<int, 3> component_of{};  // by place in the row; -1 where it is not needed
    const Filter* vertical = nullptr;
    const RowFilter* horizontal = nullptr;
};

/// Everything that one call needs. Rows are made again for each row of the grid, or each few that are made at once.
class Run {
public:
    Run(const CpuPlan& cpu, const Frame& frame, const TensorView& out)
        : cpu_(cpu), kernels_(cpu.kernels()), plan_(cpu.plan()), store_(plan_, target_of(plan_, out)) {
        add_planes(frame);
        reserve();
    }

    void rows(int begin, int end) {
        int count = 0;
        for (int y = begin; y < end; y += count) {
            count = std::min(cpu_.rows_at_once(), end - y);
            for (const PlaneSource& plane : planes_) {
                if (cpu_.path() == RowPath::generic || plane.number != 0) resample(plane, y, count);
            }
            for (int i = 0; i < count; ++i) {
                color(y + i, rows_[static_cast<std::size_t>(i)], store_.begin_row(y + i));
                store_.end_row(y + i);
            }
        }
        store_.flush();
    }

private:
    /// Of one row of the grid.
    struct Rows {
        std::int16_t* mixed = nullptr;  // V of a plane of several components
        std::array<std::int16_t*, 3> v{};
        std::array<std::int16_t*, 3> scratch{};
        ComponentRows p{};
    };

    void add_planes(const Frame& frame) {
        const auto bytes = plan_.bytes_per_sample;
        for (std::size_t i = 0; i < static_cast<std::size_t>(plan_.num_components); ++i) {
            if (!cpu_.is_needed(static_cast<int>(i))) continue;
            const ComponentPlan& component = plan_.components[i];
            const Plane& memory = frame.planes[component.layout.plane];
            const int parts = component.layout.step_bytes / bytes;
            const Filter& horizontal = plan_.filters[static_cast<std::size_t>(component.horizontal)];
            const std::byte* const data = memory.data + std::ptrdiff_t{horizontal.begin} * component.layout.step_bytes;
            auto found = std::find_if(planes_.begin(), planes_.end(),
                                      [&](const PlaneSource& plane) { return plane.number == component.layout.plane; });
            if (found == planes_.end()) {
                PlaneSource plane{component.layout.plane,
                                  data,
                                  memory.stride_bytes,
                                  horizontal.end - horizontal.begin,
                                  parts,
                                  {-1, -1, -1},
                                  &plan_.filters[static_cast<std::size_t>(component.vertical)],
                                  &cpu_.horizontal(component.horizontal)};
                found = planes_.insert(planes_.end(), plane);
            }
            found->component_of[static_cast<std::size_t>(component.layout.offset_bytes / bytes)] = static_cast<int>(i);
        }
    }

    void reserve() {
        const auto num_rows = static_cast<std::size_t>(cpu_.rows_at_once());
        int samples = 0;  // of planes of several components
        int columns = 0;
        int beyond = 0;
        for (const PlaneSource& plane : planes_) {
            if (plane.parts > 1) samples = std::max(samples, plane.columns * plane.parts);
            columns = std::max(columns, plane.columns);
            beyond = std::max(beyond, plane.horizontal->columns_beyond());
        }
        // Rows start on cache lines, which a vector of AVX-512 fills.
        constexpr std::size_t kLine = 32;
        const auto length = [](int count) {
            return (static_cast<std::size_t>(count + kRowPadding) + kLine - 1) / kLine * kLine;
        };
        const std::size_t mixed = samples > 0 ? length(samples) : 0;
        const std::size_t v = length(columns + beyond);
        const std::size_t p = length(plan_.grid.width);
        const std::size_t blocks = num_rows > 1 ? num_rows * v : 0;
        memory_.assign(num_rows * (mixed + 3 * v + 3 * p) + v + blocks + kLine, 0);
        const auto past_line = reinterpret_cast<std::uintptr_t>(memory_.data()) / sizeof(std::int16_t) % kLine;
        std::int16_t* at = memory_.data() + (kLine - past_line) % kLine;
        const auto take = [&at](std::size_t size) { return std::exchange(at, at + size); };
        blocks_ = take(blocks);
        spare_ = take(v);
        for (std::size_t i = 0; i < num_rows; ++i) {
            Rows& row = rows_[i];
            row.mixed = take(mixed);
            for (std::size_t component = 0; component < 3; ++component) {
                row.v[component] = take(v);
                row.scratch[component] = take(p);
                row.p[component] = row.scratch[component];
                if (component < static_cast<std::size_t>(plan_.num_components)) continue;
                std::fill_n(row.scratch[component], p, kNeutral);
            }
        }
    }

    void resample(const PlaneSource& plane, int y, int count) {
        for (int i = 0; i < count; ++i) {
            Rows& rows = rows_[static_cast<std::size_t>(i)];
            kernels_.vertical(vertical_row(plane, y + i), v_of(plane, rows));
            if (plane.parts > 1 && cpu_.path() == RowPath::generic) split(plane, rows);
        }
        if (cpu_.path() == RowPath::shared_chroma) return;  // its kernel continues from V
        for (std::size_t i = 0; i < static_cast<std::size_t>(plane.parts); ++i) {
            if (plane.component_of[i] < 0) continue;
            resample_horizontally(*plane.horizontal, static_cast<std::size_t>(plane.component_of[i]), count);
        }
    }

    [[nodiscard]] static std::int16_t* v_of(const PlaneSource& plane, const Rows& rows) {
        return plane.parts > 1 ? rows.mixed : rows.v[static_cast<std::size_t>(plane.component_of[0])];
    }

    [[nodiscard]] VerticalRow vertical_row(const PlaneSource& plane, int y) {
        const Filter& vertical = *plane.vertical;
        const auto at = static_cast<std::size_t>(y);
        return {plane.data + vertical.first[at] * plane.stride_bytes,
                plane.stride_bytes,
                vertical.taps(y),
                vertical.count[at],
                plane.columns * plane.parts,
                plan_.bytes_per_sample,
                plan_.depth,
                plan_.shift};
    }

    void resample_horizontally(const RowFilter& filter, std::size_t component, int count) {
        if (filter.num_dots() > 0) {
            RowsAtOnce v{};
            RowsAtOnce p{};
            for (std::size_t i = 0; i < static_cast<std::size_t>(cpu_.rows_at_once()); ++i) {
                v[i] = rows_[i].v[component];
                p[i] = rows_[i].scratch[component];
            }
            return filter.run_dots(v, blocks_, p);  // rows after `count` are made of what is there
        }
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
            if (filter.identity()) {
                rows_[i].p[component] = rows_[i].v[component];
            } else {
                filter.run(rows_[i].v[component], rows_[i].scratch[component]);
            }
        }
    }

    void split(const PlaneSource& plane, const Rows& rows) const {
        std::array<std::int16_t*, 3> parts{};
        for (std::size_t i = 0; i < static_cast<std::size_t>(plane.parts); ++i) {
            const int component = plane.component_of[i];
            parts[i] = component >= 0 ? rows.v[static_cast<std::size_t>(component)] : spare_;
        }
        kernels_.split(rows.mixed, plane.columns, {parts.data(), static_cast<std::size_t>(plane.parts)});
    }

    void color(int y, const Rows& from, const ChannelRows& to) const {
        const int width = plan_.grid.width;
        if (cpu_.path() == RowPath::shared_chroma) {
            const PlaneSource& luma = planes_[0];
            const PlaneSource& chroma = planes_[1];
            const std::byte* const luma_row =
                luma.data + luma.vertical->first[static_cast<std::size_t>(y)] * luma.stride_bytes;
            const bool mixed = chroma.parts == 2;
            const SharedChromaRow row{luma_row,
                                      plan_.bytes_per_sample,
                                      plan_.depth,
                                      plan_.shift,
                                      {mixed ? from.mixed : from.v[1], mixed ? nullptr : from.v[2]},
                                      mixed,
                                      chroma.horizontal->repeats_from_left(),
                                      chroma.columns};
            return kernels_.shared_chroma(cpu_.bytes(), row, width, to);
        }
        switch (plan_.dtype) {
            case DType::uint8:
                return kernels_.bytes(cpu_.bytes(), from.p, width, to);
            case DType::float16:
                return kernels_.halves(cpu_.floats(), from.p, width, to);
            case DType::bfloat16:
                return kernels_.bfloats(cpu_.floats(), from.p, width, to);
            default:
                return kernels_.floats(cpu_.floats(), from.p, width, to);
        }
    }

    const CpuPlan& cpu_;
    const Kernels& kernels_;
    const Plan& plan_;
    RowStore store_;
    std::vector<PlaneSource> planes_;
    std::vector<std::int16_t> memory_;
    std::array<Rows, kMostRowsAtOnce> rows_{};
    std::int16_t* blocks_ = nullptr;  // V as the dot products take it
    std::int16_t* spare_ = nullptr;   // for components of a plane that are not needed
};

}  // namespace

void transform_cpu(const CpuPlan& plan, const Frame& frame, const TensorView& out, int begin, int end) {
    Run(plan, frame, out).rows(begin, end);
}

}  // namespace tricodec::image
