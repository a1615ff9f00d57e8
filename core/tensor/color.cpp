// SPDX-License-Identifier: Apache-2.0
#include "tricodec/tensor/color.h"

#include <atomic>
#include <string>

#include "base/suggestion.h"
#include "tricodec/base/error.h"
#include "tricodec/base/log.h"
#include "tricodec/base/text.h"
#include "tricodec/tensor/hdr.h"

namespace tricodec {
namespace {

/// The value of 0..`last` that is called `name`. Numbers that H.273 leaves out are called "reserved".
template <class Enum>
Enum parse_word(std::string_view what, std::string_view name, Enum last) {
    std::string accepted;
    for (int i = 0; i <= static_cast<int>(last); ++i) {
        const auto value = static_cast<Enum>(i);
        const std::string_view word = to_string(value);
        if (word == "reserved") continue;
        if (same_word(word, name)) return value;
        accepted += (accepted.empty() ? "\"" : ", \"") + std::string(word) + "\"";
    }
    fail(ErrorCode::invalid_argument,
         std::string(what) + " \"" + std::string(name) + "\" is not one of " + accepted + did_you_mean(name, accepted));
}

}  // namespace

ColorMatrix parse_color_matrix(std::string_view name) {
    // The names people say for the two that H.273 lists under others.
    if (same_word(name, "bt601") || same_word(name, "rec601")) return ColorMatrix::smpte170m;
    if (same_word(name, "bt2020") || same_word(name, "rec2020")) return ColorMatrix::bt2020_ncl;
    if (same_word(name, "rec709")) return ColorMatrix::bt709;
    return parse_word("matrix", name, ColorMatrix::ictcp);
}

ColorPrimaries parse_color_primaries(std::string_view name) {
    return parse_word("primaries", name, ColorPrimaries::ebu3213);
}

ColorTransfer parse_color_transfer(std::string_view name) {
    return parse_word("transfer", name, ColorTransfer::arib_std_b67);
}

ColorRange parse_color_range(std::string_view name) {
    // FFmpeg's names.
    if (same_word(name, "tv") || same_word(name, "mpeg")) return ColorRange::limited;
    if (same_word(name, "pc") || same_word(name, "jpeg")) return ColorRange::full;
    return parse_word("range", name, ColorRange::full);
}

ChromaLocation parse_chroma_location(std::string_view name) {
    return parse_word("chroma_location", name, ChromaLocation::bottom);
}

std::optional<LumaWeights> luma_weights(ColorMatrix matrix) noexcept {
    switch (matrix) {
        case ColorMatrix::bt709:
            return LumaWeights{0.2126, 0.0722};
        case ColorMatrix::fcc:
            return LumaWeights{0.30, 0.11};
        case ColorMatrix::bt470bg:
        case ColorMatrix::smpte170m:
            return LumaWeights{0.299, 0.114};
        case ColorMatrix::smpte240m:
            return LumaWeights{0.212, 0.087};
        case ColorMatrix::bt2020_ncl:
            return LumaWeights{0.2627, 0.0593};
        default:
            return std::nullopt;
    }
}

std::string_view to_string(ColorMatrix value) noexcept {
    switch (value) {
        case ColorMatrix::rgb:
            return "rgb";
        case ColorMatrix::bt709:
            return "bt709";
        case ColorMatrix::unspecified:
            return "unspecified";
        case ColorMatrix::fcc:
            return "fcc";
        case ColorMatrix::bt470bg:
            return "bt470bg";
        case ColorMatrix::smpte170m:
            return "smpte170m";
        case ColorMatrix::smpte240m:
            return "smpte240m";
        case ColorMatrix::ycgco:
            return "ycgco";
        case ColorMatrix::bt2020_ncl:
            return "bt2020nc";
        case ColorMatrix::bt2020_cl:
            return "bt2020c";
        case ColorMatrix::ictcp:
            return "ictcp";
    }
    return "reserved";
}

std::string_view to_string(ColorPrimaries value) noexcept {
    switch (value) {
        case ColorPrimaries::bt709:
            return "bt709";
        case ColorPrimaries::unspecified:
            return "unspecified";
        case ColorPrimaries::bt470m:
            return "bt470m";
        case ColorPrimaries::bt470bg:
            return "bt470bg";
        case ColorPrimaries::smpte170m:
            return "smpte170m";
        case ColorPrimaries::smpte240m:
            return "smpte240m";
        case ColorPrimaries::film:
            return "film";
        case ColorPrimaries::bt2020:
            return "bt2020";
        case ColorPrimaries::smpte428:
            return "smpte428";
        case ColorPrimaries::smpte431:
            return "smpte431";
        case ColorPrimaries::smpte432:
            return "smpte432";
        case ColorPrimaries::ebu3213:
            return "ebu3213";
    }
    return "reserved";
}

std::string_view to_string(ColorTransfer value) noexcept {
    switch (value) {
        case ColorTransfer::bt709:
            return "bt709";
        case ColorTransfer::unspecified:
            return "unspecified";
        case ColorTransfer::gamma22:
            return "gamma22";
        case ColorTransfer::gamma28:
            return "gamma28";
        case ColorTransfer::smpte170m:
            return "smpte170m";
        case ColorTransfer::smpte240m:
            return "smpte240m";
        case ColorTransfer::linear:
            return "linear";
        case ColorTransfer::log100:
            return "log100";
        case ColorTransfer::log316:
            return "log316";
        case ColorTransfer::iec61966_2_4:
            return "iec61966-2-4";
        case ColorTransfer::bt1361e:
            return "bt1361e";
        case ColorTransfer::iec61966_2_1:
            return "iec61966-2-1";
        case ColorTransfer::bt2020_10:
            return "bt2020-10";
        case ColorTransfer::bt2020_12:
            return "bt2020-12";
        case ColorTransfer::smpte2084:
            return "smpte2084";
        case ColorTransfer::smpte428:
            return "smpte428";
        case ColorTransfer::arib_std_b67:
            return "arib-std-b67";
    }
    return "reserved";
}

std::string_view to_string(ColorRange value) noexcept {
    switch (value) {
        case ColorRange::unspecified:
            return "unspecified";
        case ColorRange::limited:
            return "limited";
        case ColorRange::full:
            return "full";
    }
    return "unspecified";
}

std::string_view to_string(ChromaLocation value) noexcept {
    switch (value) {
        case ChromaLocation::unspecified:
            return "unspecified";
        case ChromaLocation::left:
            return "left";
        case ChromaLocation::center:
            return "center";
        case ChromaLocation::topleft:
            return "topleft";
        case ChromaLocation::top:
            return "top";
        case ChromaLocation::bottomleft:
            return "bottomleft";
        case ChromaLocation::bottom:
            return "bottom";
    }
    return "unspecified";
}

void warn_of_hdr(const ColorDescription& color) {
    static std::atomic<bool> told{false};
    if (!is_hdr(color.transfer) || told.exchange(true)) return;
    const std::string kind = color.transfer == ColorTransfer::smpte2084 ? "PQ" : "HLG";
    log(LogLevel::warning,
        "HDR video (" + kind + ", " + std::string(to_string(color.transfer)) +
            ") becomes 8 bits without tone mapping, so pictures look washed out; map its tones with a filter of "
            "tricodec.io.StreamReader.add_video_stream, for example "
            "filter_desc=\"zscale=t=linear:npl=100,format=gbrpf32le,"
            "zscale=p=bt709,tonemap=hable:desat=0,zscale=t=bt709:m=bt709:r=tv,format=yuv420p\", or keep more bits "
            "(dtype=\"float32\")");
}

}  // namespace tricodec
