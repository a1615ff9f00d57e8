// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/bytes.h"
#include "base/cuda/context.h"
#include "tensor/frame_layout.h"
#include "tricodec/base/error.h"
#include "tricodec/base/text.h"
#include "tricodec/image/transform.h"

namespace tricodec {
namespace {

/// word of the output = (word of the input >> right) << left
struct Shift {
    int right = 0;
    int left = 0;
};

template <typename From, typename To>
To shifted(From word, Shift shift) {
    return static_cast<To>((unsigned{word} >> shift.right) << shift.left);
}

/// Samples of a row wherever it starts.
template <typename Value>
struct Samples {
    using Type [[gnu::aligned(1), gnu::may_alias]] = Value;
};
template <typename Value>
using Row = typename Samples<Value>::Type* __restrict;
template <typename Value>
using ConstRow = const typename Samples<Value>::Type* __restrict;

// The loops of one row; `count` is in samples of one component. Rows that do not overlap and a change of the word that
// is known or a product let the compiler vectorise them.

/// Calls `loop` with what is done to each word.
template <typename From, typename To, typename Loop>
void with_change(Shift shift, const Loop& loop) {
    if (shift.right == 0 && shift.left == 0) {
        loop([](From word) { return static_cast<To>(word); });
    } else if (shift.right == 0) {
        const auto factor = static_cast<To>(1U << shift.left);
        loop([factor](From word) { return static_cast<To>(unsigned{word} * factor); });
    } else if (shift.left == 0) {
        loop([right = shift.right](From word) { return static_cast<To>(word >> right); });
    } else {
        loop([shift](From word) { return shifted<From, To>(word, shift); });
    }
}

template <typename From, typename To>
void map_row(const std::byte* from, std::byte* to, std::size_t count, Shift shift) {
    if (std::is_same_v<From, To> && shift.right == 0 && shift.left == 0) {
        std::memcpy(to, from, count * sizeof(To));
        return;
    }
    with_change<From, To>(shift, [&](const auto& change) {
        const auto in = reinterpret_cast<ConstRow<From>>(from);
        const auto out = reinterpret_cast<Row<To>>(to);
        for (std::size_t x = 0; x < count; ++x) out[x] = change(in[x]);
    });
}

template <typename From, typename To>
void interleave_row(const std::byte* u, const std::byte* v, std::byte* to, std::size_t count, Shift shift) {
    with_change<From, To>(shift, [&](const auto& change) {
        const auto in_u = reinterpret_cast<ConstRow<From>>(u);
        const auto in_v = reinterpret_cast<ConstRow<From>>(v);
        const auto out = reinterpret_cast<Row<To>>(to);
        for (std::size_t x = 0; x < count; ++x) {
            out[2 * x] = change(in_u[x]);
            out[2 * x + 1] = change(in_v[x]);
        }
    });
}

template <typename From, typename To>
void separate_row(const std::byte* from, std::byte* u, std::byte* v, std::size_t count, Shift shift) {
    with_change<From, To>(shift, [&](const auto& change) {
        const auto in = reinterpret_cast<ConstRow<From>>(from);
        const auto out_u = reinterpret_cast<Row<To>>(u);
        const auto out_v = reinterpret_cast<Row<To>>(v);
        for (std::size_t x = 0; x < count; ++x) {
            out_u[x] = change(in[2 * x]);
            out_v[x] = change(in[2 * x + 1]);
        }
    });
}

template <typename From, typename To>
void copy_component_row(const std::byte* from, std::size_t from_step, std::byte* to, std::size_t to_step,
                        std::size_t count, Shift shift) {
    for (std::size_t x = 0; x < count; ++x)
        store(to + x * to_step, shifted<From, To>(load<From>(from + x * from_step), shift));
}

/// Both pictures, and what is between their samples.
struct Job {
    const Frame& from;
    const Frame& to;
    const PixelFormatInfo& from_format;
    const PixelFormatInfo& to_format;
    Shift shift;

    [[nodiscard]] const std::byte* row(int plane, int y) const {
        const Plane& memory = from.planes[static_cast<std::size_t>(plane)];
        return memory.data + y * memory.stride_bytes;
    }
    [[nodiscard]] std::byte* out_row(int plane, int y) const {
        const Plane& memory = to.planes[static_cast<std::size_t>(plane)];
        return memory.data + y * memory.stride_bytes;
    }
    [[nodiscard]] int height(int plane) const { return to_format.plane_height(plane, to.height); }
    [[nodiscard]] std::size_t width(int plane) const {
        return static_cast<std::size_t>(to_format.plane_width(plane, to.width));
    }
};

template <typename From, typename To>
void map_plane(const Job& job, int plane) {
    const auto count = job.width(plane) * static_cast<std::size_t>(job.to_format.components_in_plane(plane));
    for (int y = 0; y < job.height(plane); ++y) {
        map_row<From, To>(job.row(plane, y), job.out_row(plane, y), count, job.shift);
    }
}

template <typename From, typename To>
void convert_chroma(const Job& job) {
    const bool from_pairs = job.from_format.num_planes == 2;
    const bool to_pairs = job.to_format.num_planes == 2;
    if (from_pairs == to_pairs) {
        for (int plane = 1; plane < job.to_format.num_planes; ++plane) map_plane<From, To>(job, plane);
        return;
    }
    for (int y = 0; y < job.height(1); ++y) {
        if (to_pairs) {
            interleave_row<From, To>(job.row(1, y), job.row(2, y), job.out_row(1, y), job.width(1), job.shift);
        } else {
            separate_row<From, To>(job.row(1, y), job.out_row(1, y), job.out_row(2, y), job.width(1), job.shift);
        }
    }
}

template <typename To>
void fill_chroma(const Job& job) {
    const auto neutral = static_cast<To>(1U << (job.to_format.depth - 1 + job.to_format.shift));
    for (int plane = 1; plane < job.to_format.num_planes; ++plane) {
        const auto count = job.width(plane) * static_cast<std::size_t>(job.to_format.components_in_plane(plane));
        for (int y = 0; y < job.height(plane); ++y) {
            std::byte* row = job.out_row(plane, y);
            for (std::size_t x = 0; x < count; ++x) store(row + x * sizeof(To), neutral);
        }
    }
}

template <typename From, typename To>
void convert_rgb(const Job& job) {
    for (std::size_t i = 0; i < 3; ++i) {
        const ComponentLayout& from = job.from_format.components[i];
        const ComponentLayout& to = job.to_format.components[i];
        for (int y = 0; y < job.height(0); ++y) {
            copy_component_row<From, To>(job.row(from.plane, y) + from.offset_bytes, from.step_bytes,
                                         job.out_row(to.plane, y) + to.offset_bytes, to.step_bytes, job.width(0),
                                         job.shift);
        }
    }
}

template <typename From, typename To>
void run(const Job& job) {
    if (job.to_format.family == ColorFamily::rgb) return convert_rgb<From, To>(job);
    map_plane<From, To>(job, 0);
    if (job.to_format.family == ColorFamily::gray) return;
    if (job.from_format.family == ColorFamily::gray) return fill_chroma<To>(job);
    convert_chroma<From, To>(job);
}

[[noreturn]] void fail_conversion(const PixelFormatInfo& from, const PixelFormatInfo& to, const std::string& why) {
    fail(ErrorCode::unsupported,
         "convert_layout: " + std::string(from.name) + " to " + std::string(to.name) + " " + why);
}

void expect_convertible(const PixelFormatInfo& from, const PixelFormatInfo& to) {
    const bool adds_chroma = from.family == ColorFamily::gray && to.family == ColorFamily::yuv;
    if (from.family != to.family && !adds_chroma) {
        fail_conversion(from, to, "would convert colors; use Transform");
    }
    if (!adds_chroma && (from.log2_chroma_w != to.log2_chroma_w || from.log2_chroma_h != to.log2_chroma_h)) {
        fail_conversion(from, to, "would resample the chroma; accepted are formats of the same subsampling");
    }
    if (to.depth < from.depth) {
        fail_conversion(from, to,
                        "would lose " + std::to_string(from.depth - to.depth) +
                            " bits a sample; accepted are formats of " + std::to_string(from.depth) + " bits or more");
    }
}

void expect_memory(const Frame& frame, const PixelFormatInfo& format, const char* which) {
    for (int plane = 0; plane < format.num_planes; ++plane) {
        TRICODEC_EXPECT(frame.planes[static_cast<std::size_t>(plane)].data != nullptr, invalid_argument,
                        "convert_layout: plane " + std::to_string(plane) + " of the " + which + " has no memory");
    }
}

void convert_to_gpu(const Frame& frame, const Frame& out, StreamView stream) {
    const cuda::ContextScope scope(*cuda::Context::of(stream, out.device.index));
    if (frame.device == out.device && frame.format == out.format) {
        if (frame.buffer) frame.buffer->wait_on(stream);
        copy_planes(frame, out, stream);
        if (frame.buffer) frame.buffer->used_on(stream);
        return;
    }
    const auto memory = Buffer::allocate_pinned(static_cast<std::size_t>(out.size_bytes()), out.device);
    const Frame host = frame_over(out.format, out.width, out.height, memory->data(), memory);
    convert_layout_into(to_host(frame), host, {});
    copy_planes(host, out, stream);
    memory->used_on(stream);
}

}  // namespace

void convert_layout_into(const Frame& frame, const Frame& out, StreamView stream) {
    const PixelFormatInfo& from = info(frame.format);
    const PixelFormatInfo& to = info(out.format);
    TRICODEC_EXPECT(frame.width == out.width && frame.height == out.height, invalid_argument,
                    "convert_layout: the output is " + size_text(out.width, out.height) + ", the frame " +
                        size_text(frame.width, frame.height) + "; sizes must be equal");
    expect_convertible(from, to);
    expect_memory(frame, from, "frame");
    expect_memory(out, to, "output");
    if (out.device.kind == Device::Kind::cuda) return convert_to_gpu(frame, out, stream);
    if (frame.device.kind == Device::Kind::cuda) return convert_layout_into(to_host(frame), out, {});

    const Job job{frame, out, from, to, {from.shift, to.depth - from.depth + to.shift}};
    if (from.bytes_per_sample == 1) {
        return to.bytes_per_sample == 1 ? run<std::uint8_t, std::uint8_t>(job) : run<std::uint8_t, std::uint16_t>(job);
    }
    run<std::uint16_t, std::uint16_t>(job);  // fewer bytes would be fewer bits
}

void convert_layout_into(const Frame& frame, const Frame& out) {
    TRICODEC_EXPECT(frame.device.kind == Device::Kind::cpu && out.device.kind == Device::Kind::cpu, unsupported,
                    "convert_layout: the frame is on " + frame.device.to_string() + " and the output on " +
                        out.device.to_string() + "; this engine works on cpu");
    convert_layout_into(frame, out, {});
}

Frame convert_layout(const Frame& frame, PixelFormat format) {
    if (frame.format == format) return frame;
    expect_convertible(info(frame.format), info(format));
    Frame result = alloc_frame(format, frame.width, frame.height);
    copy_properties(frame, result);
    // Unspecified means full range for gray and limited for YUV: say what it meant, so that the picture stays the same.
    const bool adds_chroma = info(frame.format).family != info(format).family;
    if (adds_chroma && result.color.range == ColorRange::unspecified) result.color.range = ColorRange::full;
    convert_layout_into(frame, result);
    return result;
}

}  // namespace tricodec
