// SPDX-License-Identifier: Apache-2.0
#include "image/filter.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>

#include "tricodec/error.h"

// docs/transform.md section 3, step by step. Doubles see only + - * / and floor, in the order written there, so that
// every machine computes the same coefficients; the build forbids contraction to fused multiply-adds.

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

/// The taps of one output before they are packed into Filter.
struct Taps {
    int first = 0;
    std::vector<std::int16_t> coefs;
};

Taps quantise(int first, const std::vector<double>& weights) {
    double sum = 0.0;
    for (const double weight : weights) sum += weight;

    std::vector<int> coefs(weights.size());
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
    Taps taps;
    taps.first = first + static_cast<int>(begin - coefs.begin());
    taps.coefs.assign(begin, end);
    return taps;
}

/// The luma sample in which the output's centre lies, in integers: doubles would decide by chance where the centre lies
/// between two samples.
Taps nearest_taps(const AxisGeometry& axis, int output) {
    const std::int64_t doubled = (2 * std::int64_t{output} + 1) * axis.crop_size;
    const int luma = axis.crop_start + static_cast<int>(doubled / (2 * std::int64_t{axis.num_outputs}));
    return {luma >> axis.log2_subsampling, {static_cast<std::int16_t>(kCoefOne)}};
}

Taps filter_taps(const AxisGeometry& axis, const Range& range, Resize resize, bool antialias, int output) {
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
    std::vector<double> weights(static_cast<std::size_t>(last - first + 1), 0.0);
    for (int i = low; i <= high; ++i) {
        const double t = std::abs(i - center) / widening;
        const double weight = resize == Resize::bicubic ? keys(t) : triangle(t);
        weights[static_cast<std::size_t>(std::clamp(i, first, last) - first)] += weight;
    }
    return quantise(first, weights);
}

bool is_identity(const Filter& filter) {
    if (filter.max_taps != 1) return false;
    for (int i = 0; i < filter.num_outputs; ++i) {
        if (filter.first[static_cast<std::size_t>(i)] != filter.first[0] + i) return false;
    }
    return true;
}

}  // namespace

Filter make_filter(const AxisGeometry& axis, Resize resize, bool antialias) {
    const Range range = crop_samples(axis);
    std::vector<Taps> outputs;
    outputs.reserve(static_cast<std::size_t>(axis.num_outputs));
    for (int i = 0; i < axis.num_outputs; ++i) {
        outputs.push_back(resize == Resize::nearest ? nearest_taps(axis, i)
                                                    : filter_taps(axis, range, resize, antialias, i));
    }

    Filter filter;
    filter.num_outputs = axis.num_outputs;
    filter.begin = range.high;
    for (const Taps& taps : outputs) {
        const int count = static_cast<int>(taps.coefs.size());
        filter.max_taps = std::max(filter.max_taps, count);
        filter.begin = std::min(filter.begin, taps.first);
        filter.end = std::max(filter.end, taps.first + count);
        filter.first.push_back(taps.first);
        filter.count.push_back(count);
    }
    const auto stride = static_cast<std::size_t>(filter.max_taps);
    filter.coefs.assign(outputs.size() * stride, 0);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        std::copy(outputs[i].coefs.begin(), outputs[i].coefs.end(),
                  filter.coefs.begin() + static_cast<std::ptrdiff_t>(i * stride));
    }
    filter.identity = is_identity(filter);
    return filter;
}

}  // namespace tricodec::image
