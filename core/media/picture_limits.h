// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "tricodec/limits.h"

namespace tricodec {

/// Limits::max_width, max_height and max_pixels as they are when this is made, for pictures of a stream: what its
/// headers say, and what comes out of the decoder, because a stream may change its size.
class PictureLimits {
public:
    /// Throws Error(refused) for a picture past them; `what` it is, for the message.
    void expect(int width, int height, std::string_view what) const;

    /// For AVCodecContext::max_pixels: larger pictures a decoder refuses before it takes memory for them. Decoders go
    /// by whole blocks, so that is somewhat more than the limits; what comes out is for expect().
    [[nodiscard]] std::int64_t max_coded_pixels() const noexcept;
    /// Throws Error(refused) for pictures coded larger than that.
    void expect_coded(int width, int height) const;
    /// Throws Error(refused) if a decoder says in its error lines that it did so.
    void expect_no_refusal(std::string_view lines) const;

private:
    Limits limits_ = limits();
};

}  // namespace tricodec
