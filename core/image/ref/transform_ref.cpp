// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "image/half.h"
#include "image/plan.h"
#include "image/target.h"
#include "tricodec/base/error.h"

namespace tricodec::image {
namespace {

/// One row of one component on the output grid, 14-bit (docs/reference/transform.md 4.3).
using Row = std::vector<std::int16_t>;
using Rows = std::array<Row, 3>;

constexpr std::int16_t kNeutral = 8192;  // replaces the components that a gray source lacks

/// The samples of one component that a row of V is made from.
struct ComponentSource {
    const std::byte* data = nullptr;  // of sample (0, 0)
    std::ptrdiff_t stride_bytes = 0;
    int depth = 8;
    int shift = 0;
};

/// Writes V for the columns that the horizontal filter reads. kStep: distance of samples, in samples.
template <typename Sample, int kStep>
void vertical_pass(const ComponentSource& source, const Filter& vertical, int y, int begin, int end,
                   std::vector<std::int32_t>& sums, Row& v) {
    const auto width = static_cast<std::size_t>(end - begin);
    const auto output = static_cast<std::size_t>(y);
    const std::byte* column = source.data + static_cast<std::ptrdiff_t>(begin) * kStep * sizeof(Sample);
    const std::byte* row = column + vertical.first[output] * source.stride_bytes;
    const int shift = source.shift;
    const int depth = source.depth;

    std::fill_n(sums.begin(), width, 1 << (depth - 1));
    for (int k = 0; k < vertical.count[output]; ++k, row += source.stride_bytes) {
        const std::int32_t coef = vertical.taps(y)[k];
        for (std::size_t x = 0; x < width; ++x) {
            sums[x] += (load<Sample>(row + x * kStep * sizeof(Sample)) >> shift) * coef;
        }
    }
    for (std::size_t x = 0; x < width; ++x) v[x] = static_cast<std::int16_t>(sums[x] >> depth);
}

using VerticalPass = void (*)(const ComponentSource&, const Filter&, int, int, int, std::vector<std::int32_t>&, Row&);

VerticalPass vertical_pass_for(int bytes_per_sample, int step_bytes) {
    const int step = step_bytes / bytes_per_sample;
    TRICODEC_INVARIANT(step >= 1 && step <= 3 && bytes_per_sample <= 2);
    constexpr VerticalPass kBytes[] = {vertical_pass<std::uint8_t, 1>, vertical_pass<std::uint8_t, 2>,
                                       vertical_pass<std::uint8_t, 3>};
    constexpr VerticalPass kWords[] = {vertical_pass<std::uint16_t, 1>, vertical_pass<std::uint16_t, 2>,
                                       vertical_pass<std::uint16_t, 3>};
    return bytes_per_sample == 1 ? kBytes[step - 1] : kWords[step - 1];
}

/// Writes P for every output of a row. v[0] is column filter.begin.
void horizontal_pass(const Filter& filter, const Row& v, Row& p) {
    if (filter.identity) {
        std::copy_n(v.begin(), filter.num_outputs, p.begin());
        return;
    }
    for (int x = 0; x < filter.num_outputs; ++x) {
        const auto output = static_cast<std::size_t>(x);
        const std::int16_t* taps = filter.taps(x);
        const std::int16_t* from = v.data() + (filter.first[output] - filter.begin);
        std::int32_t sum = 1 << (kCoefBits - 1);
        for (int k = 0; k < filter.count[output]; ++k) sum += std::int32_t{from[k]} * taps[k];
        p[output] = static_cast<std::int16_t>(sum >> kCoefBits);
    }
}

void color_row(const ColorPlan& color, std::size_t channel, const Rows& p, std::vector<std::uint8_t>& out) {
    const auto [c0, c1, c2] = color.fixed[channel];
    const auto [o0, o1, o2] = color.offset;
    for (std::size_t x = 0; x < out.size(); ++x) {
        const std::int32_t sum = c0 * (p[0][x] - o0) + c1 * (p[1][x] - o1) + c2 * (p[2][x] - o2) + (1 << 18);
        out[x] = static_cast<std::uint8_t>(std::clamp(sum >> 19, 0, 255));
    }
}

void color_row(const ColorPlan& color, std::size_t channel, const Rows& p, std::vector<float>& out) {
    const auto [k0, k1, k2] = color.factor[channel];
    const auto [o0, o1, o2] = color.offset;
    const float bias = color.bias[channel];
    const float low = color.low[channel];
    const float high = color.high[channel];
    for (std::size_t x = 0; x < out.size(); ++x) {
        const auto a = static_cast<float>(p[0][x] - o0);
        const auto b = static_cast<float>(p[1][x] - o1);
        const auto c = static_cast<float>(p[2][x] - o2);
        out[x] = std::clamp(((a * k0 + b * k1) + c * k2) + bias, low, high);
    }
}

template <typename Value>
void store_row(const std::vector<Value>& row, std::byte* out, std::ptrdiff_t step) {
    for (const Value value : row) {
        std::memcpy(out, &value, sizeof(value));
        out += step;
    }
}

template <std::uint16_t (*kConvert)(float)>
void store_row_as(const std::vector<float>& row, std::byte* out, std::ptrdiff_t step) {
    for (const float value : row) {
        const std::uint16_t word = kConvert(value);
        std::memcpy(out, &word, sizeof(word));
        out += step;
    }
}

void store_floats(DType dtype, const std::vector<float>& row, std::byte* out, std::ptrdiff_t step) {
    switch (dtype) {
        case DType::float16:
            return store_row_as<float_to_half>(row, out, step);
        case DType::bfloat16:
            return store_row_as<float_to_bfloat16>(row, out, step);
        default:
            return store_row(row, out, step);
    }
}

}  // namespace

void transform_ref(const Plan& plan, const Frame& frame, const TensorView& out, int begin, int end) {
    const auto width = static_cast<std::size_t>(plan.grid.width);
    const auto components = static_cast<std::size_t>(plan.num_components);
    const Target target = target_of(plan, out);

    std::array<ComponentSource, 3> sources;
    std::array<VerticalPass, 3> passes{};
    int most_columns = 0;
    for (std::size_t i = 0; i < components; ++i) {
        const ComponentLayout& layout = plan.components[i].layout;
        const Plane& plane = frame.planes[layout.plane];
        sources[i] = {plane.data + layout.offset_bytes, plane.stride_bytes, plan.depth, plan.shift};
        passes[i] = vertical_pass_for(plan.bytes_per_sample, layout.step_bytes);
        const Filter& horizontal = plan.filters[static_cast<std::size_t>(plan.components[i].horizontal)];
        most_columns = std::max(most_columns, horizontal.end - horizontal.begin);
    }

    std::vector<std::int32_t> sums(static_cast<std::size_t>(most_columns));
    Row v(static_cast<std::size_t>(most_columns));
    Rows p;
    p.fill(Row(width, kNeutral));
    std::vector<std::uint8_t> bytes(plan.dtype == DType::uint8 ? width : 0);
    std::vector<float> floats(plan.dtype == DType::uint8 ? 0 : width);

    for (int y = begin; y < end; ++y) {
        for (std::size_t i = 0; i < components; ++i) {
            const Filter& horizontal = plan.filters[static_cast<std::size_t>(plan.components[i].horizontal)];
            const Filter& vertical = plan.filters[static_cast<std::size_t>(plan.components[i].vertical)];
            passes[i](sources[i], vertical, y, horizontal.begin, horizontal.end, sums, v);
            horizontal_pass(horizontal, v, p[i]);
        }
        for (int channel = 0; channel < plan.color.num_channels; ++channel) {
            const auto number = static_cast<std::size_t>(channel);
            std::byte* row = target.data + y * target.step_y + target.slot_offset[number];
            if (plan.dtype == DType::uint8) {
                color_row(plan.color, number, p, bytes);
                store_row(bytes, row, target.step_x);
            } else {
                color_row(plan.color, number, p, floats);
                store_floats(plan.dtype, floats, row, target.step_x);
            }
        }
        for (auto slot = static_cast<std::size_t>(plan.color.num_channels);
             slot < static_cast<std::size_t>(target.num_slots); ++slot) {
            std::byte* at = target.data + y * target.step_y + target.slot_offset[slot];
            for (std::size_t x = 0; x < width; ++x, at += target.step_x) std::memset(at, 0, size_of(plan.dtype));
        }
    }
}

}  // namespace tricodec::image
