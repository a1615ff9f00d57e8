// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tricodec {

// The integers are those of ITU-T H.273, which H.264, HEVC, AV1, VP9 and the containers carry.

enum class ColorMatrix : std::uint8_t {
    rgb = 0,
    bt709 = 1,
    unspecified = 2,
    fcc = 4,
    bt470bg = 5,
    smpte170m = 6,
    smpte240m = 7,
    ycgco = 8,
    bt2020_ncl = 9,
    bt2020_cl = 10,
    ictcp = 14,
};
enum class ColorPrimaries : std::uint8_t {
    bt709 = 1,
    unspecified = 2,
    bt470m = 4,
    bt470bg = 5,
    smpte170m = 6,
    smpte240m = 7,
    film = 8,
    bt2020 = 9,
    smpte428 = 10,
    smpte431 = 11,
    smpte432 = 12,
    ebu3213 = 22,
};
enum class ColorTransfer : std::uint8_t {
    bt709 = 1,
    unspecified = 2,
    gamma22 = 4,
    gamma28 = 5,
    smpte170m = 6,
    smpte240m = 7,
    linear = 8,
    log100 = 9,
    log316 = 10,
    iec61966_2_4 = 11,
    bt1361e = 12,
    iec61966_2_1 = 13,
    bt2020_10 = 14,
    bt2020_12 = 15,
    smpte2084 = 16,
    smpte428 = 17,
    arib_std_b67 = 18,
};
enum class ColorRange : std::uint8_t { unspecified, limited, full };
/// Where a chroma sample sits among its luma samples (H.264 table E-1 order plus 1).
enum class ChromaLocation : std::uint8_t { unspecified, left, center, topleft, top, bottomleft, bottom };

/// What the samples of a picture mean, as H.273 describes it.
struct ColorDescription {
    ColorMatrix matrix = ColorMatrix::unspecified;
    ColorPrimaries primaries = ColorPrimaries::unspecified;
    ColorTransfer transfer = ColorTransfer::unspecified;
    ColorRange range = ColorRange::unspecified;
    ChromaLocation chroma_location = ChromaLocation::unspecified;

    friend bool operator==(const ColorDescription&, const ColorDescription&) = default;
};

/// The weights of red and blue in luma, Kr and Kb of H.273 table 4.
struct LumaWeights {
    double red = 0;
    double blue = 0;
};
/// Nothing for a matrix that has none (ycgco among them).
[[nodiscard]] std::optional<LumaWeights> luma_weights(ColorMatrix matrix) noexcept;

[[nodiscard]] std::string_view to_string(ColorMatrix value) noexcept;
[[nodiscard]] std::string_view to_string(ColorPrimaries value) noexcept;
[[nodiscard]] std::string_view to_string(ColorTransfer value) noexcept;
[[nodiscard]] std::string_view to_string(ColorRange value) noexcept;
[[nodiscard]] std::string_view to_string(ChromaLocation value) noexcept;

// The names back to values. Throw Error(invalid_argument) listing what is accepted.
/// Also "bt601" for smpte170m and "bt2020" for bt2020nc.
[[nodiscard]] ColorMatrix parse_color_matrix(std::string_view name);
[[nodiscard]] ColorPrimaries parse_color_primaries(std::string_view name);
[[nodiscard]] ColorTransfer parse_color_transfer(std::string_view name);
[[nodiscard]] ColorRange parse_color_range(std::string_view name);
[[nodiscard]] ChromaLocation parse_chroma_location(std::string_view name);

}  // namespace tricodec
