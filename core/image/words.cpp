// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "tricodec/error.h"
#include "tricodec/transform.h"

namespace tricodec {
namespace {

template <typename Value, std::size_t kCount>
Value parse_word(std::string_view option, std::string_view word,
                 const std::array<std::pair<std::string_view, Value>, kCount>& words) {
    std::string accepted;
    for (const auto& [name, value] : words) {
        if (word == name) return value;
        accepted += (accepted.empty() ? "\"" : ", \"") + std::string(name) + "\"";
    }
    fail(ErrorCode::invalid_argument, std::string(option) + " \"" + std::string(word) + "\" is not one of " + accepted);
}

}  // namespace

Resize parse_resize(std::string_view name) {
    return parse_word<Resize, 3>(
        "resize", name, {{{"nearest", Resize::nearest}, {"bilinear", Resize::bilinear}, {"bicubic", Resize::bicubic}}});
}

OutputColor parse_output_color(std::string_view name) {
    return parse_word<OutputColor, 4>("color", name,
                                      {{{"rgb", OutputColor::rgb},
                                        {"bgr", OutputColor::bgr},
                                        {"gray", OutputColor::gray},
                                        {"yuv", OutputColor::yuv}}});
}

Layout parse_layout(std::string_view name) {
    // Batches and sequences add an axis in front, which does not change where a frame's samples stand.
    return parse_word<Layout, 6>("layout", name,
                                 {{{"HWC", Layout::hwc},
                                   {"CHW", Layout::chw},
                                   {"NHWC", Layout::hwc},
                                   {"NCHW", Layout::chw},
                                   {"FHWC", Layout::hwc},
                                   {"FCHW", Layout::chw}}});
}

UnspecifiedMatrix parse_unspecified_matrix(std::string_view name) {
    return parse_word<UnspecifiedMatrix, 3>("unspecified", name,
                                            {{{"bt601", UnspecifiedMatrix::bt601},
                                              {"bt709", UnspecifiedMatrix::bt709},
                                              {"by_height", UnspecifiedMatrix::by_height}}});
}

}  // namespace tricodec
