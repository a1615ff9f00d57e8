// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/intrinsics.h"
#include "image/cuda/shifted_words.h"

namespace tricodec::image::gpu {

/// Copies a run of bytes from shared to global memory by the 32 lanes of a warp, in 16-byte words of the destination
/// wherever it begins. What stands beside `from` may be read too: the whole aligned words of 16 bytes that it touches.
TRICODEC_KERNEL void copy_run(unsigned char* to, const unsigned char* from, int num_bytes, int lane) {
    int head = static_cast<int>((16U - static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(to))) & 15U);
    if (head > num_bytes) head = num_bytes;
    const int words = (num_bytes - head) / 16;
    const int tail = head + words * 16;
    if (lane < head) to[lane] = from[lane];
    if (tail + lane < num_bytes) to[tail + lane] = from[tail + lane];
    for (int i = lane; i < words; i += 32) store(to + head + 16 * i, load_shifted_16(from + head + 16 * i));
}

}  // namespace tricodec::image::gpu
