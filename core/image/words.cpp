// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/suggestion.h"
#include "tricodec/base/error.h"
#include "tricodec/base/text.h"
#include "tricodec/image/transform.h"

namespace tricodec {
namespace {

template <typename Value, std::size_t kCount>
Value parse_word(std::string_view option, std::string_view word,
                 const std::array<std::pair<std::string_view, Value>, kCount>& words) {
    for (const auto& [name, value] : words) {
        if (same_word(word, name)) return value;
    }
    const auto accepted = listed(words, [](const auto& each) { return "\"" + std::string(each.first) + "\""; });
    fail(ErrorCode::invalid_argument, std::string(option) + " \"" + std::string(word) + "\" is not one of " + accepted +
                                          did_you_mean(word, accepted));
}

/// The word of other packages that people say for one of ours, or `name`.
std::string_view meant(std::string_view name,
                       std::initializer_list<std::pair<std::string_view, std::string_view>> spellings) {
    for (const auto& [spelling, word] : spellings) {
        if (same_word(name, spelling)) return word;
    }
    return name;
}

}  // namespace

Resize parse_resize(std::string_view name) {
    name = meant(name, {{"linear", "bilinear"}, {"cubic", "bicubic"}});
    return parse_word<Resize, 3>(
        "resize", name, {{{"nearest", Resize::nearest}, {"bilinear", Resize::bilinear}, {"bicubic", Resize::bicubic}}});
}

OutputColor parse_output_color(std::string_view name) {
    name = meant(name, {{"grey", "gray"},
                        {"grayscale", "gray"},
                        {"greyscale", "gray"},
                        {"gray8", "gray"},
                        {"rgb24", "rgb"},
                        {"bgr24", "bgr"},
                        {"ycbcr", "yuv"}});
    return parse_word<OutputColor, 5>("color", name,
                                      {{{"rgb", OutputColor::rgb},
                                        {"bgr", OutputColor::bgr},
                                        {"gray", OutputColor::gray},
                                        {"yuv", OutputColor::yuv},
                                        {"rgba", OutputColor::rgba}}});
}

Layout parse_layout(std::string_view name) {
    // Batches and sequences add an axis in front, which does not change where a frame's samples stand.
    const bool is_sequence = name.size() > 3 && (name.front() == 'T' || name.front() == 't');
    if (is_sequence) name.remove_prefix(1);
    return parse_word<Layout, 13>("layout", name,
                                  {{{"HWC", Layout::hwc},
                                    {"CHW", Layout::chw},
                                    {"CHW2", Layout::chw2},
                                    {"HWC8", Layout::hwc8},
                                    {"NHWC", Layout::hwc},
                                    {"NCHW", Layout::chw},
                                    {"NCHW2", Layout::chw2},
                                    {"N(C/2)HW2", Layout::chw2},
                                    {"NHWC8", Layout::hwc8},
                                    {"FHWC", Layout::hwc},
                                    {"FCHW", Layout::chw},
                                    {"FCHW2", Layout::chw2},
                                    {"FHWC8", Layout::hwc8}}});
}

std::string_view to_string(Layout layout) noexcept {
    switch (layout) {
        case Layout::hwc:
            return "HWC";
        case Layout::chw:
            return "CHW";
        case Layout::chw2:
            return "CHW2";
        case Layout::hwc8:
            return "HWC8";
    }
    return "?";
}

UnspecifiedMatrix parse_unspecified_matrix(std::string_view name) {
    return parse_word<UnspecifiedMatrix, 3>("unspecified", name,
                                            {{{"bt601", UnspecifiedMatrix::bt601},
                                              {"bt709", UnspecifiedMatrix::bt709},
                                              {"by_height", UnspecifiedMatrix::by_height}}});
}

ChromaUpsampling parse_chroma_upsampling(std::string_view name) {
    return parse_word<ChromaUpsampling, 2>(
        "chroma", name, {{{"interpolated", ChromaUpsampling::interpolated}, {"nearest", ChromaUpsampling::nearest}}});
}

}  // namespace tricodec
