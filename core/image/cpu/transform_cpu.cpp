// SPDX-License-Identifier: Apache-2.0
#include "image/cpu/transform_cpu.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "image/cpu/row_filter.h"
#include "image/cpu/row_store.h"
#include "image/target.h"

namespace tricodec::image {
namespace {

static_assert(std::endian::native == std::endian::little, "samples of more than 8 bits are stored little-endian");

constexpr int kLineBytes = 64;           // of a cache
constexpr std::int16_t kNeutral = 8192;  // stands in for the components that a gray source lacks

/// One plane and the components that its rows hold side by side.
struct PlaneSource {
    int number = 0;
    const std::byte* data = nullptr;  // of the first column that is read, in row 0
    std::ptrdiff_t stride_bytes = 0;
    int columns = 0;
    int parts = 0;                      // components in the plane
    std::array<int, 3> component_of{};  // by place in the row; -1 where nobody needs it
    const Filter* vertical = nullptr;
    const RowFilter* horizontal = nullptr;
};

/// Everything that one call needs; rows are made anew for each row of the grid.
class Run {
public:
    Run(const Kernels& kernels, const CpuPlan& cpu, const Frame& frame, const TensorView& out)
        : kernels_(kernels), cpu_(cpu), plan_(cpu.plan()), store_(kernels, plan_, target_of(plan_, out)) {
        add_planes(frame);
        reserve();
    }

    void rows(int begin, int end) {
        for (int y = begin; y < end; ++y) {
            if (looks_ahead_) look_ahead(y);
            for (const PlaneSource& plane : planes_) {
                if (cpu_.path() == RowPath::generic || plane.number != 0) resample(plane, y);
            }
            color(y, store_.begin_row(y));
            store_.end_row(y);
        }
        store_.flush();
    }

private:
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
        looks_ahead_ = plan_.filters[1].max_taps > 1;
        int samples = 0;
        int columns = 0;
        int taps = 0;
        for (const PlaneSource& plane : planes_) {
            num_steps_ += plane.columns * plane.parts / kLineBytes + 1;
            num_steps_ += plane.parts * plane.horizontal->num_dots() / 4;
            samples = std::max(samples, plane.columns * plane.parts);
            columns = std::max(columns, plane.columns);
            taps = std::max(taps, plan_.filters[0].max_taps);
            if (plan_.filters.size() > 2) taps = std::max(taps, plan_.filters[2].max_taps);
        }
        // The dot products read whole chunks of taps, beyond the last column of V by less than taps + 8.
        const auto rounded = [](int count) { return static_cast<std::size_t>((count + 31) / 32 * 32); };
        const std::size_t row = rounded(std::max(columns, plan_.grid.width) + taps + kRowPadding);
        const std::size_t mixed = rounded(samples + taps + kRowPadding);
        // Rows start on cache lines, which a vector of AVX-512 fills.
        constexpr std::size_t kLine = 32;
        memory_.assign(mixed + 7 * row + kLine, 0);
        const auto past_line = reinterpret_cast<std::uintptr_t>(memory_.data()) / sizeof(std::int16_t) % kLine;
        mixed_ = memory_.data() + (kLine - past_line) % kLine;
        spare_ = mixed_ + mixed + 6 * row;
        for (std::size_t i = 0; i < 3; ++i) {
            v_[i] = mixed_ + mixed + i * row;
            scratch_[i] = v_[i] + 3 * row;
            p_[i] = scratch_[i];
            if (i >= static_cast<std::size_t>(plan_.num_components)) std::fill_n(scratch_[i], row, kNeutral);
        }
    }

    /// What the next row of the grid needs of memory beyond what this one does, to be fetched while this one is made.
    void look_ahead(int y) {
        ahead_ = {};
        const auto at = static_cast<std::size_t>(y);
        int num_lines = 0;
        for (std::size_t i = 0; i < planes_.size(); ++i) {
            const PlaneSource& plane = planes_[i];
            const Filter& vertical = *plane.vertical;
            if (at + 1 == vertical.first.size()) return;
            const int end = vertical.first[at] + vertical.count[at];
            const int num_rows = std::max(0, vertical.first[at + 1] + vertical.count[at + 1] - end);
            const int row_bytes = plane.columns * plane.parts * plan_.bytes_per_sample;
            ahead_.planes[i] = {plane.data + end * plane.stride_bytes, plane.stride_bytes, num_rows, row_bytes};
            num_lines += num_rows * (row_bytes / kLineBytes + 1);
        }
        ahead_.lines_a_step = std::max(1, (num_lines + num_steps_ / 2) / num_steps_);
    }

    void resample(const PlaneSource& plane, int y) {
        const Filter& vertical = *plane.vertical;
        const auto at = static_cast<std::size_t>(y);
        const VerticalRow row{plane.data + vertical.first[at] * plane.stride_bytes,
                              plane.stride_bytes,
                              vertical.taps(y),
                              vertical.count[at],
                              plane.columns * plane.parts,
                              plan_.bytes_per_sample,
                              plan_.depth,
                              plan_.shift,
                              &ahead_};
        const auto vertically = cpu_.quarters() ? kernels_.quarters : kernels_.vertical;
        if (plane.parts == 1) {
            const auto component = static_cast<std::size_t>(plane.component_of[0]);
            vertically(row, v_[component]);
        } else {
            vertically(row, mixed_);
        }
        if (cpu_.path() == RowPath::shared_chroma) return;  // its kernel goes on from here
        if (plane.parts > 1) split(plane);
        for (std::size_t i = 0; i < static_cast<std::size_t>(plane.parts); ++i) {
            if (plane.component_of[i] < 0) continue;
            const auto component = static_cast<std::size_t>(plane.component_of[i]);
            if (plane.horizontal->identity()) {
                p_[component] = v_[component];
            } else {
                plane.horizontal->run(kernels_, v_[component], scratch_[component], ahead_);
            }
        }
    }

    void split(const PlaneSource& plane) const {
        std::array<std::int16_t*, 3> parts{};
        for (std::size_t i = 0; i < static_cast<std::size_t>(plane.parts); ++i) {
            const int component = plane.component_of[i];
            parts[i] = component >= 0 ? v_[static_cast<std::size_t>(component)] : spare_;
        }
        kernels_.split(mixed_, plane.columns, {parts.data(), static_cast<std::size_t>(plane.parts)});
    }

    void color(int y, const ChannelRows& rows) const {
        const int width = plan_.grid.width;
        if (cpu_.path() == RowPath::shared_chroma) {
            const PlaneSource& luma = planes_[0];
            const PlaneSource& chroma = planes_[1];
            const std::byte* const from =
                luma.data + luma.vertical->first[static_cast<std::size_t>(y)] * luma.stride_bytes;
            const bool mixed = chroma.parts == 2;
            const SharedChromaRow row{from,
                                      plan_.bytes_per_sample,
                                      plan_.depth,
                                      plan_.shift,
                                      {mixed ? mixed_ : v_[1], mixed ? nullptr : v_[2]},
                                      mixed,
                                      chroma.columns};
            return kernels_.shared_chroma(cpu_.bytes(), row, width, rows);
        }
        const ComponentRows p{p_[0], p_[1], p_[2]};
        switch (plan_.dtype) {
            case DType::uint8:
                return kernels_.bytes(cpu_.bytes(), p, width, rows);
            case DType::float16:
                return kernels_.halves(cpu_.floats(), p, width, rows);
            case DType::bfloat16:
                return kernels_.bfloats(cpu_.floats(), p, width, rows);
            default:
                return kernels_.floats(cpu_.floats(), p, width, rows);
        }
    }

    const Kernels& kernels_;
    const CpuPlan& cpu_;
    const Plan& plan_;
    RowStore store_;
    std::vector<PlaneSource> planes_;
    std::vector<std::int16_t> memory_;
    std::int16_t* mixed_ = nullptr;  // V of planes of several components
    std::int16_t* spare_ = nullptr;  // for those of them that nobody needs
    LinesAhead ahead_;
    bool looks_ahead_ = false;  // rows are filtered
    int num_steps_ = 0;         // of the kernels that fetch lines, for a row of the grid
    std::array<std::int16_t*, 3> v_{};
    std::array<std::int16_t*, 3> scratch_{};
    std::array<const std::int16_t*, 3> p_{};
};

}  // namespace

void transform_cpu(const Kernels& kernels, const CpuPlan& plan, const Frame& frame, const TensorView& out, int begin,
                   int end) {
    Run(kernels, plan, frame, out).rows(begin, end);
}

}  // namespace tricodec::image
