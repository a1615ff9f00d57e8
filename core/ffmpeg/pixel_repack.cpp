// SPDX-License-Identifier: Apache-2.0
#include "ffmpeg/pixel_repack.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "tricodec/base/error.h"

namespace tricodec {
namespace {

static_assert(std::endian::native == std::endian::little);

bool has(const AVPixFmtDescriptor& format, std::uint64_t flag) noexcept {
    return (format.flags & flag) != 0;
}

int num_colors(const AVPixFmtDescriptor& format) noexcept {
    return format.nb_components - (has(format, AV_PIX_FMT_FLAG_ALPHA) ? 1 : 0);
}

ColorFamily family_of(const AVPixFmtDescriptor& format) noexcept {
    if (has(format, AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) return ColorFamily::rgb;
    return num_colors(format) == 1 ? ColorFamily::gray : ColorFamily::yuv;
}

/// The planar format (rgb24 for RGB of 8 bits) of the least depth that holds the samples.
PixelFormat holder(ColorFamily family, int log2_w, int log2_h, int depth) noexcept {
    if (family == ColorFamily::rgb && depth <= 8) return PixelFormat::rgb24;
    auto found = PixelFormat::unknown;
    for (; found == PixelFormat::unknown && depth <= 16; ++depth) found = planar_format(family, log2_w, log2_h, depth);
    return found;
}

/// `value` of `from` bits in `to` bits. RGB, gray and alpha have full range, where the largest value stays the largest;
/// samples of YUV are shifted, as its standards define them.
unsigned widened(unsigned value, int from, int to, bool full_range) noexcept {
    if (!full_range) return value << (to - from);
    unsigned wide = 0;
    for (int shift = to - from; shift > -from; shift -= from) wide |= shift >= 0 ? value << shift : value >> -shift;
    return wide;
}

/// One component of one picture of libavutil's.
class Samples {
public:
    Samples(const AVFrame& picture, const AVPixFmtDescriptor& format, int component)
        : picture_(picture), format_(format), component_(component), layout_(format.comp[component]) {}

    [[nodiscard]] int depth() const noexcept { return layout_.depth; }
    /// True if the rows are those of `info`'s component in one of its planes.
    [[nodiscard]] bool stored_as(const ComponentLayout& own, const PixelFormatInfo& info) const noexcept {
        return !has(format_, AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_PAL) &&
               layout_.shift == 0 && layout_.depth == info.depth && layout_.step == own.step_bytes &&
               layout_.offset == own.offset_bytes;
    }
    [[nodiscard]] Plane plane() const noexcept {
        return {reinterpret_cast<std::byte*>(picture_.data[layout_.plane]), picture_.linesize[layout_.plane]};
    }
    void read(int y, std::vector<std::uint16_t>& row) const {
        if (has(format_, AV_PIX_FMT_FLAG_BITSTREAM)) {
            const std::uint8_t* const planes[4] = {picture_.data[0], picture_.data[1], picture_.data[2],
                                                   picture_.data[3]};
            av_read_image_line2(row.data(), const_cast<const std::uint8_t**>(planes), picture_.linesize, &format_, 0, y,
                                component_, static_cast<int>(row.size()), 0, sizeof(std::uint16_t));
            return;
        }
        const int bits = layout_.shift + layout_.depth;
        const bool big = has(format_, AV_PIX_FMT_FLAG_BE);
        const auto* from = picture_.data[layout_.plane] + std::ptrdiff_t{y} * picture_.linesize[layout_.plane] +
                           layout_.offset + (big && bits <= 8 ? 1 : 0);
        if (bits <= 8) {
            read_words<std::uint8_t>(from, false, row);
        } else if (bits <= 16) {
            read_words<std::uint16_t>(from, big, row);
        } else {
            read_words<std::uint32_t>(from, big, row);
        }
    }

private:
    template <class Word>
    void read_words(const std::uint8_t* from, bool big, std::vector<std::uint16_t>& row) const {
        const auto mask = (1U << layout_.depth) - 1U;
        for (auto& sample : row) {
            Word word = 0;
            std::memcpy(&word, from, sizeof word);
            if (big)
                word = static_cast<Word>(sizeof word == 2 ? __builtin_bswap16(static_cast<std::uint16_t>(word))
                                                          : __builtin_bswap32(static_cast<std::uint32_t>(word)));
            sample = static_cast<std::uint16_t>((word >> layout_.shift) & mask);
            from += layout_.step;
        }
    }

    const AVFrame& picture_;
    const AVPixFmtDescriptor& format_;
    int component_;
    const AVComponentDescriptor& layout_;
};

void write(const std::vector<std::uint16_t>& row, int bytes, int step, std::byte* to) {
    for (const auto sample : row) {
        std::memcpy(to, &sample, static_cast<std::size_t>(bytes));  // little-endian
        to += step;
    }
}

/// Writes component `c` of `out` from samples of the picture.
void copy_component(const Samples& from, bool inverted, const Frame& out, std::size_t c) {
    const auto& layout = info(out.format);
    const auto& own = layout.components[c];
    const bool chroma = layout.family == ColorFamily::yuv && c > 0;
    std::vector<std::uint16_t> row(static_cast<std::size_t>(layout.plane_width(chroma ? 1 : 0, out.width)));
    const int height = layout.plane_height(chroma ? 1 : 0, out.height);
    const bool full_range = layout.family != ColorFamily::yuv;
    for (int y = 0; y < height; ++y) {
        from.read(y, row);
        if (from.depth() != layout.depth) {
            for (auto& sample : row) {
                sample = static_cast<std::uint16_t>(widened(sample, from.depth(), layout.depth, full_range));
                if (inverted) sample = static_cast<std::uint16_t>(255 - sample);
            }
        }
        const auto& plane = out.planes[own.plane];
        write(row, layout.bytes_per_sample, own.step_bytes, plane.data + y * plane.stride_bytes + own.offset_bytes);
    }
}

/// A picture of palette entries (native words of alpha, red, green and blue), and its alpha where an entry has any.
Frame from_palette(const AVFrame& picture) {
    Frame frame = alloc_frame(PixelFormat::rgb24, picture.width, picture.height);
    Frame alpha = alloc_frame(PixelFormat::gray, picture.width, picture.height);
    std::uint32_t palette[256];
    std::memcpy(palette, picture.data[1], sizeof palette);
    for (int y = 0; y < picture.height; ++y) {
        const auto* from = picture.data[0] + std::ptrdiff_t{y} * picture.linesize[0];
        auto* rgb = frame.planes[0].data + y * frame.planes[0].stride_bytes;
        auto* opacity = alpha.planes[0].data + y * alpha.planes[0].stride_bytes;
        for (int x = 0; x < picture.width; ++x) {
            const std::uint32_t entry = palette[from[x]];
            for (int c = 0; c < 3; ++c) *rgb++ = static_cast<std::byte>(entry >> (16 - 8 * c));
            *opacity++ = static_cast<std::byte>(entry >> 24);
        }
    }
    alpha.color.range = ColorRange::full;
    frame.alpha = std::make_shared<const Frame>(std::move(alpha));
    return frame;
}

}  // namespace

PixelFormat decoded_format(AVPixelFormat format) noexcept {
    if (const auto same = ff::to_pixel_format(format); same != PixelFormat::unknown) return same;
    const auto* const found = av_pix_fmt_desc_get(format);
    constexpr std::uint64_t kOthers =
        std::uint64_t{AV_PIX_FMT_FLAG_HWACCEL} | AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_FLOAT;
    const std::string_view name = found == nullptr ? "" : found->name;
    if (found == nullptr || has(*found, kOthers) || found->nb_components == 0 || name.starts_with("xyz"))
        return PixelFormat::unknown;
    const auto family = family_of(*found);
    int depth = 0;
    for (int c = 0; c < num_colors(*found); ++c) depth = std::max(depth, found->comp[c].depth);
    const bool subsampled = family == ColorFamily::yuv;
    return holder(family, subsampled ? found->log2_chroma_w : 0, subsampled ? found->log2_chroma_h : 0, depth);
}

Frame repacked(std::shared_ptr<const AVFrame> picture) {
    const auto av_format = static_cast<AVPixelFormat>(picture->format);
    const auto& format = *av_pix_fmt_desc_get(av_format);
    if (has(format, AV_PIX_FMT_FLAG_PAL)) return from_palette(*picture);
    const PixelFormat wanted = decoded_format(av_format);
    const auto& layout = info(wanted);
    Frame frame;
    bool shared = true;
    for (std::size_t c = 0; c < layout.num_components; ++c) {
        const Samples from(*picture, format, static_cast<int>(c));
        shared = shared && layout.num_planes == layout.num_components && from.stored_as(layout.components[c], layout);
    }
    if (shared) {
        frame.format = wanted;
        frame.width = picture->width;
        frame.height = picture->height;
        frame.owner = picture;
    } else {
        frame = alloc_frame(wanted, picture->width, picture->height);
    }
    for (std::size_t c = 0; c < layout.num_components; ++c) {
        const Samples from(*picture, format, static_cast<int>(c));
        if (shared) {
            frame.planes[layout.components[c].plane] = from.plane();
        } else {
            copy_component(from, av_format == AV_PIX_FMT_MONOWHITE, frame, c);
        }
    }
    if (has(format, AV_PIX_FMT_FLAG_ALPHA)) {
        const Samples from(*picture, format, format.nb_components - 1);
        Frame alpha = alloc_frame(holder(ColorFamily::gray, 0, 0, from.depth()), picture->width, picture->height);
        copy_component(from, false, alpha, 0);
        alpha.color.range = ColorRange::full;
        frame.alpha = std::make_shared<const Frame>(std::move(alpha));
    }
    return frame;
}

bool is_packed_rgb32(AVPixelFormat format) noexcept {
    const auto* const found = av_pix_fmt_desc_get(format);
    return found != nullptr && has(*found, AV_PIX_FMT_FLAG_RGB) && !has(*found, AV_PIX_FMT_FLAG_PLANAR) &&
           found->comp[0].step == 4 && found->comp[0].depth == 8 && found->comp[0].plane == 0;
}

ff::FramePtr to_packed_rgb32(const Frame& frame, AVPixelFormat format) {
    auto picture = ff::make_frame();
    picture->format = format;
    picture->width = frame.width;
    picture->height = frame.height;
    picture->sample_aspect_ratio = ff::to_av(frame.sample_aspect_ratio);
    ff::check(av_frame_get_buffer(picture.get(), 0), "allocating a picture");
    const auto& to = *av_pix_fmt_desc_get(format);
    const auto& layout = info(frame.format);
    for (int y = 0; y < frame.height; ++y) {
        auto* const row = picture->data[0] + std::ptrdiff_t{y} * picture->linesize[0];
        std::memset(row, 0xff, static_cast<std::size_t>(frame.width) * 4);
        for (std::size_t c = 0; c < 3; ++c) {
            const auto& own = layout.components[c];
            const auto* from =
                frame.planes[own.plane].data + y * frame.planes[own.plane].stride_bytes + own.offset_bytes;
            auto* into = row + to.comp[c].offset;
            for (int x = 0; x < frame.width; ++x) into[x * 4] = static_cast<std::uint8_t>(from[x * own.step_bytes]);
        }
    }
    return picture;
}

}  // namespace tricodec
