// SPDX-License-Identifier: Apache-2.0
#include "tricodec/tensor/pixel_format.h"

#include <string>

#include "base/suggestion.h"
#include "tricodec/base/error.h"

namespace tricodec {
namespace {

constexpr PixelFormatInfo planar(PixelFormat format, std::string_view name, ColorFamily family, int log2_w, int log2_h,
                                 int depth) {
    PixelFormatInfo info;
    const auto bytes = static_cast<std::uint8_t>(depth > 8 ? 2 : 1);
    info.format = format;
    info.name = name;
    info.family = family;
    info.num_planes = info.num_components = family == ColorFamily::gray ? 1 : 3;
    info.log2_chroma_w = static_cast<std::uint8_t>(log2_w);
    info.log2_chroma_h = static_cast<std::uint8_t>(log2_h);
    info.depth = static_cast<std::uint8_t>(depth);
    info.bytes_per_sample = bytes;
    // Planes of gbr* are stored G, B, R; components are listed R, G, B.
    constexpr std::uint8_t kGbr[3] = {2, 0, 1};
    for (std::uint8_t c = 0; c < info.num_components; ++c) {
        info.components[c] = {family == ColorFamily::rgb ? kGbr[c] : c, bytes, 0};
    }
    return info;
}

constexpr PixelFormatInfo semi_planar(PixelFormat format, std::string_view name, int log2_w, int log2_h, int depth,
                                      int shift) {
    PixelFormatInfo info = planar(format, name, ColorFamily::yuv, log2_w, log2_h, depth);
    const auto bytes = info.bytes_per_sample;
    info.num_planes = 2;
    info.shift = static_cast<std::uint8_t>(shift);
    info.components[1] = {1, static_cast<std::uint8_t>(2 * bytes), 0};
    info.components[2] = {1, static_cast<std::uint8_t>(2 * bytes), bytes};
    return info;
}

/// The samples of a 16-bit format in the high bits.
constexpr PixelFormatInfo high_bits(PixelFormatInfo info) {
    info.shift = static_cast<std::uint8_t>(16 - info.depth);
    return info;
}

constexpr PixelFormatInfo packed_rgb(PixelFormat format, std::string_view name, int red, int green, int blue) {
    PixelFormatInfo info;
    info.format = format;
    info.name = name;
    info.family = ColorFamily::rgb;
    info.num_planes = 1;
    info.num_components = 3;
    info.components = {ComponentLayout{0, 3, static_cast<std::uint8_t>(red)},
                       ComponentLayout{0, 3, static_cast<std::uint8_t>(green)},
                       ComponentLayout{0, 3, static_cast<std::uint8_t>(blue)}};
    return info;
}

using enum PixelFormat;
constexpr auto kGray = ColorFamily::gray;
constexpr auto kYuv = ColorFamily::yuv;
constexpr auto kRgb = ColorFamily::rgb;

/// In the order of the enumeration, without `unknown`.
constexpr PixelFormatInfo kFormats[] = {
    planar(gray, "gray", kGray, 0, 0, 8),
    planar(gray10le, "gray10le", kGray, 0, 0, 10),
    planar(gray12le, "gray12le", kGray, 0, 0, 12),
    planar(gray16le, "gray16le", kGray, 0, 0, 16),
    planar(yuv410p, "yuv410p", kYuv, 2, 2, 8),
    planar(yuv411p, "yuv411p", kYuv, 2, 0, 8),
    planar(yuv420p, "yuv420p", kYuv, 1, 1, 8),
    planar(yuv422p, "yuv422p", kYuv, 1, 0, 8),
    planar(yuv440p, "yuv440p", kYuv, 0, 1, 8),
    planar(yuv444p, "yuv444p", kYuv, 0, 0, 8),
    planar(yuv420p10le, "yuv420p10le", kYuv, 1, 1, 10),
    planar(yuv422p10le, "yuv422p10le", kYuv, 1, 0, 10),
    planar(yuv440p10le, "yuv440p10le", kYuv, 0, 1, 10),
    planar(yuv444p10le, "yuv444p10le", kYuv, 0, 0, 10),
    planar(yuv420p12le, "yuv420p12le", kYuv, 1, 1, 12),
    planar(yuv422p12le, "yuv422p12le", kYuv, 1, 0, 12),
    planar(yuv440p12le, "yuv440p12le", kYuv, 0, 1, 12),
    planar(yuv444p12le, "yuv444p12le", kYuv, 0, 0, 12),
    planar(yuv420p16le, "yuv420p16le", kYuv, 1, 1, 16),
    planar(yuv422p16le, "yuv422p16le", kYuv, 1, 0, 16),
    planar(yuv444p16le, "yuv444p16le", kYuv, 0, 0, 16),
    semi_planar(nv12, "nv12", 1, 1, 8, 0),
    semi_planar(nv16, "nv16", 1, 0, 8, 0),
    semi_planar(nv24, "nv24", 0, 0, 8, 0),
    semi_planar(p010le, "p010le", 1, 1, 10, 6),
    semi_planar(p016le, "p016le", 1, 1, 16, 0),
    semi_planar(p210le, "p210le", 1, 0, 10, 6),
    semi_planar(p216le, "p216le", 1, 0, 16, 0),
    planar(gbrp, "gbrp", kRgb, 0, 0, 8),
    planar(gbrp10le, "gbrp10le", kRgb, 0, 0, 10),
    planar(gbrp12le, "gbrp12le", kRgb, 0, 0, 12),
    planar(gbrp16le, "gbrp16le", kRgb, 0, 0, 16),
    packed_rgb(rgb24, "rgb24", 0, 1, 2),
    packed_rgb(bgr24, "bgr24", 2, 1, 0),
    semi_planar(p012le, "p012le", 1, 1, 12, 4),
    high_bits(planar(yuv444p10msble, "yuv444p10msble", kYuv, 0, 0, 10)),
    high_bits(planar(yuv444p12msble, "yuv444p12msble", kYuv, 0, 0, 12)),
};

constexpr bool in_order() {
    std::size_t i = 1;
    for (const auto& format : kFormats) {
        if (static_cast<std::size_t>(format.format) != i++) return false;
    }
    return true;
}
static_assert(in_order());

}  // namespace

const PixelFormatInfo& info(PixelFormat format) {
    const auto i = static_cast<std::size_t>(format);
    TRICODEC_EXPECT(i >= 1 && i <= std::size(kFormats), invalid_argument, "the pixel format is unknown");
    return kFormats[i - 1];
}

std::string_view to_string(PixelFormat format) noexcept {
    const auto i = static_cast<std::size_t>(format);
    return i >= 1 && i <= std::size(kFormats) ? kFormats[i - 1].name : "unknown";
}

PixelFormat parse_pixel_format(std::string_view name) {
    std::string plain(name);
    if (plain.starts_with("yuvj")) plain.erase(3, 1);
    for (const auto& format : kFormats) {
        if (format.name == plain) return format.format;
    }
    const std::string accepted = listed(kFormats, &PixelFormatInfo::name);
    fail(ErrorCode::invalid_argument,
         "pixel format '" + std::string(name) + "' is not one of " + accepted + did_you_mean(name, accepted));
}

std::span<const PixelFormatInfo> all_pixel_formats() noexcept {
    return kFormats;
}

PixelFormat planar_format(ColorFamily family, int log2_chroma_w, int log2_chroma_h, int depth) noexcept {
    for (const auto& each : kFormats) {
        if (each.family == family && each.log2_chroma_w == log2_chroma_w && each.log2_chroma_h == log2_chroma_h &&
            each.depth == depth && each.num_planes == each.num_components && each.shift == 0) {
            return each.format;
        }
    }
    return PixelFormat::unknown;
}

}  // namespace tricodec
