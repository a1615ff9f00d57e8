// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/intrinsics.h"

namespace tricodec::image::gpu {

/// Copies a run of bytes from shared to global memory by the 32 lanes of a warp, in 16-byte words of the destination
/// wherever it begins. What stands beside `from` may be read too: the whole aligned words of 4 bytes that it touches.
TRICODEC_KERNEL void copy_run(unsigned char* to, const unsigned char* from, int num_bytes, int lane) {
    int head = static_cast<int>((16U - static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(to))) & 15U);
    if (head > num_bytes) head = num_bytes;
    const int words = (num_bytes - head) / 16;
    if (lane < head) to[lane] = from[lane];
    const int tail = head + words * 16;
    if (tail + lane < num_bytes) to[tail + lane] = from[tail + lane];

    const unsigned char* const source = from + head;
    if (is_aligned(source, 16)) {
        for (int i = lane; i < words; i += 32) store(to + head + 16 * i, load<Words4>(source + 16 * i));
        return;
    }
    const auto apart = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(source)) & 3U;
    const std::uint32_t bits = 8 * apart;
    const unsigned char* const below = source - apart;
    for (int i = lane; i < words; i += 32) {
        const unsigned char* const at = below + 16 * i;
        Words4 word{{load<std::uint32_t>(at), load<std::uint32_t>(at + 4), load<std::uint32_t>(at + 8),
                     load<std::uint32_t>(at + 12)}};
        if (bits != 0) {
            word.w[0] = funnel_shift(word.w[0], word.w[1], bits);
            word.w[1] = funnel_shift(word.w[1], word.w[2], bits);
            word.w[2] = funnel_shift(word.w[2], word.w[3], bits);
            word.w[3] = funnel_shift(word.w[3], load<std::uint32_t>(at + 16), bits);
        }
        store(to + head + 16 * i, word);
    }
}

}  // namespace tricodec::image::gpu
