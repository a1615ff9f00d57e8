// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tricodec/tensor/frame.h"

namespace tricodec {

/// Interlaced pictures to as many progressive ones, by libavfilter's bwdif. It looks at the picture before and the one
/// after, so each comes out when the next is pushed. Thread safety: one thread at a time.
class Deinterlacer {
public:
    /// Throws Error(unsupported) where libavfilter is missing.
    Deinterlacer();
    ~Deinterlacer();

    /// The pictures that are ready, in host memory. Pictures may change their size and format.
    [[nodiscard]] std::vector<Frame> push(const Frame& frame);
    /// The rest; push() may continue with another stream.
    [[nodiscard]] std::vector<Frame> flush();

private:
    struct Filter;
    std::unique_ptr<Filter> filter_;
};

}  // namespace tricodec
