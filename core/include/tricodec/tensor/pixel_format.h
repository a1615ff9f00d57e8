// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace tricodec {

/// Layouts of decoded pictures, spelled as FFmpeg spells them. yuvj* are the yuv* formats with full range.
enum class PixelFormat : std::uint8_t {
    unknown,
    gray,
    gray10le,
    gray12le,
    gray16le,
    yuv410p,
    yuv411p,
    yuv420p,
    yuv422p,
    yuv440p,
    yuv444p,
    yuv420p10le,
    yuv422p10le,
    yuv440p10le,
    yuv444p10le,
    yuv420p12le,
    yuv422p12le,
    yuv440p12le,
    yuv444p12le,
    yuv420p16le,
    yuv422p16le,
    yuv444p16le,
    nv12,
    nv16,
    nv24,
    p010le,
    p016le,
    p210le,
    p216le,
    gbrp,
    gbrp10le,
    gbrp12le,
    gbrp16le,
    rgb24,
    bgr24,
    // What NVDEC gives of more than 8 bits, beside p010le: samples in the high bits.
    p012le,
    yuv444p10msble,
    yuv444p12msble,
};

enum class ColorFamily : std::uint8_t { gray, yuv, rgb };

/// Where one component's samples lie: sample (x, y) is at plane[y * stride + x * step_bytes + offset_bytes].
struct ComponentLayout {
    std::uint8_t plane = 0;
    std::uint8_t step_bytes = 1;
    std::uint8_t offset_bytes = 0;
};

/// The planes and samples of a pixel format.
struct PixelFormatInfo {
    PixelFormat format = PixelFormat::unknown;
    std::string_view name;
    ColorFamily family = ColorFamily::yuv;
    std::uint8_t num_planes = 0;
    std::uint8_t num_components = 0;
    std::uint8_t log2_chroma_w = 0;  ///< horizontal subsampling of chroma (1 for 4:2:0 and 4:2:2)
    std::uint8_t log2_chroma_h = 0;  ///< vertical subsampling of chroma (1 for 4:2:0)
    std::uint8_t depth = 8;          ///< significant bits of a sample
    std::uint8_t shift = 0;          ///< unused low bits of a stored sample (6 for p010le, 4 for p012le)
    std::uint8_t bytes_per_sample = 1;
    /// Y, U, V for yuv; R, G, B for rgb; one for gray.
    std::array<ComponentLayout, 3> components{};

    [[nodiscard]] bool is_chroma(int plane) const noexcept { return family == ColorFamily::yuv && plane > 0; }
    /// Samples per row of a plane that hold for a picture `width` wide (a pair counts as one for nv12's chroma).
    [[nodiscard]] int plane_width(int plane, int width) const noexcept {
        return is_chroma(plane) ? -((-width) >> log2_chroma_w) : width;
    }
    [[nodiscard]] int plane_height(int plane, int height) const noexcept {
        return is_chroma(plane) ? -((-height) >> log2_chroma_h) : height;
    }
    /// Components stored side by side in a plane: 2 for nv12's chroma, 3 for rgb24, else 1.
    [[nodiscard]] int components_in_plane(int plane) const noexcept {
        return num_planes == 1 ? num_components : (num_planes == 2 && plane == 1 ? 2 : 1);
    }
    /// Bytes of one row of a plane without padding.
    [[nodiscard]] std::int64_t row_bytes(int plane, int width) const noexcept {
        return std::int64_t{plane_width(plane, width)} * components_in_plane(plane) * bytes_per_sample;
    }
    /// Bytes of a whole picture with rows and planes that follow one another without padding.
    [[nodiscard]] std::int64_t packed_bytes(int width, int height) const noexcept {
        std::int64_t total = 0;
        for (int plane = 0; plane < num_planes; ++plane) total += row_bytes(plane, width) * plane_height(plane, height);
        return total;
    }
};

/// The description of a format. Throws Error(invalid_argument) for `unknown`.
[[nodiscard]] const PixelFormatInfo& info(PixelFormat format);
[[nodiscard]] std::string_view to_string(PixelFormat format) noexcept;
/// Accepts FFmpeg's names, also the yuvj* ones. Throws Error(invalid_argument) listing what is accepted.
[[nodiscard]] PixelFormat parse_pixel_format(std::string_view name);
[[nodiscard]] std::span<const PixelFormatInfo> all_pixel_formats() noexcept;
/// The format with a plane for each component, of this chroma and depth; `unknown` if there is none.
[[nodiscard]] PixelFormat planar_format(ColorFamily family, int log2_chroma_w, int log2_chroma_h, int depth) noexcept;

}  // namespace tricodec
