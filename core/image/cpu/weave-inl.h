// SPDX-License-Identifier: Apache-2.0
// The layouts CHW2 and HWC8 of section 6 of docs/reference/transform.md: rows of channels to groups of 2 or 8 elements;
// compiled for each instruction set.
#if defined(TRICODEC_IMAGE_CPU_WEAVE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRICODEC_IMAGE_CPU_WEAVE_INL_H
#undef TRICODEC_IMAGE_CPU_WEAVE_INL_H
#else
#define TRICODEC_IMAGE_CPU_WEAVE_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "image/cpu/kernels.h"

#if (HWY_TARGET & TRICODEC_HWY_TARGETS) != 0
HWY_BEFORE_NAMESPACE();
namespace tricodec::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Value is an unsigned integer of the element's size.
template <typename Value, int kSlots>
HWY_INLINE void weave_row(const WeaveRow& row, int width, std::byte* out) {
    using D = hn::ScalableTag<Value>;
    const D d;
    constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
    constexpr int kBlock = 4 * sizeof(Value);  // bytes of the four slots that may hold something
    const auto load = [&](std::size_t channel, int x) HWY_ATTR {
        if (channel >= static_cast<std::size_t>(row.num_channels)) return hn::Zero(d);
        return hn::LoadU(d, reinterpret_cast<const Value*>(row.channel[channel]) + x);
    };
    int x = 0;
    for (; x + kLanes <= width; x += kLanes) {
        if constexpr (kSlots == 2) {
            hn::StoreInterleaved2(load(0, x), load(1, x), d, reinterpret_cast<Value*>(out) + 2 * x);
        } else {
            alignas(64) std::byte blocks[kLanes * kBlock];
            hn::StoreInterleaved4(load(0, x), load(1, x), load(2, x), hn::Zero(d), d, reinterpret_cast<Value*>(blocks));
            std::byte* to = out + std::ptrdiff_t{x} * 2 * kBlock;
            for (int i = 0; i < kLanes; ++i, to += 2 * kBlock) {
                std::memcpy(to, blocks + i * kBlock, kBlock);
                std::memset(to + kBlock, 0, kBlock);
            }
        }
    }
    for (; x < width; ++x) {
        Value group[kSlots] = {};
        for (std::size_t i = 0; i < std::min<std::size_t>(kSlots, row.channel.size()); ++i) {
            if (static_cast<int>(i) == row.num_channels) break;
            std::memcpy(&group[i], row.channel[i] + x * sizeof(Value), sizeof(Value));
        }
        std::memcpy(out + x * sizeof(group), group, sizeof(group));
    }
}

template <typename Value>
HWY_INLINE void weave_values(const WeaveRow& row, int width, std::byte* out) {
    row.slots == 2 ? weave_row<Value, 2>(row, width, out) : weave_row<Value, 8>(row, width, out);
}

inline void weave(const WeaveRow& row, int width, std::byte* out) {
    switch (row.value_bytes) {
        case 1:
            return weave_values<std::uint8_t>(row, width, out);
        case 2:
            return weave_values<std::uint16_t>(row, width, out);
        default:
            return weave_values<std::uint32_t>(row, width, out);
    }
}

}  // namespace tricodec::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif  // per-target include guard
