// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/intrinsics.h"

namespace tricodec::image::gpu {

// What the lanes of a warp do together: the same steps in the same order. A kernel is written against `Warp`:
// - each(step) runs step(lane, number) for each of the 32 lanes.
// - multiply<s>(step) takes a Product from each lane and multiplies the matrices; multiply<s, 16> half as many columns.
// - load_turned(step) takes a Turned from each lane and loads four small matrices of shared memory, transposed.
// - swap<n>(step) takes a pointer to a word from each lane and exchanges the word with that of lane number ^ n.
// - first() is any lane, for what is the same in all lanes.
// - uniform(value) informs the compiler that all lanes have this value.
// - shared is the block's shared memory; start_copy() starts to fill it, and returns at once.
//
// A block of warps has
// - each_warp(step), which runs step(warp, number) for each of them, and
// - together(), which waits for all of them, so that each sees what the others have written to shared memory.
//
// On a device a thread is one lane of one warp. On a CPU one thread has all of them and runs them step by step.

/// A lane's part of a product of 16 x 32 and 32 x 8 bytes, as PTX lays out mma.m16n8k32: with g = lane / 4 and
/// t = lane % 4, a[0] has row g, columns 4 t .. 4 t + 3, a[1] the same of row g + 8, a[2] and a[3] the same of columns
/// 16 further; b[0] has rows 4 t .. 4 t + 3 of column g, b[1] those 16 further; sums[0] and sums[1] are row g, columns
/// 2 t and 2 t + 1, sums[2] and sums[3] row g + 8. The sums become `start` and the product. With 16 columns of the
/// first matrix (m16n8k16), the parts "16 further" are left out.
struct Product {
    std::int32_t* sums;
    const std::int32_t* start;
    const std::uint32_t* a;
    std::uint32_t b[2];
};

/// Which of the matrices has signed bytes; those of the other are unsigned.
enum class Signed { a, b };

/// A lane's part of four matrices of 8 rows of 8 two-byte elements, as PTX lays out ldmatrix.x4.trans: the address of
/// row number % 8 of matrix number / 8, and the result: of matrix m, words[m] has column g of rows 2 t and 2 t + 1.
struct Turned {
    int from;  ///< in the warp's shared memory, a multiple of 16
    std::uint32_t* words;
};

#if defined(__CUDACC__)

/// One lane, on the device: compute capability 8.0 and later.
template <class Lane>
struct DeviceWarp {
    Lane lane;
    int number;
    unsigned char* shared;
    unsigned copies;  ///< its address for copies

    __device__ __forceinline__ DeviceWarp(int lane_number, unsigned char* memory)
        : number(lane_number), shared(memory), copies(static_cast<unsigned>(__cvta_generic_to_shared(memory))) {
        copies = __shfl_sync(0xFFFFFFFFU, copies, 0);  // keeps the compiler from computing it for each copy
    }

    __device__ __forceinline__ const Lane& first() const { return lane; }
    __device__ __forceinline__ static int uniform(int value) { return __shfl_sync(0xFFFFFFFFU, value, 0); }

    template <class Step>
    __device__ __forceinline__ void each(const Step& step) {
        step(lane, number);
    }

    template <Signed kSigned, int kColumns = 32, class Step>
    __device__ __forceinline__ void multiply([[maybe_unused]] const Step& step) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        const Product product = step(lane);
        std::int32_t* const d = product.sums;
        const std::int32_t* const c = product.start;
        const std::uint32_t* const a = product.a;
        const std::uint32_t* const b = product.b;
#define TRICODEC_PRODUCT_32(types)                                                                           \
    asm("mma.sync.aligned.m16n8k32.row.col.s32." types                                                       \
        ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "                                                \
        "{%10, %11, %12, %13};"                                                                              \
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                                     \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), \
          "r"(c[3]))
#define TRICODEC_PRODUCT_16(types)                                                                                 \
    asm("mma.sync.aligned.m16n8k16.row.col.s32." types ".s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};" \
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                                           \
        : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]))
        if constexpr (kSigned == Signed::a && kColumns == 32) {
            TRICODEC_PRODUCT_32("s8.u8");
        } else if constexpr (kSigned == Signed::a) {
            TRICODEC_PRODUCT_16("s8.u8");
        } else if constexpr (kColumns == 32) {
            TRICODEC_PRODUCT_32("u8.s8");
        } else {
            TRICODEC_PRODUCT_16("u8.s8");
        }
#undef TRICODEC_PRODUCT_32
#undef TRICODEC_PRODUCT_16
#endif
    }

    template <class Step>
    __device__ __forceinline__ void load_turned([[maybe_unused]] const Step& step) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        const Turned turned = step(lane, number);
        std::uint32_t* const to = turned.words;
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(copies + static_cast<unsigned>(turned.from))
                     : "memory");
#endif
    }

    template <int kWith, class Step>
    __device__ __forceinline__ void swap(const Step& step) {
        std::uint32_t* const word = step(lane);
        *word = __shfl_xor_sync(0xFFFFFFFFU, *word, kWith);
    }

    /// Sixteen bytes, both addresses multiples of 16.
    __device__ __forceinline__ void start_copy([[maybe_unused]] int to, [[maybe_unused]] const unsigned char* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(copies + static_cast<unsigned>(to)),
                     "l"(from)
                     : "memory");
#endif
    }

    /// The first `num_bytes` of them, and zeros.
    __device__ __forceinline__ void start_copy([[maybe_unused]] int to, [[maybe_unused]] const unsigned char* from,
                                               [[maybe_unused]] int num_bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(copies + static_cast<unsigned>(to)),
                     "l"(from), "r"(num_bytes)
                     : "memory");
#endif
    }
};

/// One warp of a block, on the device.
template <class Lane>
struct DeviceBlock {
    DeviceWarp<Lane> warp;
    int number;  ///< of the warp

    __device__ __forceinline__ DeviceBlock(int thread, unsigned char* memory)
        : warp(thread % 32, memory), number(DeviceWarp<Lane>::uniform(thread / 32)) {}

    template <class Step>
    __device__ __forceinline__ void each_warp(const Step& step) {
        step(warp, number);
    }

    __device__ __forceinline__ void together() { __syncthreads(); }
};

#endif

/// All copies that a lane has started since it last ended a group are the next group.
TRICODEC_KERNEL void end_copy_group() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until at most the latest `kGroups` groups are still on their way.
template <int kGroups>
TRICODEC_KERNEL void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
#endif
}

}  // namespace tricodec::image::gpu
