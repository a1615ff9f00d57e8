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
/// The lines of one step, and at the end of a row up to as many after it: Note [Lines ahead].
HWY_INLINE void fetch_lines(LinesAhead& ahead) {
    const int count = ahead.lines_a_step;
    const std::byte* at = ahead.at;
    for (int i = 0; i < count; ++i, at += 64) __builtin_prefetch(at, /* to read */ 0, /* second level */ 2);
    ahead.at = at;
    if (at >= ahead.row_end) ahead.next_row();
}

}  // namespace tricodec::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif  // per-target include guard
