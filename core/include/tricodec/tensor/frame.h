// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tricodec/base/buffer.h"
#include "tricodec/base/device.h"
#include "tricodec/base/rational.h"
#include "tricodec/tensor/color.h"
#include "tricodec/tensor/pixel_format.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec {

/// One plane of a picture: `height` rows of `row_bytes` bytes, `stride_bytes` apart (may be negative).
struct Plane {
    std::byte* data = nullptr;
    std::ptrdiff_t stride_bytes = 0;
};

/// How a picture must be turned to stand upright: mirrored left-right first, then rotated clockwise.
struct Orientation {
    int rotation_degrees = 0;  ///< 0, 90, 180 or 270, clockwise
    bool mirrored = false;

    [[nodiscard]] bool swaps_axes() const noexcept { return rotation_degrees == 90 || rotation_degrees == 270; }
    friend bool operator==(const Orientation&, const Orientation&) = default;
};

/// A decoded picture. Copies share the surface, which stays valid and unchanged as long as one of them lives.
/// Thread safety: reading from several threads is safe; the pixels must not be written.
struct Frame {
    PixelFormat format = PixelFormat::unknown;
    int width = 0;
    int height = 0;
    std::array<Plane, 3> planes{};
    Device device{};

    std::int64_t pts = kNoTimestamp;  ///< in time_base units
    std::int64_t duration = 0;        ///< in time_base units, 0 unknown
    Rational time_base{};
    std::int64_t index = -1;  ///< number in presentation order, -1 when not known
    ColorDescription color{};
    Rational sample_aspect_ratio{};
    Orientation orientation{};
    /// True if decoding may start at the frame's packet, as the packet's own headers say, on every engine alike: an IDR
    /// picture or a recovery point with recovery_frame_cnt 0 (H.264), an IRAP picture (HEVC), a key frame (VP8, VP9,
    /// AV1), an I picture (MPEG-1, MPEG-2, MPEG-4, H.263), every JPEG picture. Of other codecs, Packet::key.
    bool key = false;
    bool corrupt = false;  ///< damaged or concealed, as the decoder reports
    bool interlaced = false;
    bool bottom_field_first = false;  ///< of an interlaced picture: its bottom field is the earlier one
    char picture_type = '?';          ///< 'I', 'P', 'B' or '?'
    /// DecoderOptions::block_statistics, or null. copy_properties() leaves them out: they are of the coded picture.
    std::shared_ptr<const std::vector<std::byte>> block_statistics{};

    /// Opacity of a picture with transparency, as a gray frame of the same size and full range; null for opaque ones.
    /// copy_properties() leaves it out: it is pixels.
    std::shared_ptr<const Frame> alpha{};

    std::shared_ptr<const void> owner;  ///< keeps the planes valid
    /// On a GPU, the memory of the planes, which knows the work that writes them; null on the CPU. A reader of the
    /// planes first waits by it, and reports its stream to it.
    std::shared_ptr<Buffer> buffer;

    [[nodiscard]] double pts_seconds() const noexcept;
    /// Bytes of the pixels without padding.
    [[nodiscard]] std::int64_t size_bytes() const { return info(format).packed_bytes(width, height); }
    /// A plane as [rows, columns] or, where components lie side by side, [rows, columns, components].
    [[nodiscard]] TensorView plane_view(int plane) const;
    /// True if one strided array can describe the whole picture: a single plane, or planes that follow one another
    /// with the same stride (as alloc_frame makes them for nv12).
    [[nodiscard]] bool has_single_view() const;
    /// That array: [H, W], [H, W, 3], or rows of all planes stacked: [H * 3 / 2, W] for nv12. Throws
    /// Error(unsupported) when there is none.
    [[nodiscard]] TensorView single_view() const;
};

/// A frame in host memory with packed rows and planes that follow one another; pixels uninitialised.
/// Throws Error(invalid_argument) on sizes below 1, Error(refused) past the limits.
[[nodiscard]] Frame alloc_frame(PixelFormat format, int width, int height);
/// The same on `device`, for work on `stream` to write; the call does not wait.
[[nodiscard]] Frame alloc_frame(PixelFormat format, int width, int height, Device device, StreamView stream = {});

/// The frame in host memory: itself, or a copy in page-locked memory of a frame on a GPU. The host waits for the copy
/// and what it waits for, and for nothing else. Throws Error(device, out_of_memory).
[[nodiscard]] Frame to_host(const Frame& frame);
/// The frame on a GPU: itself if it is there, else a copy that work on `stream` makes; the call does not wait, and
/// `frame` must stay valid until that work is done. Throws Error(unsupported) for a frame of another GPU.
[[nodiscard]] Frame to_device(const Frame& frame, Device device, StreamView stream);

/// A copy of a frame on a GPU that work on `stream` makes there; the call does not wait.
[[nodiscard]] Frame copy_on_device(const Frame& frame, StreamView stream);

/// A frame in memory of the caller's with planes that follow one another without padding, as alloc_frame and pack() lay
/// them out; `owner`, if any, keeps it. `data` must have info(format).packed_bytes(width, height). Throws
/// Error(invalid_argument) on sizes below 1, Error(refused) past the limits.
[[nodiscard]] Frame frame_over(PixelFormat format, int width, int height, std::byte* data,
                               std::shared_ptr<const void> owner = nullptr);

/// uint8, or uint16 for formats of more than 8 bits.
[[nodiscard]] DType sample_dtype(PixelFormat format);
/// The shape that packed samples are given as one array: [H, W] for one component, [H, W, 3] for three side by side,
/// [3, H, W] for three planes of full size, rows of W samples for subsampled planes of even size ([H * 3 / 2, W] for
/// 4:2:0), else one axis.
[[nodiscard]] std::vector<std::int64_t> packed_shape(PixelFormat format, int width, int height);

/// Copies pts, colour, orientation and the other facts that are not pixels.
void copy_properties(const Frame& from, Frame& to);

/// Writes the planes one after another without padding, also of a frame on a GPU, for which the host waits. `out` must
/// have size_bytes().
void pack(const Frame& frame, std::span<std::byte> out);
/// The same into an array of any strides, in the order of its indices. `out` must have sample_dtype() and as many
/// elements as the picture has samples, whatever its shape.
void pack(const Frame& frame, const TensorView& out);

}  // namespace tricodec
