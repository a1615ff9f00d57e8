// SPDX-License-Identifier: Apache-2.0
#include "encode/picture_adapter.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "encode/avcodec/av_encoder.h"
#include "encode/avcodec/encoder_settings.h"
#include "encode/encoded_samples.h"
#include "ffmpeg/ffmpeg.h"
#include "tricodec/base/error.h"
#include "tricodec/base/log.h"
#include "tricodec/base/text.h"
#include "tricodec/container/muxer.h"

namespace tricodec {
namespace {

constexpr int kHighDefinition = 720;  // rows: from here on YUV is BT.709, as UnspecifiedMatrix::by_height reads it

Size swapped_if(Size size, bool swap) noexcept {
    return swap ? Size{size.width, size.height} : size;
}

/// The rectangle of the stored picture that a rectangle of the upright one of size `shown` shows.
Crop stored_crop(const Crop& crop, Size shown, Orientation orientation) noexcept {
    const int degrees = orientation.rotation_degrees;
    const bool swaps = orientation.swaps_axes();
    const Size stored = swapped_if(shown, swaps);
    Crop result = swaps ? Crop{crop.left, crop.top, crop.width, crop.height} : crop;
    const auto flip_rows = [&] { result.top = stored.height - result.top - result.height; };
    const auto flip_columns = [&] { result.left = stored.width - result.left - result.width; };
    if (degrees == 90 || degrees == 180) flip_rows();
    if (degrees == 180 || degrees == 270) flip_columns();
    if (orientation.mirrored) flip_columns();
    return result;
}

/// The same part of a picture of another size.
Crop scaled_crop(const Crop& crop, Size from, Size to) noexcept {
    if (from == to) return crop;
    const auto scaled = [](int begin, int length, int of, int now) {
        const auto at = [&](int x) { return static_cast<int>((std::int64_t{x} * now + of / 2) / of); };
        const int first = std::min(at(begin), now - 1);
        return std::pair(first, std::max(1, at(begin + length) - first));
    };
    const auto [top, height] = scaled(crop.top, crop.height, from.height, to.height);
    const auto [left, width] = scaled(crop.left, crop.width, from.width, to.width);
    return {top, left, height, width};
}

/// That of the source; AVI counts frames, so that it gets the rate which has a frame for every time.
Rational time_base_for(const std::string& container, const StreamInfo& video) {
    constexpr double kMostFrames = 1000;
    const auto& rate = video.real_frame_rate;
    const bool counts = container == "avi" && rate.known() && rate.to_double() < kMostFrames;
    return counts ? Rational{rate.den, rate.num} : video.time_base;
}

void settle_color(const StreamInfo& video, const TranscodeOptions& options, EncoderOptions& encoder) {
    if (!(options.encoder.color == ColorDescription{})) return;
    encoder.color = video.color;
    if (video.pixel_format == PixelFormat::unknown) return;
    const auto from = info(video.pixel_format).family;
    const auto to = info(encoder.format).family;
    if (from == ColorFamily::rgb && to == ColorFamily::yuv) {
        encoder.color.matrix = encoder.height >= kHighDefinition ? ColorMatrix::bt709 : ColorMatrix::smpte170m;
        encoder.color.range = ColorRange::limited;
        encoder.color.chroma_location = ChromaLocation::unspecified;
    } else if (from == ColorFamily::gray && to == ColorFamily::yuv && info(video.pixel_format).depth > 8) {
        encoder.color.range = ColorRange::full;  // samples are kept
    } else if (from != to) {
        encoder.color.range = ColorRange::full;
        encoder.color.matrix = to == ColorFamily::rgb ? ColorMatrix::rgb : ColorMatrix::unspecified;
    }
}

template <class Sample>
void turn_plane(const Plane& from, const Plane& to, Size size, Orientation orientation) {
    const auto sample = [&](int y, int x) {
        const auto* row = reinterpret_cast<const Sample*>(from.data + y * from.stride_bytes);
        return row[orientation.mirrored ? size.width - 1 - x : x];
    };
    const Size upright = swapped_if(size, orientation.swaps_axes());
    for (int y = 0; y < upright.height; ++y) {
        auto* row = reinterpret_cast<Sample*>(to.data + y * to.stride_bytes);
        for (int x = 0; x < upright.width; ++x) {
            const int degrees = orientation.rotation_degrees;
            row[x] = degrees == 90    ? sample(size.height - 1 - x, y)
                     : degrees == 180 ? sample(size.height - 1 - y, size.width - 1 - x)
                     : degrees == 270 ? sample(x, size.width - 1 - y)
                                      : sample(y, x);
        }
    }
}

/// A picture in host memory upright, with the samples as they are; nothing if its chroma would lie elsewhere.
std::optional<Frame> turned(const Frame& frame) {
    const auto& format = info(frame.format);
    const bool swaps = frame.orientation.swaps_axes();
    const bool whole =
        frame.width % (1 << format.log2_chroma_w) == 0 && frame.height % (1 << format.log2_chroma_h) == 0;
    const auto planes = planar_format(format.family, format.log2_chroma_w, format.log2_chroma_h, format.depth);
    if (format.family == ColorFamily::rgb || planes == PixelFormat::unknown || frame.buffer != nullptr ||
        frame.alpha != nullptr || !whole || (swaps && format.log2_chroma_w != format.log2_chroma_h))
        return std::nullopt;
    const Frame from = convert_layout(frame, planes);
    const Size size = swapped_if({frame.height, frame.width}, swaps);
    Frame to = alloc_frame(from.format, size.width, size.height);
    copy_properties(frame, to);
    to.orientation = {};
    const auto& layout = info(from.format);
    for (int i = 0; i < layout.num_planes; ++i) {
        const auto place = static_cast<std::size_t>(i);
        const Size plane{layout.plane_height(i, from.height), layout.plane_width(i, from.width)};
        const auto turn = layout.depth > 8 ? turn_plane<std::uint16_t> : turn_plane<std::uint8_t>;
        turn(from.planes[place], to.planes[place], plane, frame.orientation);
    }
    return to;
}

/// The part of a picture in host memory as it is; nothing if no whole sample of chroma begins at its corner.
std::optional<Frame> cut_out(const Frame& frame, const Crop& crop) {
    const auto& format = info(frame.format);
    const bool whole =
        (crop.left & ((1 << format.log2_chroma_w) - 1)) == 0 && (crop.top & ((1 << format.log2_chroma_h) - 1)) == 0;
    const bool moves = crop.left != 0 || crop.top != 0;
    if (moves && (!whole || frame.buffer != nullptr)) return std::nullopt;
    Frame cut = frame;
    cut.width = crop.width;
    cut.height = crop.height;
    for (int i = 0; moves && i < format.num_planes; ++i) {
        auto& plane = cut.planes[static_cast<std::size_t>(i)];
        plane.data += format.plane_height(i, crop.top) * plane.stride_bytes + format.row_bytes(i, crop.left);
    }
    if (cut.width != frame.width || cut.height != frame.height) cut.alpha = nullptr;
    return cut;
}

/// Crops the last column and row where the chroma of the encoded format has no whole sample for them.
void crop_odd(const StreamInfo& video, const AVCodec& codec, PictureSettings& settings, bool swaps) {
    auto& encoder = settings.encoder;
    const auto& format = info(encoder.format);
    const Size whole{encoder.height >> format.log2_chroma_h << format.log2_chroma_h,
                     encoder.width >> format.log2_chroma_w << format.log2_chroma_w};
    if ((whole == Size{encoder.height, encoder.width}) || takes_odd_sizes(codec, encoder.format)) return;
    log(LogLevel::warning, "stream " + std::to_string(video.index) + " of " + size_text(encoder.width, encoder.height) +
                               " is cropped to " + size_text(whole.width, whole.height) + ", because " + codec.name +
                               " takes " + std::string(format.name) +
                               " of even sizes only; use yuv444p or size= to keep all of it");
    const Size shown = swapped_if(whole, swaps);
    if (!settings.crop) settings.crop = Crop{};
    settings.crop->height = shown.height;
    settings.crop->width = shown.width;
    encoder.height = whole.height;
    encoder.width = whole.width;
}

}  // namespace

bool keeps_orientation(const std::string& container) {
    constexpr std::string_view kContainers[] = {"mp4", "mov", "ipod", "ismv", "psp", "3gp", "3g2", "f4v"};
    return std::ranges::find(kContainers, container) != std::end(kContainers);
}

PictureSettings settle_pictures(const StreamInfo& video, const TranscodeOptions& options,
                                const std::string& container) {
    PictureSettings settings;
    settings.encoder = options.encoder;
    settings.crop = options.crop;
    settings.upright = upright(video.width, video.height, video.orientation);
    auto& encoder = settings.encoder;
    const AVCodec& codec = find_engine(encoder).codec;
    if (encoder.format == PixelFormat::unknown) {
        const auto source = video.pixel_format == PixelFormat::unknown ? PixelFormat::yuv420p : video.pixel_format;
        encoder.format = nearest_format(codec, source);
    }
    const bool is_turned = video.orientation != Orientation{};
    if (is_turned && encoder.orientation == Orientation{}) {
        settings.turn = !keeps_orientation(container);
        if (!settings.turn) encoder.orientation = video.orientation;
    }
    TransformOptions shape;
    shape.crop = options.crop;
    shape.size = options.size;
    const Size shown = Transform{shape}.output_size(video.width, video.height, video.orientation);
    const bool swaps = !settings.turn && video.orientation.swaps_axes();
    const Size stored = swapped_if(shown, swaps);
    encoder.height = stored.height;
    encoder.width = stored.width;
    if (!options.size) crop_odd(video, codec, settings, swaps);
    settle_color(video, options, encoder);
    if (encoder.frame_rate.num <= 0) {
        encoder.frame_rate = video.average_frame_rate.num > 0 ? video.average_frame_rate : video.real_frame_rate;
        if (encoder.frame_rate.num <= 0) encoder.frame_rate = {25, 1};
    }
    if (!encoder.time_base.known()) encoder.time_base = time_base_for(container, video);
    const auto& pixel = video.sample_aspect_ratio;
    if (!encoder.sample_aspect_ratio.known() && pixel.known() && !(options.size && pixel.num == pixel.den)) {
        auto shape = ff::to_av(pixel);
        if (settings.turn && video.orientation.swaps_axes()) std::swap(shape.num, shape.den);
        // A picture that is shown wider than its pixels say keeps its shape in another size.
        const Size part = options.crop ? Size{options.crop->height, options.crop->width} : settings.upright;
        const Size from = options.size ? swapped_if(part, swaps) : stored;
        const AVRational scale{from.width * stored.height, stored.width * from.height};
        encoder.sample_aspect_ratio = ff::to_rational(av_mul_q(shape, scale));
    }
    // Rows of the two fields stay in their places where no row is resampled.
    const bool rows_stay = !options.size && !(settings.turn && is_turned);
    if (video.interlaced && !options.deinterlace && rows_stay) {
        encoder.interlaced = true;
        encoder.bottom_field_first = video.bottom_field_first;
    }
    encoder.global_header = wants_global_headers(container);
    return settings;
}

TransformOptions PictureAdapter::options_for(const Frame& frame) const {
    const Size shown = upright(frame.width, frame.height, frame.orientation);
    TransformOptions options;
    options.rotate = settings_.turn;
    options.size = Size{settings_.encoder.height, settings_.encoder.width};
    if (settings_.crop) {
        const Crop crop = scaled_crop(*settings_.crop, settings_.upright, shown);
        options.crop = settings_.turn ? crop : stored_crop(crop, shown, frame.orientation);
    }
    return options;
}

Frame PictureAdapter::operator()(const Frame& frame) const {
    const auto options = options_for(frame);
    const auto& encoder = settings_.encoder;
    const bool turns = settings_.turn && frame.orientation != Orientation{};
    const Size whole = swapped_if({frame.height, frame.width}, turns && frame.orientation.swaps_axes());
    const Crop crop = options.crop.value_or(Crop{0, 0, whole.height, whole.width});
    const bool resizes = crop.height != options.size->height || crop.width != options.size->width;
    auto kept = resizes ? std::nullopt : turns ? turned(frame) : std::optional(frame);
    if (kept) kept = cut_out(*kept, crop);
    if (!kept) return resampled(frame, options, encoder.format, encoder.color);
    return to_encoded_samples(*kept, encoder.format, encoder.color);
}

}  // namespace tricodec
