// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image/cuda/async_copy.h"
#include "image/cuda/intrinsics.h"

namespace tricodec::image::gpu {

// What the lanes of a warp do together, as band_kernel.h has it: the same steps in the same order. A kernel is written
// against `Warp`, which has
//   each(step)         runs step(lane, number) for each of the 32 lanes;
//   multiply<s>(step)  takes a Product from each lane and multiplies the matrices; multiply<s, 16> half as many
//   columns; load_turned(step)  takes a Turned from each lane and loads four small matrices of shared memory,
//   transposed; swap<n>(step)  takes the place of a word from each lane and puts there that of lane number ^ n;
//   first()            is any lane, for what all lanes have alike; uniform(value)     tells the compiler that all
//   lanes have this value; shared             is the block's shared memory, and start_copy() fills it while others
//   go on.
// With box copies (band_boxes.h) also, on one lane, in the block's shared memory:
//   once(step)         runs step() for one of the lanes;
//   init_barrier(), publish_barriers(), expect_bytes(), arrive(), start_bytes(), start_box()  as async_copy.h has them;
// and for all lanes wait_for_phase().
// A block of warps has
//   each_warp(step)    runs step(warp, number) for each of them;
//   together()         waits for all of them, so that each sees what the others have written to shared memory.
// On a device a thread is one lane of one warp and knows no other; a CPU has all of them and goes through them step by
// step.

/// A lane's part of a product of 16 x 32 and 32 x 8 bytes, as PTX lays out mma.m16n8k32: with g = lane / 4 and
/// t = lane % 4, a[0] has row g, columns 4 t .. 4 t + 3, a[1] the same of row g + 8, a[2] and a[3] the same of columns
/// 16 further; b[0] has rows 4 t .. 4 t + 3 of column g, b[1] those 16 further; sums[0] and sums[1] are row g, columns
/// 2 t and 2 t + 1, sums[2] and sums[3] row g + 8. The sums become `start` and the product. With 16 columns of the
/// first matrix (m16n8k16), what is "16 further" is left out.
struct Product {
    std::int32_t* sums;
    const std::int32_t* start;
    const std::uint32_t* a;
    std::uint32_t b[2];
};

/// Which of the matrices has signed bytes; the other's are unsigned.
enum class Signed { a, b };

/// A lane's part of four matrices of 8 rows of 8 two-byte elements, as PTX lays out ldmatrix.x4.trans: the address of
/// row number % 8 of matrix number / 8, and what it gets: of matrix m, words[m] has column g of rows 2 t and 2 t + 1.
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
        copies = __shfl_sync(0xFFFFFFFFU, copies, 0);  // so that it is kept, not computed anew for each copy
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

    /// Sixteen bytes, both addresses multiples of 16, or the first ones of them and zeros.
    __device__ __forceinline__ void start_copy(int to, const unsigned char* from) {
        gpu::start_copy(copies + static_cast<unsigned>(to), from);
    }
    __device__ __forceinline__ void start_copy(int to, const unsigned char* from, int num_bytes) {
        gpu::start_copy(copies + static_cast<unsigned>(to), from, num_bytes);
    }

    template <class Step>
    __device__ __forceinline__ void once(const Step& step) {
        __syncwarp();
        if (is_elected()) step();
        __syncwarp();
    }
    __device__ __forceinline__ void init_barrier(int at, unsigned count) {
        gpu::init_barrier(copies + static_cast<unsigned>(at), count);
    }
    __device__ __forceinline__ void publish_barriers() { gpu::publish_barriers(); }
    __device__ __forceinline__ void expect_bytes(int barrier, int bytes) {
        gpu::expect_bytes(copies + static_cast<unsigned>(barrier), static_cast<unsigned>(bytes));
    }
    __device__ __forceinline__ void arrive(int barrier) { gpu::arrive(copies + static_cast<unsigned>(barrier)); }
    __device__ __forceinline__ void wait_for_phase(int barrier, unsigned parity) {
        gpu::wait_for_phase(copies + static_cast<unsigned>(barrier), parity);
    }
    __device__ __forceinline__ void start_bytes(int to, int barrier, const void* from, int bytes) {
        gpu::start_bytes(copies + static_cast<unsigned>(to), copies + static_cast<unsigned>(barrier), from,
                         static_cast<unsigned>(bytes));
    }
    __device__ __forceinline__ void start_box(int to, int barrier, const TensorMap& map, int x, int y, int z) {
        gpu::start_box(copies + static_cast<unsigned>(to), copies + static_cast<unsigned>(barrier), map, x, y, z);
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

}  // namespace tricodec::image::gpu
