// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/intrinsics.h"

namespace tricodec::image::gpu {

// Copies from global to shared memory that a lane starts and does not wait for, from sm_80 on.

/// What the driver makes of a plane for copies of boxes (CUtensorMap).
struct alignas(64) TensorMap {
    unsigned char bytes[128];
};

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

// From sm_90 on one lane may start the copy of a whole box of a plane, whose bytes a barrier in shared memory counts.

/// `count` arrivals are a phase.
__device__ __forceinline__ void init_barrier([[maybe_unused]] unsigned at, [[maybe_unused]] unsigned count) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(count) : "memory");
#endif
}

/// After init_barrier(), before other lanes and copies are let to the barriers.
__device__ __forceinline__ void publish_barriers() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// Arrives; the phase is not over before so many bytes have come.
__device__ __forceinline__ void expect_bytes([[maybe_unused]] unsigned barrier, [[maybe_unused]] unsigned bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
#endif
}

/// Arrives: what was done before has happened when the phase is over.
__device__ __forceinline__ void arrive([[maybe_unused]] unsigned barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
#endif
}

/// Until the phase that is the first, third, .. (0) or the second, fourth, .. (1) is over.
__device__ __forceinline__ void wait_for_phase([[maybe_unused]] unsigned barrier, [[maybe_unused]] unsigned parity) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile(
        "{\n.reg .pred over;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
        "@over bra.uni done;\nbra.uni again;\ndone:\n}" ::"r"(barrier),
        "r"(parity)
        : "memory");
#endif
}

/// The box from column x, row y of frame z on; what is outside of the plane becomes zeros.
__device__ __forceinline__ void start_box([[maybe_unused]] unsigned to, [[maybe_unused]] unsigned barrier,
                                          [[maybe_unused]] const TensorMap& map, [[maybe_unused]] int x,
                                          [[maybe_unused]] int y, [[maybe_unused]] int z) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
        "[%5];" ::"r"(to),
        "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier)
        : "memory");
#endif
}

/// So many bytes, a multiple of 16 as the addresses are.
__device__ __forceinline__ void start_bytes([[maybe_unused]] unsigned to, [[maybe_unused]] unsigned barrier,
                                            [[maybe_unused]] const void* from, [[maybe_unused]] unsigned bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
#endif
}

/// One lane of the warp, which all come to.
__device__ __forceinline__ bool is_elected() {
    unsigned elected = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xFFFFFFFF;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(elected));
#endif
    return elected != 0;
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
