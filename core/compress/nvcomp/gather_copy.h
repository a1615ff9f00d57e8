// SPDX-License-Identifier: Apache-2.0
/// What the gather kernel and its callers share.
#pragma once

namespace tricodec::compress::nvcomp {

/// One copy in device memory, and the zeros to be written behind it.
struct GatherCopy {
    unsigned long long from;
    unsigned long long to;
    unsigned long long size;
    unsigned long long zeros;
};

}  // namespace tricodec::compress::nvcomp
