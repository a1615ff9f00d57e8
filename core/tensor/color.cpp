// SPDX-License-Identifier: Apache-2.0
#include "tricodec/tensor/color.h"

#include <atomic>
#include <span>
#include <string>
#include <utility>

#include "base/suggestion.h"
#include "tricodec/base/error.h"
#include "tricodec/base/log.h"
#include "tricodec/base/text.h"
#include "tricodec/tensor/hdr.h"

namespace tricodec {
namespace {

// The names by the numbers of H.273.
constexpr std::string_view kReserved = "reserved";
constexpr std::string_view kMatrices[] = {"rgb",     "bt709",     "unspecified", kReserved, "fcc",
                                          "bt470bg", "smpte170m", "smpte240m",   "ycgco",   "bt2020nc",
                                          "bt2020c", kReserved,   kReserved,     kReserved, "ictcp"};
constexpr std::string_view kPrimaries[] = {kReserved,   "bt709",     "unspecified", kReserved, "bt470m",   "bt470bg",
                                           "smpte170m", "smpte240m", "film",        "bt2020",  "smpte428", "smpte431",
                                           "smpte432",  kReserved,   kReserved,     kReserved, kReserved,  kReserved,
                                           kReserved,   kReserved,   kReserved,     kReserved, "ebu3213"};
constexpr std::string_view kTransfers[] = {kReserved,   "bt709",        "unspecified", kReserved,      "gamma22",
                                           "gamma28",   "smpte170m",    "smpte240m",   "linear",       "log100",
                                           "log316",    "iec61966-2-4", "bt1361e",     "iec61966-2-1", "bt2020-10",
                                           "bt2020-12", "smpte2084",    "smpte428",    "arib-std-b67"};
constexpr std::string_view kRanges[] = {"unspecified", "limited", "full"};
constexpr std::string_view kLocations[] = {"unspecified", "left", "center", "topleft", "top", "bottomleft", "bottom"};

template <class Enum>
std::string_view word_of(std::span<const std::string_view> words, Enum value) noexcept {
    const auto number = static_cast<std::size_t>(value);
    return number < words.size() ? words[number] : kReserved;
}

template <class Enum>
Enum parse_word(std::string_view what, std::string_view name, std::span<const std::string_view> words) {
    std::string accepted;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == kReserved) continue;
        if (same_word(words[i], name)) return static_cast<Enum>(i);
        accepted += (accepted.empty() ? "\"" : ", \"") + std::string(words[i]) + "\"";
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
    return parse_word<ColorMatrix>("matrix", name, kMatrices);
}

ColorPrimaries parse_color_primaries(std::string_view name) {
    return parse_word<ColorPrimaries>("primaries", name, kPrimaries);
}

ColorTransfer parse_color_transfer(std::string_view name) {
    return parse_word<ColorTransfer>("transfer", name, kTransfers);
}

ColorRange parse_color_range(std::string_view name) {
    // FFmpeg's names.
    if (same_word(name, "tv") || same_word(name, "mpeg")) return ColorRange::limited;
    if (same_word(name, "pc") || same_word(name, "jpeg")) return ColorRange::full;
    return parse_word<ColorRange>("range", name, kRanges);
}

ChromaLocation parse_chroma_location(std::string_view name) {
    return parse_word<ChromaLocation>("chroma_location", name, kLocations);
}

std::optional<LumaWeights> luma_weights(ColorMatrix matrix) noexcept {
    using enum ColorMatrix;
    constexpr std::pair<ColorMatrix, LumaWeights> kWeights[] = {
        {bt709, {0.2126, 0.0722}},   {fcc, {0.30, 0.11}},         {bt470bg, {0.299, 0.114}},
        {smpte170m, {0.299, 0.114}}, {smpte240m, {0.212, 0.087}}, {bt2020_ncl, {0.2627, 0.0593}}};
    for (const auto& [each, weights] : kWeights) {
        if (each == matrix) return weights;
    }
    return std::nullopt;
}

std::string_view to_string(ColorMatrix value) noexcept {
    return word_of(kMatrices, value);
}

std::string_view to_string(ColorPrimaries value) noexcept {
    return word_of(kPrimaries, value);
}

std::string_view to_string(ColorTransfer value) noexcept {
    return word_of(kTransfers, value);
}

std::string_view to_string(ColorRange value) noexcept {
    return word_of(kRanges, value);
}

std::string_view to_string(ChromaLocation value) noexcept {
    return word_of(kLocations, value);
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
