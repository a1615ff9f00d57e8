// SPDX-License-Identifier: Apache-2.0
#include "tricodec/tensor/color.h"

#include <algorithm>
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

template <class Enum>
using Name = std::pair<Enum, std::string_view>;

constexpr Name<ColorMatrix> kMatrices[] = {{ColorMatrix::rgb, "rgb"},
                                           {ColorMatrix::bt709, "bt709"},
                                           {ColorMatrix::unspecified, "unspecified"},
                                           {ColorMatrix::fcc, "fcc"},
                                           {ColorMatrix::bt470bg, "bt470bg"},
                                           {ColorMatrix::smpte170m, "smpte170m"},
                                           {ColorMatrix::smpte240m, "smpte240m"},
                                           {ColorMatrix::ycgco, "ycgco"},
                                           {ColorMatrix::bt2020_ncl, "bt2020nc"},
                                           {ColorMatrix::bt2020_cl, "bt2020c"},
                                           {ColorMatrix::ictcp, "ictcp"}};
constexpr Name<ColorPrimaries> kPrimaries[] = {
    {ColorPrimaries::bt709, "bt709"},         {ColorPrimaries::unspecified, "unspecified"},
    {ColorPrimaries::bt470m, "bt470m"},       {ColorPrimaries::bt470bg, "bt470bg"},
    {ColorPrimaries::smpte170m, "smpte170m"}, {ColorPrimaries::smpte240m, "smpte240m"},
    {ColorPrimaries::film, "film"},           {ColorPrimaries::bt2020, "bt2020"},
    {ColorPrimaries::smpte428, "smpte428"},   {ColorPrimaries::smpte431, "smpte431"},
    {ColorPrimaries::smpte432, "smpte432"},   {ColorPrimaries::ebu3213, "ebu3213"}};
constexpr Name<ColorTransfer> kTransfers[] = {{ColorTransfer::bt709, "bt709"},
                                              {ColorTransfer::unspecified, "unspecified"},
                                              {ColorTransfer::gamma22, "gamma22"},
                                              {ColorTransfer::gamma28, "gamma28"},
                                              {ColorTransfer::smpte170m, "smpte170m"},
                                              {ColorTransfer::smpte240m, "smpte240m"},
                                              {ColorTransfer::linear, "linear"},
                                              {ColorTransfer::log100, "log100"},
                                              {ColorTransfer::log316, "log316"},
                                              {ColorTransfer::iec61966_2_4, "iec61966-2-4"},
                                              {ColorTransfer::bt1361e, "bt1361e"},
                                              {ColorTransfer::iec61966_2_1, "iec61966-2-1"},
                                              {ColorTransfer::bt2020_10, "bt2020-10"},
                                              {ColorTransfer::bt2020_12, "bt2020-12"},
                                              {ColorTransfer::smpte2084, "smpte2084"},
                                              {ColorTransfer::smpte428, "smpte428"},
                                              {ColorTransfer::arib_std_b67, "arib-std-b67"}};
constexpr Name<ColorRange> kRanges[] = {
    {ColorRange::unspecified, "unspecified"}, {ColorRange::limited, "limited"}, {ColorRange::full, "full"}};
constexpr Name<ChromaLocation> kLocations[] = {{ChromaLocation::unspecified, "unspecified"},
                                               {ChromaLocation::left, "left"},
                                               {ChromaLocation::center, "center"},
                                               {ChromaLocation::topleft, "topleft"},
                                               {ChromaLocation::top, "top"},
                                               {ChromaLocation::bottomleft, "bottomleft"},
                                               {ChromaLocation::bottom, "bottom"}};

/// `unnamed` for a number that has no name.
template <class Enum>
std::string_view name_of(Enum value, std::span<const Name<Enum>> names, std::string_view unnamed) noexcept {
    const auto found = std::ranges::find(names, value, &Name<Enum>::first);
    return found == names.end() ? unnamed : found->second;
}

template <class Enum>
Enum parse_word(std::string_view what, std::string_view name, std::span<const Name<Enum>> names) {
    std::string accepted;
    for (const auto& [value, word] : names) {
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
    for (const auto& [known, weights] : kWeights) {
        if (known == matrix) return weights;
    }
    return std::nullopt;
}

std::string_view to_string(ColorMatrix value) noexcept {
    return name_of<ColorMatrix>(value, kMatrices, "reserved");
}

std::string_view to_string(ColorPrimaries value) noexcept {
    return name_of<ColorPrimaries>(value, kPrimaries, "reserved");
}

std::string_view to_string(ColorTransfer value) noexcept {
    return name_of<ColorTransfer>(value, kTransfers, "reserved");
}

std::string_view to_string(ColorRange value) noexcept {
    return name_of<ColorRange>(value, kRanges, "unspecified");
}

std::string_view to_string(ChromaLocation value) noexcept {
    return name_of<ChromaLocation>(value, kLocations, "unspecified");
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
