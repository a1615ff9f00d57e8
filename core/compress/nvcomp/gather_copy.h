// SPDX-License-Identifier: Apache-2.0
/// The argument of the gather kernel.
#pragma once

namespace tricodec::compress::nvcomp {

/// One copy in device memory, and the number of zeros after it.
struct GatherCopy {
    unsigned long long from;
    unsigned long long to;
    unsigned long long size;
    unsigned long long zeros;
};

}  // namespace tricodec::compress::nvcomp
