// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/intrinsics.h"

namespace tricodec::image::gpu {

// Copies from global to shared memory that a lane starts and does not wait for, from sm_80 on.

#if defined(__CUDACC__)

/// Sixteen bytes, both addresses multiples of 16; `to` is shared memory's own.
__device__ __forceinline__ void start_copy([[maybe_unused]] unsigned to, [[maybe_unused]] const unsigned char* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
#endif
}

/// The first ones of them, and zeros.
__device__ __forceinline__ void start_copy([[maybe_unused]] unsigned to, [[maybe_unused]] const unsigned char* from,
                                           [[maybe_unused]] int num_bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(num_bytes)
                 : "memory");
#endif
}

#endif

// All copies that a lane has started since it last ended a group are the next group.

TRICODEC_KERNEL void end_copy_group() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Until at most `kGroups` groups, the latest ones, are on their way.
template <int kGroups>
TRICODEC_KERNEL void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
#endif
}

}  // namespace tricodec::image::gpu
