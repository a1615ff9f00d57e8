// SPDX-License-Identifier: Apache-2.0
#include "image/filter.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tricodec/base/error.h"

// docs/reference/transform.md section 3, step by step. Doubles see only + - * / and floor, in the order written there,
// so that every machine computes the same coefficients; the build forbids contraction to fused multiply-adds.

namespace tricodec::image {
namespace {

struct Range {
    int low = 0;   // first sample of the crop in this plane
    int high = 0;  // last one
};

Range crop_samples(const AxisGeometry& axis) {
    const int end = axis.crop_start + axis.crop_size;
    return {axis.crop_start >> axis.log2_subsampling, -((-end) >> axis.log2_subsampling) - 1};
}

double triangle(double t) {
    return t < 1.0 ? 1.0 - t : 0.0;
}

double keys(double t) {  // Keys' cubic convolution with a = -1/2
    if (t < 1.0) return ((1.5 * t - 2.5) * t) * t + 1.0;
    if (t < 2.0) return ((-0.5 * t + 2.5) * t - 4.0) * t + 2.0;
    return 0.0;
}

/// Room for the taps of one output, which the next output uses again: an axis of a large picture has thousands.
struct Scratch {
    std::vector<double> weights;
    std::vector<int> coefs;
};

/// The taps of one output; the coefficients stand in its scratch.
struct Taps {
    int first = 0;
    std::span<const int> coefs;
};

/// Of scratch.weights, which begin with sample `first`.
Taps quantise(int first, Scratch& scratch) {
    const auto& weights = scratch.weights;
    double sum = 0.0;
    for (const double weight : weights) sum += weight;

    auto& coefs = scratch.coefs;
    coefs.resize(weights.size());
    int total = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        coefs[i] = static_cast<int>(std::floor(weights[i] / sum * kCoefOne + 0.5));
        total += coefs[i];
    }
    *std::max_element(coefs.begin(), coefs.end()) += kCoefOne - total;  // max_element: the first of equals

    const auto not_zero = [](int coef) { return coef != 0; };
    const auto begin = std::find_if(coefs.begin(), coefs.end(), not_zero);
    const auto end = std::find_if(coefs.rbegin(), coefs.rend(), not_zero).base();
    const int magnitude =
        std::accumulate(begin, end, 0, [](int running, int coef) { return running + std::abs(coef); });
    TRICODEC_EXPECT(magnitude <= kMaxAbsCoefSum, unsupported,
                    "resize: " + std::to_string(weights.size()) +
                        " samples cannot be reduced to one in 14-bit coefficients; resize in two steps");
    return {first + static_cast<int>(begin - coefs.begin()), {begin, end}};
}

/// The luma sample in which the output's centre lies, in integers: doubles would decide by chance where the centre lies
/// between two samples.
Taps nearest_taps(const AxisGeometry& axis, int output, Scratch& scratch) {
    const std::int64_t doubled = (2 * std::int64_t{output} + 1) * axis.crop_size;
    const int luma = axis.crop_start + static_cast<int>(doubled / (2 * std::int64_t{axis.num_outputs}));
    scratch.coefs.assign(1, kCoefOne);
    return {luma >> axis.log2_subsampling, scratch.coefs};
}

Taps filter_taps(const AxisGeometry& axis, const Range& range, Resize resize, bool antialias, int output,
                 Scratch& scratch) {
    const double subsampling = static_cast<double>(1 << axis.log2_subsampling);
    const double scale = static_cast<double>(axis.crop_size) / static_cast<double>(axis.num_outputs);
    const double luma = (output + 0.5) * scale - 0.5 + axis.crop_start;
    const double center = (luma - axis.first_sample) / subsampling;
    const double widening = antialias ? std::max(1.0, scale / subsampling) : 1.0;
    const double reach = (resize == Resize::bicubic ? 2.0 : 1.0) * widening;

    const int low = static_cast<int>(std::floor(center - reach));
    const int high = static_cast<int>(std::floor(center + reach)) + 1;
    const int first = std::clamp(low, range.low, range.high);
    const int last = std::clamp(high, range.low, range.high);
    auto& weights = scratch.weights;
    weights.assign(static_cast<std::size_t>(last - first + 1), 0.0);
    for (int i = low; i <= high; ++i) {
        const double t = std::abs(i - center) / widening;
        const double weight = resize == Resize::bicubic ? keys(t) : triangle(t);
        weights[static_cast<std::size_t>(std::clamp(i, first, last) - first)] += weight;
    }
    return quantise(first, scratch);
}

bool is_identity(const Filter& filter) {
    if (filter.max_taps != 1) return false;
    for (int i = 0; i < filter.num_outputs; ++i) {
        if (filter.first[static_cast<std::size_t>(i)] != filter.first[0] + i) return false;
    }
    return true;
}

/// An axis with outputs that lie on its samples one by one: what filter_taps() gives there, whatever the kernel.
bool copies_samples(const AxisGeometry& axis) {
    return axis.crop_size == axis.num_outputs && axis.log2_subsampling == 0 && axis.first_sample == 0.0;
}

Filter copying_filter(const AxisGeometry& axis) {
    Filter filter;
    filter.num_outputs = axis.num_outputs;
    filter.max_taps = 1;
    filter.begin = axis.crop_start;
    filter.end = axis.crop_start + axis.crop_size;
    filter.identity = true;
    const auto size = static_cast<std::size_t>(axis.num_outputs);
    filter.first.resize(size);
    std::iota(filter.first.begin(), filter.first.end(), axis.crop_start);
    filter.count.assign(size, 1);
    filter.coefs.assign(size, static_cast<std::int16_t>(kCoefOne));
    return filter;
}

/// The taps of an axis as they come, output by output.
class PackedTaps {
public:
    explicit PackedTaps(int num_outputs) {
        filter_.num_outputs = num_outputs;
        filter_.begin = std::numeric_limits<int>::max();
        filter_.first.reserve(static_cast<std::size_t>(num_outputs));
        filter_.count.reserve(static_cast<std::size_t>(num_outputs));
        packed_.reserve(2 * static_cast<std::size_t>(num_outputs));
    }

    void add(const Taps& taps) {
        const int count = static_cast<int>(taps.coefs.size());
        filter_.max_taps = std::max(filter_.max_taps, count);
        filter_.begin = std::min(filter_.begin, taps.first);
        filter_.end = std::max(filter_.end, taps.first + count);
        filter_.first.push_back(taps.first);
        filter_.count.push_back(count);
        for (const int coef : taps.coefs) packed_.push_back(static_cast<std::int16_t>(coef));
    }

    [[nodiscard]] Filter filter() && {
        filter_.coefs.assign(filter_.count.size() * static_cast<std::size_t>(filter_.max_taps), 0);
        auto from = packed_.cbegin();
        auto to = filter_.coefs.begin();
        for (const int count : filter_.count) {
            std::copy_n(from, count, to);
            from += count;
            to += filter_.max_taps;
        }
        filter_.identity = is_identity(filter_);
        return std::move(filter_);
    }

private:
    Filter filter_;
    std::vector<std::int16_t> packed_;  // taps of one output behind those of the other
};

}  // namespace

Filter make_filter(const AxisGeometry& axis, Resize resize, bool antialias) {
    if (copies_samples(axis)) return copying_filter(axis);
    const Range range = crop_samples(axis);
    PackedTaps packed(axis.num_outputs);
    Scratch scratch;
    for (int i = 0; i < axis.num_outputs; ++i) {
        packed.add(resize == Resize::nearest ? nearest_taps(axis, i, scratch)
                                             : filter_taps(axis, range, resize, antialias, i, scratch));
    }
    return std::move(packed).filter();
}

Filter of_repeated_samples(const Filter& filter, int log2_subsampling) {
    if (log2_subsampling == 0) return filter;
    PackedTaps packed(filter.num_outputs);
    std::vector<int> coefs;
    for (int i = 0; i < filter.num_outputs; ++i) {
        const int first = filter.first[static_cast<std::size_t>(i)];
        const int count = filter.count[static_cast<std::size_t>(i)];
        const int begin = first >> log2_subsampling;
        coefs.assign(static_cast<std::size_t>(((first + count - 1) >> log2_subsampling) - begin + 1), 0);
        for (int k = 0; k < count; ++k) {
            coefs[static_cast<std::size_t>(((first + k) >> log2_subsampling) - begin)] += filter.taps(i)[k];
        }
        packed.add({begin, coefs});
    }
    return std::move(packed).filter();
}

}  // namespace tricodec::image
