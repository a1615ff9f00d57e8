// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "image/cpu/rgb_kernels.h"

#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/cpu/rgb_simd_targets.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#if defined(HWY_NEON_WITHOUT_AES)
#define TRICODEC_HWY_TARGETS (HWY_SSE4 | HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL | HWY_NEON | HWY_NEON_WITHOUT_AES)
#else
#define TRICODEC_HWY_TARGETS (HWY_SSE4 | HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL | HWY_NEON)
#endif

#include "image/cpu/rgb-inl.h"

#if HWY_ONCE
namespace tricodec::image {
namespace {

#define TRICODEC_RGB_KERNELS(TARGET)                                                                               \
    RgbKernels {                                                                                                   \
        HWY_##TARGET, N_##TARGET::split_pixels, N_##TARGET::luma_row, N_##TARGET::down_row, N_##TARGET::chroma_row \
    }

std::vector<RgbKernels> find_kernels() {
    std::vector<RgbKernels> found;
    [[maybe_unused]] const auto add = [&found, supported = hwy::SupportedTargets()](const RgbKernels& kernels) {
        if ((supported & kernels.target) != 0) found.push_back(kernels);
    };
#if (HWY_TARGETS & HWY_AVX3_DL) != 0
    add(TRICODEC_RGB_KERNELS(AVX3_DL));
#endif
#if (HWY_TARGETS & HWY_AVX3) != 0
    add(TRICODEC_RGB_KERNELS(AVX3));
#endif
#if (HWY_TARGETS & HWY_AVX2) != 0
    add(TRICODEC_RGB_KERNELS(AVX2));
#endif
#if (HWY_TARGETS & HWY_SSE4) != 0
    add(TRICODEC_RGB_KERNELS(SSE4));
#endif
#if (HWY_TARGETS & HWY_NEON) != 0
    add(TRICODEC_RGB_KERNELS(NEON));
#endif
#if defined(HWY_NEON_WITHOUT_AES) && (HWY_TARGETS & HWY_NEON_WITHOUT_AES) != 0
    add(TRICODEC_RGB_KERNELS(NEON_WITHOUT_AES));
#endif
    return found;
}

}  // namespace

std::span<const RgbKernels> supported_rgb_kernels() {
    static const std::vector<RgbKernels> kernels = find_kernels();
    return kernels;
}

}  // namespace tricodec::image
#endif  // HWY_ONCE
