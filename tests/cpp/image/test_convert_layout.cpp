// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tricodec/base/error.h"
#include "tricodec/image/transform.h"

namespace tricodec {
namespace {

Frame packed_frame(PixelFormat format, int width, int height, const std::vector<std::uint8_t>& bytes) {
    Frame frame = alloc_frame(format, width, height);
    EXPECT_EQ(static_cast<std::int64_t>(bytes.size()), frame.size_bytes());
    std::memcpy(frame.planes[0].data, bytes.data(), bytes.size());
    return frame;
}

std::vector<std::uint8_t> bytes_of(const Frame& frame) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(frame.size_bytes()));
    pack(frame, std::as_writable_bytes(std::span(bytes)));
    return bytes;
}

std::vector<std::uint16_t> words_of(const Frame& frame) {
    const auto bytes = bytes_of(frame);
    std::vector<std::uint16_t> words(bytes.size() / 2);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
}

Frame noise(const PixelFormatInfo& format, int width, int height) {
    Frame frame = alloc_frame(format.format, width, height);
    const auto count = static_cast<std::size_t>(frame.size_bytes()) / format.bytes_per_sample;
    std::uint32_t state = 12345;
    for (std::size_t i = 0; i < count; ++i) {
        state = state * 1664525U + 1013904223U;
        const auto word = static_cast<std::uint16_t>((state >> (32 - format.depth)) << format.shift);
        std::memcpy(frame.planes[0].data + i * format.bytes_per_sample, &word, format.bytes_per_sample);
    }
    return frame;
}

TEST(ConvertLayout, gives_gray_neutral_chroma_and_keeps_its_full_range) {
    const Frame gray = packed_frame(PixelFormat::gray, 2, 2, {0, 16, 235, 255});

    const Frame pairs = convert_layout(gray, PixelFormat::nv12);

    EXPECT_EQ(bytes_of(pairs), (std::vector<std::uint8_t>{0, 16, 235, 255, 128, 128}));
    EXPECT_EQ(pairs.color.range, ColorRange::full);
    EXPECT_EQ(words_of(convert_layout(gray, PixelFormat::p010le)),
              (std::vector<std::uint16_t>{0, 64 << 6, 940 << 6, 1020 << 6, 512 << 6, 512 << 6}));
}

TEST(ConvertLayout, keeps_every_sample_of_every_pair_of_formats_or_refuses) {
    for (const PixelFormatInfo& from : all_pixel_formats()) {
        for (const PixelFormatInfo& to : all_pixel_formats()) {
            SCOPED_TRACE(std::string(from.name) + " to " + std::string(to.name));
            const bool same_picture = from.family == to.family && from.log2_chroma_w == to.log2_chroma_w &&
                                      from.log2_chroma_h == to.log2_chroma_h;
            const bool adds_chroma = from.family == ColorFamily::gray && to.family == ColorFamily::yuv;
            const Frame frame = noise(from, 37, 5);
            if (!(same_picture || adds_chroma) || to.depth < from.depth) {
                EXPECT_THROW(static_cast<void>(convert_layout(frame, to.format)), Error);
                continue;
            }
            const Frame result = convert_layout(frame, to.format);
            for (std::size_t c = 0; c < from.num_components; ++c) {
                const ComponentLayout& a = from.components[c];
                const ComponentLayout& b = to.components[c];
                for (int y = 0; y < from.plane_height(a.plane, 5); ++y) {
                    for (int x = 0; x < from.plane_width(a.plane, 37); ++x) {
                        std::uint16_t one = 0;
                        std::uint16_t two = 0;
                        const Plane& p = frame.planes[a.plane];
                        const Plane& q = result.planes[b.plane];
                        std::memcpy(&one, p.data + y * p.stride_bytes + x * a.step_bytes + a.offset_bytes,
                                    from.bytes_per_sample);
                        std::memcpy(&two, q.data + y * q.stride_bytes + x * b.step_bytes + b.offset_bytes,
                                    to.bytes_per_sample);
                        ASSERT_EQ((one >> from.shift) << (to.depth - from.depth), two >> to.shift);
                    }
                }
            }
        }
    }
}

TEST(ConvertLayout, writes_into_padded_planes_without_touching_the_padding) {
    const Frame planar =
        packed_frame(PixelFormat::yuv420p, 3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 21, 22, 23, 24});
    std::vector<std::uint8_t> memory(3 * 8 + 2 * 8, 0xCC);
    Frame out = alloc_frame(PixelFormat::nv12, 3, 3);
    out.planes[0] = {reinterpret_cast<std::byte*>(memory.data()), 8};
    out.planes[1] = {reinterpret_cast<std::byte*>(memory.data()) + 4 * 8, -8};  // bottom row first

    convert_layout_into(planar, out);

    constexpr std::uint8_t k = 0xCC;
    EXPECT_EQ(memory, (std::vector<std::uint8_t>{1, 2, 3, k, k,  k,  k,  k,  4, 5, 6, k, k,  k,  k,  k,  7, 8, 9, k,
                                                 k, k, k, k, 13, 23, 14, 24, k, k, k, k, 11, 21, 12, 22, k, k, k, k}));
}

TEST(ConvertLayout, refuses_what_loses_bits_or_resamples_naming_both_formats) {
    const auto text_of = [](PixelFormat from, PixelFormat to) {
        try {
            static_cast<void>(convert_layout(alloc_frame(from, 4, 4), to));
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::unsupported);
            return std::string(error.what());
        }
        return std::string("nothing was thrown");
    };
    const std::string bits = text_of(PixelFormat::p010le, PixelFormat::nv12);
    EXPECT_NE(bits.find("p010le to nv12 would lose 2 bits"), std::string::npos) << bits;
    const std::string chroma = text_of(PixelFormat::yuv422p, PixelFormat::nv12);
    EXPECT_NE(chroma.find("yuv422p to nv12 would resample"), std::string::npos) << chroma;
    const std::string color = text_of(PixelFormat::rgb24, PixelFormat::yuv444p);
    EXPECT_NE(color.find("use Transform"), std::string::npos) << color;
}

}  // namespace
}  // namespace tricodec
