// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/intrinsics.h"
#include "image/cuda/kernel_args.h"

namespace tricodec::image::gpu {

/// docs/reference/transform.md 5.3, from P minus the offsets.
TRICODEC_KERNEL float make_float(const ColorArgs& color, int channel, float a, float b, float c) {
    const float ab = add(multiply(a, color.factor[channel][0]), multiply(b, color.factor[channel][1]));
    const float sum = add(ab, multiply(c, color.factor[channel][2]));
    return clamp(add(sum, color.bias[channel]), color.low[channel], color.high[channel]);
}

/// docs/reference/transform.md 5.2: the channels of one grid point, not yet clamped to a byte.
TRICODEC_KERNEL void make_integers(const ColorArgs& color, const std::int32_t (&p)[3], std::int32_t (&sums)[3]) {
    TRICODEC_UNROLL
    for (int i = 0; i < 3; ++i) {
        sums[i] =
            (color.fixed[i][0] * p[0] + color.fixed[i][1] * p[1] + color.fixed[i][2] * p[2] + color.fixed_bias[i]) >>
            19;
    }
}

/// The channels of one grid point as they are stored: an element's bits each.
template <Element kElement>
TRICODEC_KERNEL void make_elements(const ColorArgs& color, const std::int32_t (&p)[3], std::uint32_t (&elements)[3]) {
    if constexpr (kElement == Element::uint8) {
        std::int32_t sums[3];
        make_integers(color, p, sums);
        const std::uint32_t bytes = pack_bytes(sums[0], sums[1], sums[2], 0);
        TRICODEC_UNROLL
        for (int i = 0; i < 3; ++i) elements[i] = bytes >> (8 * i) & 0xFFU;
    } else {
        float centered[3];
        TRICODEC_UNROLL
        for (int i = 0; i < 3; ++i) centered[i] = static_cast<float>(p[i]) - color.offset[i];
        TRICODEC_UNROLL
        for (int i = 0; i < 3; ++i) {
            const float value = make_float(color, i, centered[0], centered[1], centered[2]);
            elements[i] = kElement == Element::float32   ? bits_of_float(value)
                          : kElement == Element::float16 ? half_pair(value, 0.0F)
                                                         : bfloat_pair(value, 0.0F);
        }
    }
}

/// One element; `aligned` if the address is a multiple of its size.
template <int kBytes>
TRICODEC_KERNEL void store_element(unsigned char* to, std::uint32_t bits, bool aligned) {
    if constexpr (kBytes == 1) {
        to[0] = static_cast<unsigned char>(bits);
    } else if (!aligned) {
        for (int i = 0; i < kBytes; ++i) to[i] = static_cast<unsigned char>(bits >> (8 * i));
    } else if constexpr (kBytes == 2) {
        store(to, static_cast<std::uint16_t>(bits));
    } else {
        store(to, bits);
    }
}

/// The channels' bits, zero for padding.
TRICODEC_KERNEL std::uint32_t element_bits(const std::uint32_t (&elements)[3], int num_channels, int number) {
    if (number >= num_channels) return 0;
    return number == 0 ? elements[0] : number == 1 ? elements[1] : elements[2];
}

}  // namespace tricodec::image::gpu
