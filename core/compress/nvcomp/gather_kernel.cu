// SPDX-License-Identifier: Apache-2.0
// Many copies of different sizes in one launch: chunks to their places in a container, headers out of many containers.
#include "compress/nvcomp/gather_copy.h"

extern "C" __global__ void tricodec_gather(const tricodec::compress::nvcomp::GatherCopy* copies) {
    const auto copy = copies[blockIdx.x];
    const auto* from = reinterpret_cast<const unsigned char*>(copy.from);
    auto* to = reinterpret_cast<unsigned char*>(copy.to);
    unsigned long long done = 0;
    if ((copy.from | copy.to) % 16 == 0) {
        const auto* wide_from = reinterpret_cast<const uint4*>(from);
        auto* wide_to = reinterpret_cast<uint4*>(to);
        for (unsigned long long i = threadIdx.x; i < copy.size / 16; i += blockDim.x) wide_to[i] = wide_from[i];
        done = copy.size / 16 * 16;
    } else if ((copy.from | copy.to) % 8 == 0) {
        const auto* wide_from = reinterpret_cast<const unsigned long long*>(from);
        auto* wide_to = reinterpret_cast<unsigned long long*>(to);
        for (unsigned long long i = threadIdx.x; i < copy.size / 8; i += blockDim.x) wide_to[i] = wide_from[i];
        done = copy.size / 8 * 8;
    }
    for (unsigned long long i = done + threadIdx.x; i < copy.size; i += blockDim.x) to[i] = from[i];
    // Alignment gaps are part of the stream: nothing that was not written may be in them.
    for (unsigned long long i = threadIdx.x; i < copy.zeros; i += blockDim.x) to[copy.size + i] = 0;
}
