// SPDX-License-Identifier: Apache-2.0
// Many copies of different sizes in one launch: chunks to their places in a container, headers out of many containers.
#include "compress/nvcomp/gather_copy.h"

namespace {

constexpr unsigned kAtOnce = 4;  // loads of a thread at once: a single one would wait for memory each time

/// Copies the whole words of `size` bytes. Returns their bytes.
template <class Word>
__device__ unsigned long long copy_words(const unsigned char* from, unsigned char* to, unsigned long long size) {
    const auto* __restrict__ source = reinterpret_cast<const Word*>(from);
    auto* __restrict__ target = reinterpret_cast<Word*>(to);
    const unsigned long long count = size / sizeof(Word);
    const unsigned long long step = blockDim.x;
    unsigned long long i = threadIdx.x;
    for (; i + (kAtOnce - 1) * step < count; i += kAtOnce * step) {
        Word words[kAtOnce];
#pragma unroll
        for (unsigned k = 0; k < kAtOnce; ++k) words[k] = source[i + k * step];
#pragma unroll
        for (unsigned k = 0; k < kAtOnce; ++k) target[i + k * step] = words[k];
    }
    for (; i < count; i += step) target[i] = source[i];
    return count * sizeof(Word);
}

}  // namespace

extern "C" __global__ void tricodec_gather(const tricodec::compress::nvcomp::GatherCopy* copies) {
    const auto copy = copies[blockIdx.x];
    const auto* from = reinterpret_cast<const unsigned char*>(copy.from);
    auto* to = reinterpret_cast<unsigned char*>(copy.to);
    unsigned long long done = 0;
    if ((copy.from | copy.to) % 16 == 0) {
        done = copy_words<uint4>(from, to, copy.size);
    } else if ((copy.from | copy.to) % 8 == 0) {
        done = copy_words<unsigned long long>(from, to, copy.size);
    }
    for (unsigned long long i = done + threadIdx.x; i < copy.size; i += blockDim.x) to[i] = from[i];
    // Alignment gaps are part of the stream, so they are zeros.
    for (unsigned long long i = threadIdx.x; i < copy.zeros; i += blockDim.x) to[copy.size + i] = 0;
}
