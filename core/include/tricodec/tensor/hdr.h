// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tricodec/tensor/color.h"

namespace tricodec {

/// True for PQ and HLG, of which 8 bits hold a washed-out picture.
[[nodiscard]] constexpr bool is_hdr(ColorTransfer transfer) noexcept {
    return transfer == ColorTransfer::smpte2084 || transfer == ColorTransfer::arib_std_b67;
}

/// To be called where samples of this color become 8 bits: for PQ and HLG the log has a warning, once in a process.
void warn_of_hdr(const ColorDescription& color);

}  // namespace tricodec
