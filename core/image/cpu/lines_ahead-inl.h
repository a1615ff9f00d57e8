// SPDX-License-Identifier: Apache-2.0
// Cache lines that will be wanted soon; compiled once for each instruction set.
#if defined(TRICODEC_IMAGE_CPU_LINES_AHEAD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRICODEC_IMAGE_CPU_LINES_AHEAD_INL_H
#undef TRICODEC_IMAGE_CPU_LINES_AHEAD_INL_H
#else
#define TRICODEC_IMAGE_CPU_LINES_AHEAD_INL_H
#endif

#include <hwy/highway.h>

#include "image/cpu/kernels.h"

#if (HWY_TARGET & TRICODEC_HWY_TARGETS) != 0
HWY_BEFORE_NAMESPACE();
namespace tricodec::image::HWY_NAMESPACE {
/// The lines of one step, into the cache of the second level: what several rows need does not fit the first beside V,
/// and comes from the second while other columns are made (1080p to 224, AVX-512: 0.29 ms; into the first 0.37 ms).
HWY_INLINE void fetch_lines(LinesAhead& ahead) {
    for (int i = 0; i < ahead.lines_a_step; ++i) {
        while (ahead.at >= ahead.row_end) {
            if (ahead.plane == ahead.planes.size()) return;
            LinesAhead::Rows& rows = ahead.planes[ahead.plane];
            if (rows.num_rows-- <= 0) {
                ++ahead.plane;
                continue;
            }
            ahead.at = rows.data;
            ahead.row_end = rows.data + rows.row_bytes;
            rows.data += rows.stride_bytes;
        }
        __builtin_prefetch(ahead.at, /* to read */ 0, /* second level */ 2);
        ahead.at += 64;
    }
}
}  // namespace tricodec::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif  // per-target include guard
