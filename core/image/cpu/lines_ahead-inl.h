// SPDX-License-Identifier: Apache-2.0
// Cache lines that will be wanted soon; compiled once for each instruction set.
#if defined(TRICODEC_IMAGE_CPU_LINES_AHEAD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRICODEC_IMAGE_CPU_LINES_AHEAD_INL_H
#undef TRICODEC_IMAGE_CPU_LINES_AHEAD_INL_H
#else
#define TRICODEC_IMAGE_CPU_LINES_AHEAD_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "image/cpu/kernels.h"

#if (HWY_TARGET & TRICODEC_HWY_TARGETS) != 0
HWY_BEFORE_NAMESPACE();
namespace tricodec::image::HWY_NAMESPACE {
/// The lines of one step, and at the end of a row up to as many after it: Note [Lines ahead].
HWY_INLINE void fetch_lines(LinesAhead& ahead) {
    const std::byte* at = ahead.at;
    const std::byte* const end = at + ahead.bytes_a_step;
    // By twos: looking at each line was a sixth of all instructions of 4:2:2 at AVX2's width.
    for (; end - at >= 2 * kLineBytes; at += 2 * kLineBytes) {
        __builtin_prefetch(at, /* to read */ 0, /* second level */ 2);
        __builtin_prefetch(at + kLineBytes, 0, 2);
    }
    if (at != end) {
        __builtin_prefetch(at, 0, 2);
        at = end;
    }
    ahead.at = at;
    if (at >= ahead.row_end) ahead.next_row();
}

}  // namespace tricodec::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif  // per-target include guard
