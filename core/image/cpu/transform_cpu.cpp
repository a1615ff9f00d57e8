// SPDX-License-Identifier: Apache-2.0
#include "image/cpu/transform_cpu.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include "image/cpu/row_filter.h"
#include "image/target.h"

namespace tricodec::image {
namespace {

static_assert(std::endian::native == std::endian::little, "samples of more than 8 bits are stored little-endian");

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

ByteColor byte_color(const ColorPlan& color) {
    ByteColor result;
    result.num_channels = color.num_channels;
    for (std::size_t channel = 0; channel < 3; ++channel) {
        result.bias[channel] = 1 << 18;
        for (std::size_t i = 0; i < 3; ++i) {
            result.coefs[channel][i] = static_cast<std::int16_t>(color.fixed[channel][i]);
            result.bias[channel] -= color.fixed[channel][i] * color.offset[i];
        }
    }
    return result;
}

FloatColor float_color(const ColorPlan& color) {
    return {color.num_channels, color.offset, color.factor, color.bias, color.low, color.high};
}

/// Components that no channel looks at are not resampled: a zero factor's term may be left out (5.3).
bool is_needed(const Plan& plan, std::size_t component) {
    for (std::size_t channel = 0; channel < static_cast<std::size_t>(plan.color.num_channels); ++channel) {
        const bool zero = plan.dtype == DType::uint8 ? plan.color.fixed[channel][component] == 0
                                                     : plan.color.factor[channel][component] == 0.0F;
        if (!zero) return true;
    }
    return false;
}

/// Everything that one call needs; rows are made anew for each row of the grid.
class Run {
public:
    Run(const Kernels& kernels, const Plan& plan, const Frame& frame, const TensorView& out)
        : kernels_(kernels),
          plan_(plan),
          target_(target_of(plan, out)),
          bytes_(byte_color(plan.color)),
          floats_(float_color(plan.color)) {
        value_bytes_ = static_cast<int>(size_of(plan.dtype));
        stores_ = stores();
        luma_.emplace(plan.filters[0]);
        if (plan.filters.size() > 2) chroma_.emplace(plan.filters[2]);
        add_planes(frame);
        shared_chroma_ = is_shared_chroma();
        reserve();
    }

    void row(int y) {
        for (const PlaneSource& plane : planes_) {
            if (!shared_chroma_ || plane.number != 0) resample(plane, y);
        }
        std::byte* const to = target_.data + y * target_.step_y;
        const int width = plan_.grid.width;
        const int channels = plan_.color.num_channels;
        if (stores_ == Stores::packed) return color(y, {{to, nullptr, nullptr}, true});
        ChannelRows rows;
        for (std::size_t i = 0; i < static_cast<std::size_t>(channels); ++i) {
            rows.channel[i] = stores_ == Stores::planar
                                  ? to + target_.slot_offset[i]
                                  : scattered_.data() + i * static_cast<std::size_t>(width * value_bytes_);
        }
        color(y, rows);
        if (stores_ == Stores::groups) return weave(rows, to);
        if (stores_ == Stores::scattered) scatter(rows, to);
    }

private:
    /// How the elements of a row stand in the output.
    enum class Stores : std::uint8_t {
        packed,     ///< three channels side by side, and nothing between columns
        planar,     ///< the columns of each channel side by side
        groups,     ///< CHW2 and HWC8 without gaps
        scattered,  ///< anything else: mirrored, turned, strided
    };

    [[nodiscard]] Stores stores() const {
        const int group = plan_.layout == Layout::chw2   ? 2
                          : plan_.layout == Layout::hwc8 ? kMaxSlots
                                                         : plan_.color.num_channels;
        bool side_by_side = target_.step_x == group * value_bytes_;
        for (int i = 0; i < target_.num_slots; ++i) {
            const std::ptrdiff_t from = target_.slot_offset[static_cast<std::size_t>(i / group * group)];
            side_by_side =
                side_by_side && target_.slot_offset[static_cast<std::size_t>(i)] == from + i % group * value_bytes_;
        }
        if (plan_.layout == Layout::chw2 || plan_.layout == Layout::hwc8) {
            return side_by_side ? Stores::groups : Stores::scattered;
        }
        if (target_.step_x == value_bytes_) return Stores::planar;
        return side_by_side && plan_.color.num_channels == 3 ? Stores::packed : Stores::scattered;
    }

    void add_planes(const Frame& frame) {
        const auto bytes = plan_.bytes_per_sample;
        for (std::size_t i = 0; i < static_cast<std::size_t>(plan_.num_components); ++i) {
            if (!is_needed(plan_, i)) continue;
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
                                  component.horizontal == 0 ? &*luma_ : &*chroma_};
                found = planes_.insert(planes_.end(), plane);
            }
            found->component_of[static_cast<std::size_t>(component.layout.offset_bytes / bytes)] = static_cast<int>(i);
        }
    }

    void reserve() {
        int samples = 0;
        int columns = 0;
        int taps = 0;
        for (const PlaneSource& plane : planes_) {
            samples = std::max(samples, plane.columns * plane.parts);
            columns = std::max(columns, plane.columns);
            taps = std::max(taps, plan_.filters[0].max_taps);
            if (plan_.filters.size() > 2) taps = std::max(taps, plan_.filters[2].max_taps);
        }
        // The dot products read whole chunks of taps, beyond the last column of V by less than taps + 8.
        const auto rounded = [](int count) { return static_cast<std::size_t>((count + 31) / 32 * 32); };
        const std::size_t row = rounded(std::max(columns, plan_.grid.width) + taps + kRowPadding);
        const std::size_t mixed = rounded(samples + taps + kRowPadding);
        memory_.assign(mixed + 7 * row, 0);
        mixed_ = memory_.data();
        spare_ = mixed_ + mixed + 6 * row;
        for (std::size_t i = 0; i < 3; ++i) {
            v_[i] = mixed_ + mixed + i * row;
            scratch_[i] = v_[i] + 3 * row;
            p_[i] = scratch_[i];
            if (i >= static_cast<std::size_t>(plan_.num_components)) std::fill_n(scratch_[i], row, kNeutral);
        }
        if (stores_ == Stores::groups || stores_ == Stores::scattered) {
            scattered_.resize(static_cast<std::size_t>(plan_.grid.width * value_bytes_ * plan_.color.num_channels));
        }
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
                              plan_.shift};
        if (plane.parts == 1) {
            const auto component = static_cast<std::size_t>(plane.component_of[0]);
            kernels_.vertical(row, v_[component]);
        } else {
            kernels_.vertical(row, mixed_);
            std::array<std::int16_t*, 3> parts{};
            for (std::size_t i = 0; i < static_cast<std::size_t>(plane.parts); ++i) {
                const int component = plane.component_of[i];
                parts[i] = component >= 0 ? v_[static_cast<std::size_t>(component)] : spare_;
            }
            kernels_.split(mixed_, plane.columns, {parts.data(), static_cast<std::size_t>(plane.parts)});
        }
        for (std::size_t i = 0; i < static_cast<std::size_t>(plane.parts); ++i) {
            if (plane.component_of[i] < 0) continue;
            const auto component = static_cast<std::size_t>(plane.component_of[i]);
            if (shared_chroma_) continue;
            if (plane.horizontal->identity()) {
                p_[component] = v_[component];
            } else {
                plane.horizontal->run(kernels_, v_[component], scratch_[component]);
            }
        }
    }

    /// 4:2:0 and 4:2:2 of 8 bits to RGB bytes where no luma sample is resampled: the case of every full-size picture.
    [[nodiscard]] bool is_shared_chroma() const {
        return plan_.dtype == DType::uint8 && plan_.color.num_channels == 3 && plan_.bytes_per_sample == 1 &&
               planes_.size() >= 2 && planes_[0].parts == 1 && plan_.num_components == 3 && is_needed(plan_, 0) &&
               is_needed(plan_, 1) && is_needed(plan_, 2) && luma_->identity() && plan_.filters[1].max_taps == 1 &&
               chroma_ && chroma_->doubles_from_left();
    }

    void color(int y, const ChannelRows& rows) const {
        const int width = plan_.grid.width;
        if (shared_chroma_) {
            const PlaneSource& luma = planes_[0];
            const std::byte* const from =
                luma.data + luma.vertical->first[static_cast<std::size_t>(y)] * luma.stride_bytes;
            return kernels_.shared_chroma(bytes_, {from, {v_[1], v_[2]}, planes_[1].columns}, width, rows);
        }
        const ComponentRows p{p_[0], p_[1], p_[2]};
        switch (plan_.dtype) {
            case DType::uint8:
                return kernels_.bytes(bytes_, p, width, rows);
            case DType::float16:
                return kernels_.halves(floats_, p, width, rows);
            case DType::bfloat16:
                return kernels_.bfloats(floats_, p, width, rows);
            default:
                return kernels_.floats(floats_, p, width, rows);
        }
    }

    template <typename Value>
    void scatter_as(const ChannelRows& rows, std::byte* to) const {
        for (std::size_t i = 0; i < static_cast<std::size_t>(plan_.color.num_channels); ++i) {
            std::byte* at = to + target_.slot_offset[i];
            const std::byte* from = rows.channel[i];
            for (int x = 0; x < plan_.grid.width; ++x, at += target_.step_x, from += sizeof(Value)) {
                std::memcpy(at, from, sizeof(Value));
            }
        }
        for (int i = plan_.color.num_channels; i < target_.num_slots; ++i) {
            std::byte* at = to + target_.slot_offset[static_cast<std::size_t>(i)];
            for (int x = 0; x < plan_.grid.width; ++x, at += target_.step_x) std::memset(at, 0, sizeof(Value));
        }
    }

    void weave(const ChannelRows& rows, std::byte* to) const {
        const int slots = plan_.layout == Layout::chw2 ? 2 : kMaxSlots;
        const int channels = plan_.color.num_channels;
        for (int first = 0; first < target_.num_slots; first += slots) {
            WeaveRow row{{}, std::min(slots, channels - first), slots, value_bytes_};
            for (int i = 0; i < row.num_channels; ++i) {
                row.channel[static_cast<std::size_t>(i)] = rows.channel[static_cast<std::size_t>(first + i)];
            }
            kernels_.weave(row, plan_.grid.width, to + target_.slot_offset[static_cast<std::size_t>(first)]);
        }
    }

    void scatter(const ChannelRows& rows, std::byte* to) const {
        if (value_bytes_ == 1) return scatter_as<std::uint8_t>(rows, to);
        value_bytes_ == 2 ? scatter_as<std::uint16_t>(rows, to) : scatter_as<std::uint32_t>(rows, to);
    }

    const Kernels& kernels_;
    const Plan& plan_;
    Target target_;
    ByteColor bytes_;
    FloatColor floats_;
    int value_bytes_ = 1;
    Stores stores_ = Stores::scattered;
    bool shared_chroma_ = false;
    std::optional<RowFilter> luma_;
    std::optional<RowFilter> chroma_;
    std::vector<PlaneSource> planes_;
    std::vector<std::int16_t> memory_;
    std::int16_t* mixed_ = nullptr;  // V of planes of several components
    std::int16_t* spare_ = nullptr;  // for those of them that nobody needs
    std::array<std::int16_t*, 3> v_{};
    std::array<std::int16_t*, 3> scratch_{};
    std::array<const std::int16_t*, 3> p_{};
    std::vector<std::byte> scattered_;
};

}  // namespace

void transform_cpu(const Kernels& kernels, const Plan& plan, const Frame& frame, const TensorView& out) {
    Run run(kernels, plan, frame, out);
    for (int y = 0; y < plan.grid.height; ++y) run.row(y);
}

}  // namespace tricodec::image
