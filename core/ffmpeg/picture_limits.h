// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "tricodec/base/limits.h"

namespace tricodec {

/// Limits::max_width, max_height and max_pixels at the time of construction. They apply to the size in the headers of a
/// stream and to each decoded picture, because a stream may change its size.
class PictureLimits {
public:
    /// Throws Error(refused) for a picture above them; `what` names it in the message.
    void expect(int width, int height, std::string_view what) const;

    /// For AVCodecContext::max_pixels: a decoder refuses larger pictures before it allocates them. Decoders count whole
    /// blocks, so this is somewhat above the limits; expect() checks the decoded pictures.
    [[nodiscard]] std::int64_t max_coded_pixels() const noexcept;
    /// Throws Error(refused) for pictures coded larger than that.
    void expect_coded(int width, int height) const;
    /// False for a coded picture with more pixels or a longer side than any picture within the limits. Decoders take no
    /// memory for it.
    [[nodiscard]] bool allow_coded(std::int64_t width, std::int64_t height) const noexcept;
    /// True if the error lines of a decoder with lower limits report the refusal of a size that is within these.
    [[nodiscard]] bool allow_refused(std::string_view lines) const;
    /// Throws Error(refused) if the error lines of a decoder report such a refusal.
    void expect_no_refusal(std::string_view lines) const;

private:
    Limits limits_ = limits();
};

}  // namespace tricodec
