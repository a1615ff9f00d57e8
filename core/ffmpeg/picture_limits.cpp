// SPDX-License-Identifier: Apache-2.0
#include "ffmpeg/picture_limits.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <regex>
#include <string>
#include <utility>

#include "tricodec/base/error.h"
#include "tricodec/base/text.h"

namespace tricodec {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
/// How much larger a coded side may be than shown: blocks of 64, and libavcodec rounds up to 64 again.
constexpr std::int64_t kCodedMore = 127;

std::int64_t bounded_sum(std::int64_t a, std::int64_t b) noexcept {
    std::int64_t result = 0;
    return __builtin_add_overflow(a, b, &result) ? kMost : result;
}

std::int64_t bounded_product(std::int64_t a, std::int64_t b) noexcept {
    std::int64_t result = 0;
    return __builtin_mul_overflow(a, b, &result) ? kMost : result;
}

std::string past(const Limits& limits) {
    return ", past limits.max_width, max_height or max_pixels (" + std::to_string(limits.max_width) + ", " +
           std::to_string(limits.max_height) + ", " + std::to_string(limits.max_pixels) +
           "); raise them with set_limits() if the source may be so large";
}

/// Width and height in a line that reports a refusal.
std::optional<std::pair<std::int64_t, std::int64_t>> refused_size(std::string_view lines) {
    if (lines.find(" exceeds ") == std::string_view::npos) return std::nullopt;
    // libavutil: "Picture size 640x480 exceeds specified max pixel count"; dav1d: "Frame size 640x480 exceeds limit".
    static const std::regex words("size ([0-9]{1,18})x([0-9]{1,18}) exceeds");
    std::match_results<std::string_view::const_iterator> found;
    if (!std::regex_search(lines.begin(), lines.end(), found, words)) return std::nullopt;
    return std::pair{std::stoll(found[1].str()), std::stoll(found[2].str())};
}

}  // namespace

void PictureLimits::expect(int width, int height, std::string_view what) const {
    TRICODEC_EXPECT(width <= limits_.max_width && height <= limits_.max_height &&
                        std::int64_t{width} * height <= limits_.max_pixels,
                    refused, std::string(what) + " is " + size_text(width, height) + past(limits_));
}

std::int64_t PictureLimits::max_coded_pixels() const noexcept {
    const auto by_sides =
        bounded_product(bounded_sum(limits_.max_width, kCodedMore), bounded_sum(limits_.max_height, kCodedMore));
    const auto sides = bounded_sum(bounded_sum(limits_.max_width, limits_.max_height), kCodedMore);
    return std::min(by_sides, bounded_sum(limits_.max_pixels, bounded_product(kCodedMore, sides)));
}

void PictureLimits::expect_coded(int width, int height) const {
    TRICODEC_EXPECT(allow_coded(width, height), refused,
                    "a picture of the stream is coded as " + size_text(width, height) + past(limits_));
}

bool PictureLimits::allow_coded(std::int64_t width, std::int64_t height) const noexcept {
    return bounded_product(width, height) <= max_coded_pixels() &&
           width <= bounded_sum(limits_.max_width, kCodedMore) && height <= bounded_sum(limits_.max_height, kCodedMore);
}

bool PictureLimits::allow_refused(std::string_view lines) const {
    const auto size = refused_size(lines);
    return size && allow_coded(size->first, size->second);
}

void PictureLimits::expect_no_refusal(std::string_view lines) const {
    const auto size = refused_size(lines);
    if (!size) return;
    fail(ErrorCode::refused, "a picture of the stream is " + size_text(size->first, size->second) + past(limits_));
}

}  // namespace tricodec
