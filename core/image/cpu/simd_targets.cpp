// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "image/cpu/kernels.h"

// The targets that are worth the size of their code; the baseline is compiled by Highway's rules but has no kernels
// here.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/cpu/simd_targets.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "image/half.h"

#if defined(HWY_NEON_WITHOUT_AES)
#define TRICODEC_HWY_TARGETS (HWY_SSE4 | HWY_AVX2 | HWY_AVX3 | HWY_NEON | HWY_NEON_WITHOUT_AES)
#else
#define TRICODEC_HWY_TARGETS (HWY_SSE4 | HWY_AVX2 | HWY_AVX3 | HWY_NEON)
#endif

#include "image/cpu/color-inl.h"
#include "image/cpu/dot-inl.h"
#include "image/cpu/resample-inl.h"
#include "image/cpu/rgb-inl.h"
#include "image/cpu/shared_chroma-inl.h"

#if HWY_ONCE
namespace tricodec::image {
namespace {

/// One line a compiled target; the namespaces are Highway's.
#define TRICODEC_KERNELS(FEATURE, TARGET)                                                                        \
    Kernels {                                                                                                    \
        FEATURE, #TARGET, HWY_##TARGET, N_##TARGET::vertical, N_##TARGET::split, N_##TARGET::kRowsAtOnce,        \
            N_##TARGET::interleave, N_##TARGET::dot, N_##TARGET::double_up, N_##TARGET::color_row<std::uint8_t>, \
            N_##TARGET::shared_chroma, N_##TARGET::color_row<float>, N_##TARGET::color_row<Half>,                \
            N_##TARGET::color_row<Bfloat>, N_##TARGET::rgb_to_yuv                                                \
    }

std::vector<Kernels> find_kernels() {
    std::vector<Kernels> found;
    [[maybe_unused]] const auto add = [&found, supported = hwy::SupportedTargets()](const Kernels& kernels) {
        if ((supported & kernels.target) != 0) found.push_back(kernels);
    };
#if (HWY_TARGETS & HWY_AVX3) != 0
    add(TRICODEC_KERNELS("avx512", AVX3));
#endif
#if (HWY_TARGETS & HWY_AVX2) != 0
    add(TRICODEC_KERNELS("avx2", AVX2));
#endif
#if (HWY_TARGETS & HWY_SSE4) != 0
    add(TRICODEC_KERNELS("sse4", SSE4));
#endif
#if (HWY_TARGETS & HWY_NEON) != 0
    add(TRICODEC_KERNELS("neon", NEON));
#endif
#if defined(HWY_NEON_WITHOUT_AES) && (HWY_TARGETS & HWY_NEON_WITHOUT_AES) != 0
    add(TRICODEC_KERNELS("neon", NEON_WITHOUT_AES));
#endif
    return found;
}

}  // namespace

std::span<const Kernels> supported_kernels() {
    static const std::vector<Kernels> kernels = find_kernels();
    return kernels;
}

}  // namespace tricodec::image
#endif  // HWY_ONCE
