// SPDX-License-Identifier: Apache-2.0
#include "tricodec/swscale/swscale_rgb.h"

extern "C" {
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
}

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/fork.h"
#include "base/never_destroyed.h"
#include "base/shared_library.h"
#include "ffmpeg/ffmpeg.h"
#include "tricodec/base/error.h"
#include "tricodec/base/text.h"
#include "tricodec/tensor/hdr.h"

namespace tricodec {
namespace {

#define TRICODEC_EACH_SWSCALE_FUNCTION(X) \
    X(sws_alloc_context)                  \
    X(sws_init_context)                   \
    X(sws_freeContext)                    \
    X(sws_getCoefficients)                \
    X(sws_getColorspaceDetails)           \
    X(sws_setColorspaceDetails)           \
    X(sws_scale)

/// The functions of libswscale, with the library's own names and types. The first use opens the library.
struct SwscaleLibrary {
#define TRICODEC_SWSCALE_FUNCTION(name) decltype(&::name) name = nullptr;
    TRICODEC_EACH_SWSCALE_FUNCTION(TRICODEC_SWSCALE_FUNCTION)
#undef TRICODEC_SWSCALE_FUNCTION
};

struct Opened {
    SwscaleLibrary functions;
    std::string reason = open_ffmpeg_library("libswscale", LIBSWSCALE_VERSION_MAJOR, ", which converts the colors,",
                                             [this](SharedLibrary& library) { find(library); });

    void find(SharedLibrary& library) {
#define TRICODEC_FIND(name) library.find(functions.name, #name);
        TRICODEC_EACH_SWSCALE_FUNCTION(TRICODEC_FIND)
#undef TRICODEC_FIND
    }
};

/// The library, in the version of the build. Throws Error(unsupported) if it is not installed.
const SwscaleLibrary& swscale() {
    static NeverDestroyed<Opened> opened;
    TRICODEC_EXPECT(opened->reason.empty(), unsupported, opened->reason);
    return opened->functions;
}

constexpr int kRowAlignment = 64;  // of rows that libswscale writes: its SIMD may write past their end

/// One conversion of libswscale.
struct Geometry {
    AVPixelFormat from = AV_PIX_FMT_NONE;
    int width = 0;
    int height = 0;
    AVPixelFormat to = AV_PIX_FMT_NONE;
    int to_width = 0;
    int to_height = 0;
    int flags = 0;
    int matrix = SWS_CS_DEFAULT;  // of YUV, and of RGB where it is not the default
    int full_range = 0;

    friend auto operator<=>(const Geometry&, const Geometry&) = default;
};

struct FreeContext {
    void operator()(SwsContext* context) const noexcept { swscale().sws_freeContext(context); }
};
using ContextPtr = std::unique_ptr<SwsContext, FreeContext>;

/// swscale resizes RGB by way of YUV, so the matrix is visible in the last bit. torchcodec names AVCOL_SPC_RGB where it
/// calls swscale itself: for one resize alone, between widths that its SIMD takes. Elsewhere libavfilter resizes, with
/// the default.
int matrix_of_resize(const SwscaleOptions& options, const Frame& frame) noexcept {
    constexpr int kSimdWidth = 32;
    if (options.steps.size() != 1 || frame.orientation != Orientation{}) return SWS_CS_DEFAULT;
    const auto* size = std::get_if<Size>(&options.steps.front());
    const bool alone = size != nullptr && frame.width % kSimdWidth == 0 && size->width % kSimdWidth == 0;
    return alone ? int{AVCOL_SPC_RGB} : SWS_CS_DEFAULT;
}

bool is_yuv(AVPixelFormat format) noexcept {
    const auto* description = av_pix_fmt_desc_get(format);
    return description != nullptr && (description->flags & AV_PIX_FMT_FLAG_RGB) == 0 && description->nb_components > 1;
}

/// As libavfilter's `scale` makes it, because the bits depend on it.
ContextPtr make_context(const Geometry& wanted) {
    ContextPtr context(swscale().sws_alloc_context());
    TRICODEC_EXPECT(context != nullptr, out_of_memory, "could not allocate a context of libswscale");
    const auto set = [&](const char* name, std::int64_t value) {
        ff::check(av_opt_set_int(context.get(), name, value, 0), std::string("libswscale's ") + name);
    };
    set("sws_flags", wanted.flags);
    set("srcw", wanted.width);
    set("srch", wanted.height);
    set("src_format", wanted.from);
    set("dstw", wanted.to_width);
    set("dsth", wanted.to_height);
    set("dst_format", wanted.to);
    set("src_range", wanted.full_range);
    if (wanted.from == AV_PIX_FMT_YUV420P) set("src_v_chr_pos", 128);
    const ff::CallLog call_log;
    ff::check(swscale().sws_init_context(context.get(), nullptr, nullptr), "libswscale does not convert these frames");
    if (is_yuv(wanted.from) || wanted.matrix != SWS_CS_DEFAULT) {
        int* from_table = nullptr;
        int* to_table = nullptr;
        int from_range = 0;
        int to_range = 0;
        int brightness = 0;
        int contrast = 0;
        int saturation = 0;
        swscale().sws_getColorspaceDetails(context.get(), &from_table, &from_range, &to_table, &to_range, &brightness,
                                           &contrast, &saturation);
        const int* const table = swscale().sws_getCoefficients(wanted.matrix);
        swscale().sws_setColorspaceDetails(context.get(), table, wanted.full_range, table, to_range, brightness,
                                           contrast, saturation);
    }
    return context;
}

/// A picture of one interleaved plane.
struct Picture {
    std::byte* data = nullptr;
    std::ptrdiff_t stride_bytes = 0;
    int width = 0;
    int height = 0;
    std::vector<std::byte> memory{};  // empty if another object has the pixels

    static Picture make(int width, int height, std::size_t pixel_bytes) {
        Picture picture;
        const auto row_bytes = static_cast<std::size_t>(width) * pixel_bytes;
        const auto stride = (row_bytes + 2 * kRowAlignment - 1) / kRowAlignment * kRowAlignment;
        picture.memory.resize(stride * static_cast<std::size_t>(height) + 2 * kRowAlignment);
        const auto address = reinterpret_cast<std::uintptr_t>(picture.memory.data());
        picture.data = picture.memory.data() + (kRowAlignment - address % kRowAlignment) % kRowAlignment;
        picture.stride_bytes = static_cast<std::ptrdiff_t>(stride);
        picture.width = width;
        picture.height = height;
        return picture;
    }

    [[nodiscard]] std::byte* row(int y) const noexcept { return data + y * stride_bytes; }
};

template <class Pixel>
void turn(const Picture& from, const Picture& to, Orientation orientation) {
    // Where each pixel of the upright picture comes from: across and down, from a corner.
    const bool swaps = orientation.swaps_axes();
    const int degrees = orientation.rotation_degrees;
    for (int y = 0; y < to.height; ++y) {
        auto* const row = reinterpret_cast<Pixel*>(to.row(y));
        for (int x = 0; x < to.width; ++x) {
            int source_x = swaps ? y : x;
            int source_y = swaps ? x : y;
            if (degrees == 90 || degrees == 180) source_y = from.height - 1 - source_y;
            if (degrees == 180 || degrees == 270) source_x = from.width - 1 - source_x;
            if (orientation.mirrored) source_x = from.width - 1 - source_x;
            row[x] = reinterpret_cast<const Pixel*>(from.row(source_y))[source_x];
        }
    }
}

Picture picture_over(const TensorView& plane) {
    Picture picture;
    picture.data = static_cast<std::byte*>(plane.data);
    picture.stride_bytes = static_cast<std::ptrdiff_t>(plane.strides_bytes[0]);
    picture.height = static_cast<int>(plane.shape[0]);
    picture.width = static_cast<int>(plane.shape[1]);
    return picture;
}

/// The planes turned upright, as libavfilter turns them before it scales; nothing where chroma changes its shape.
std::optional<Frame> turned_planes(const Frame& frame) {
    const Size up = upright(frame.width, frame.height, frame.orientation);
    Frame result = alloc_frame(frame.format, up.width, up.height);
    copy_properties(frame, result);
    result.orientation = {};
    for (int plane = 0; plane < static_cast<int>(info(frame.format).num_planes); ++plane) {
        const TensorView from = frame.plane_view(plane);
        const TensorView to = result.plane_view(plane);
        if (from.shape.size() != 2 || to.shape[0] != from.shape[frame.orientation.swaps_axes() ? 1 : 0]) return {};
        from.dtype == DType::uint8 ? turn<std::uint8_t>(picture_over(from), picture_over(to), frame.orientation)
                                   : turn<std::uint16_t>(picture_over(from), picture_over(to), frame.orientation);
    }
    return result;
}

void copy_rows(const Picture& from, const TensorView& out) {
    const auto row_bytes = static_cast<std::size_t>(from.width) * 3 * (out.dtype == DType::uint8 ? 1 : 2);
    for (int y = 0; y < from.height; ++y) {
        std::memcpy(static_cast<std::byte*>(out.data) + y * out.strides_bytes[0], from.row(y), row_bytes);
    }
}

void copy_as_float(const Picture& from, const TensorView& out) {
    for (int y = 0; y < from.height; ++y) {
        const auto* const row = reinterpret_cast<const std::uint16_t*>(from.row(y));
        auto* const to = reinterpret_cast<float*>(static_cast<std::byte*>(out.data) + y * out.strides_bytes[0]);
        for (int i = 0; i < from.width * 3; ++i) to[i] = static_cast<float>(row[i]) / 65535.0F;
    }
}

Size after(const std::variant<Size, Crop>& step, Size before) {
    if (const auto* size = std::get_if<Size>(&step)) return *size;
    const auto& crop = std::get<Crop>(step);
    TRICODEC_EXPECT(crop.top >= 0 && crop.left >= 0 && crop.top + crop.height <= before.height &&
                        crop.left + crop.width <= before.width,
                    invalid_argument,
                    "the crop of " + std::to_string(crop.height) + "x" + std::to_string(crop.width) + " at (" +
                        std::to_string(crop.top) + ", " + std::to_string(crop.left) +
                        ") does not lie inside the picture of height " + std::to_string(before.height) + " and width " +
                        std::to_string(before.width));
    return {crop.height, crop.width};
}

void expect_size(Size size, const char* what) {
    constexpr int kMost = 1 << 15;
    TRICODEC_EXPECT(size.height >= 1 && size.width >= 1 && size.height <= kMost && size.width <= kMost,
                    invalid_argument,
                    std::string(what) + " is " + std::to_string(size.height) + "x" + std::to_string(size.width) +
                        "; height and width are from 1 to " + std::to_string(kMost));
}

}  // namespace

/// Contexts that no conversion uses: each serves one thread at a time.
struct SwscaleRgb::Contexts {
    ForkSafeMutex mutex;
    std::multimap<Geometry, ContextPtr> idle;

    ContextPtr take(const Geometry& geometry) {
        {
            const std::lock_guard lock(mutex);
            if (const auto found = idle.find(geometry); found != idle.end()) {
                return std::move(idle.extract(found).mapped());
            }
        }
        return make_context(geometry);
    }

    void give_back(const Geometry& geometry, ContextPtr context) {
        constexpr std::size_t kMost = 64;
        const std::lock_guard lock(mutex);
        if (idle.size() >= kMost) idle.clear();  // a stream that keeps changing its size
        idle.emplace(geometry, std::move(context));
    }

    void scale(const Geometry& geometry, const std::uint8_t* const* planes, const int* strides, const Picture& to) {
        auto context = take(geometry);
        std::uint8_t* const to_planes[4] = {reinterpret_cast<std::uint8_t*>(to.data)};
        const int to_strides[4] = {static_cast<int>(to.stride_bytes)};
        const int rows = swscale().sws_scale(context.get(), planes, strides, 0, geometry.height, to_planes, to_strides);
        TRICODEC_EXPECT(rows == geometry.to_height, internal, "libswscale did not convert a frame");
        give_back(geometry, std::move(context));
    }
};

SwscaleRgb::SwscaleRgb(SwscaleOptions options) : options_(std::move(options)), contexts_(std::make_shared<Contexts>()) {
    const auto dtype = options_.dtype;
    TRICODEC_EXPECT(dtype == DType::uint8 || dtype == DType::uint16 || dtype == DType::float32, invalid_argument,
                    "dtype is " + std::string(to_string(dtype)) + "; accepted are uint8, uint16 and float32");
    if (options_.size) expect_size(*options_.size, "size");
    for (const auto& step : options_.steps) {
        if (const auto* size = std::get_if<Size>(&step)) expect_size(*size, "a size of the steps");
        if (const auto* crop = std::get_if<Crop>(&step))
            expect_size({crop->height, crop->width}, "a crop of the steps");
    }
    static_cast<void>(swscale());
}

Size SwscaleRgb::output_size(int width, int height, Orientation orientation) const {
    const Size made = options_.size.value_or(Size{height, width});
    Size size = options_.size ? *options_.size : upright(made.width, made.height, orientation);
    for (const auto& step : options_.steps) size = after(step, size);
    return size;
}

void SwscaleRgb::operator()(const Frame& frame, const TensorView& out) const {
    if (frame.device.kind == Device::Kind::cuda) return (*this)(to_host(frame), out);
    const Size size = output_size(frame.width, frame.height, frame.orientation);
    const std::vector<std::int64_t> shape{size.height, size.width, 3};
    TRICODEC_EXPECT(out.shape == shape && out.dtype == options_.dtype && out.is_contiguous(), invalid_argument,
                    "the output is " + describe(out) + "; a frame of " + size_text(frame.width, frame.height) +
                        " comes out as contiguous " + std::string(to_string(options_.dtype)) + " [" +
                        std::to_string(size.height) + ", " + std::to_string(size.width) + ", 3]");
    const bool deep = options_.dtype != DType::uint8;
    if (!deep) warn_of_hdr(frame.color);
    const auto rgb = deep ? AV_PIX_FMT_RGB48LE : AV_PIX_FMT_RGB24;
    const std::size_t pixel_bytes = deep ? 6 : 3;
    const bool turned = frame.orientation != Orientation{};
    if (turned && options_.size) {
        if (const auto upright_frame = turned_planes(frame)) return (*this)(*upright_frame, out);
    }

    Geometry geometry;
    geometry.from = ff::to_av(frame.format);
    TRICODEC_EXPECT(geometry.from != AV_PIX_FMT_NONE, unsupported,
                    "this FFmpeg has no pixel format '" + std::string(to_string(frame.format)) + "'");
    geometry.width = frame.width;
    geometry.height = frame.height;
    geometry.to = rgb;
    // `size` is of the upright picture.
    const Size first = options_.size ? upright(options_.size->width, options_.size->height, frame.orientation)
                                     : Size{frame.height, frame.width};
    geometry.to_width = first.width;
    geometry.to_height = first.height;
    geometry.flags = options_.bilinear ? SWS_BILINEAR : SWS_BICUBIC;
    geometry.matrix = static_cast<int>(frame.color.matrix);
    // Gray of any depth is of full range unless it says otherwise.
    const bool gray = info(frame.format).family == ColorFamily::gray && frame.color.range == ColorRange::unspecified;
    geometry.full_range = gray || frame.color.range == ColorRange::full ? 1 : 0;

    const std::uint8_t* planes[4] = {};
    int strides[4] = {};
    for (std::size_t plane = 0; plane < info(frame.format).num_planes; ++plane) {
        planes[plane] = reinterpret_cast<const std::uint8_t*>(frame.planes[plane].data);
        strides[plane] = static_cast<int>(frame.planes[plane].stride_bytes);
    }
    const auto row_bytes = static_cast<std::size_t>(geometry.to_width) * pixel_bytes;
    if (!turned && options_.steps.empty() && options_.dtype != DType::float32 && row_bytes % 96 == 0) {
        Picture direct;
        direct.data = static_cast<std::byte*>(out.data);
        direct.stride_bytes = out.strides_bytes[0];
        contexts_->scale(geometry, planes, strides, direct);
        return;
    }
    auto picture = Picture::make(geometry.to_width, geometry.to_height, pixel_bytes);
    contexts_->scale(geometry, planes, strides, picture);
    if (turned) {
        const Size up = upright(picture.width, picture.height, frame.orientation);
        auto upright_picture = Picture::make(up.width, up.height, pixel_bytes);
        using Rgb = std::array<std::uint8_t, 3>;
        using Rgb48 = std::array<std::uint16_t, 3>;
        deep ? turn<Rgb48>(picture, upright_picture, frame.orientation)
             : turn<Rgb>(picture, upright_picture, frame.orientation);
        picture = std::move(upright_picture);
    }
    for (const auto& step : options_.steps) {
        if (const auto* crop = std::get_if<Crop>(&step)) {
            picture.data = picture.row(crop->top) + crop->left * static_cast<std::ptrdiff_t>(pixel_bytes);
            picture.width = crop->width;
            picture.height = crop->height;
            continue;
        }
        const auto& resized = std::get<Size>(step);
        auto next = Picture::make(resized.width, resized.height, pixel_bytes);
        const Geometry of_rgb{rgb,           picture.width,  picture.height, rgb,
                              resized.width, resized.height, SWS_BILINEAR,   matrix_of_resize(options_, frame)};
        const std::uint8_t* const from[4] = {reinterpret_cast<const std::uint8_t*>(picture.data)};
        const int from_strides[4] = {static_cast<int>(picture.stride_bytes)};
        contexts_->scale(of_rgb, from, from_strides, next);
        picture = std::move(next);
    }
    options_.dtype == DType::float32 ? copy_as_float(picture, out) : copy_rows(picture, out);
}

}  // namespace tricodec
