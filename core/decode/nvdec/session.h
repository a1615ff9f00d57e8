// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cuda/event.h"
#include "base/cuda/memory_report.h"
#include "bitstream/picture_areas.h"
#include "decode/nvdec/caps.h"
#include "decode/nvdec/cuvid.h"
#include "tricodec/tensor/color.h"
#include "tricodec/tensor/frame.h"

namespace tricodec::nvdec {

/// The color description of the sequence that is being decoded.
///
/// NVDEC's parser does not say which fields the bitstream left out, so the demuxer's reading of the same headers
/// counts, until the parser's changes: then the headers have.
struct SequenceColor {
    std::optional<ColorDescription> first;    // the parser's, of the first sequence
    std::optional<ColorDescription> changed;  // the parser's, once it is another

    [[nodiscard]] ColorDescription color(const ColorDescription& of_stream) const noexcept {
        if (changed) return *changed;
        return of_stream == ColorDescription{} && first ? *first : of_stream;
    }
};

[[nodiscard]] SequenceColor sequence_color(const CUVIDEOFORMAT& format, SequenceColor before) noexcept;

/// What one sequence of a stream needs of a decoder.
struct Geometry {
    PictureKind kind;
    int coded_width = 0;  ///< even, as is the height
    int coded_height = 0;
    int num_surfaces = 0;  ///< pictures that the decoder holds: references, reordering, and those in flight
    bool block_statistics = false;
};

/// About what the surfaces of a decoder take.
[[nodiscard]] std::size_t surface_bytes(const Geometry& geometry) noexcept;
/// "an NVDEC decoder for 1920x1088 with 8 surfaces".
[[nodiscard]] std::string decoder_words(const Geometry& geometry);

/// One decoder of the hardware, with the stream that its pictures come out on.
/// Thread safety: one session from one thread at a time.
class Session {
public:
    Session(std::shared_ptr<cuda::Context> context, const Geometry& geometry);
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session();

    /// True if this decoder can be set to the geometry.
    [[nodiscard]] bool fits(const cuda::Context& context, const Geometry& geometry) const noexcept;
    /// Sets the decoder to another sequence; all pictures of the last one must be out.
    void reconfigure(const Geometry& geometry);

    /// True if it decodes pictures of this size already.
    [[nodiscard]] bool shows(const Geometry& geometry) const noexcept;

    [[nodiscard]] const Geometry& geometry() const noexcept { return geometry_; }
    [[nodiscard]] cuda::Context& context() const noexcept { return *context_; }
    /// About what its surfaces take.
    [[nodiscard]] std::size_t memory_bytes() const noexcept;
    /// Of the decoder, which may have more than the geometry asked for.
    [[nodiscard]] int num_surfaces() const noexcept { return num_surfaces_; }
    [[nodiscard]] StreamView stream() const noexcept { return stream_; }

    /// Starts decoding a picture; waits only if the hardware's queue is full. Returns what the driver has against a
    /// picture that it does not take. Throws Error(out_of_memory), or Error(device) where the GPU failed.
    [[nodiscard]] std::optional<std::string> decode(CUVIDPICPARAMS& picture);
    /// Throws Error(out_of_memory) or Error(device) unless a failure of the decoder's can be the stream's fault.
    void expect_stream_at_fault(CUresult result) const;
    /// What became of the picture, as far as the driver tells.
    [[nodiscard]] cuvidDecodeStatus status(int picture_index) const noexcept;
    /// The shown area of a decoded picture, copied on stream() into memory of its own; the frame's buffer knows when
    /// the copy is done. The host waits for the picture to be decoded, not for the copy. Throws Error(unsupported) if
    /// the driver does not give the picture out though the device is well.
    [[nodiscard]] Frame output(const CUVIDPARSERDISPINFO& display, const PictureArea& area);
    /// Says whether the decoder only waits for its next stream.
    void set_idle(bool idle) noexcept { held_->set_idle(idle); }
    /// Waits until no picture of the decoder is in use.
    void settle();

private:
    struct Mapped {
        int picture_index;
        unsigned long long pointer;
        cuda::Event copied;
    };
    [[nodiscard]] std::shared_ptr<const std::vector<std::byte>> copy_statistics(unsigned long long from) const;
    void copy_planes(unsigned long long from, std::size_t stride_bytes, const PictureArea& area,
                     const Frame& frame) const;
    void unmap_oldest();

    std::shared_ptr<cuda::Context> context_;
    cuda::Stream stream_;
    Geometry geometry_;
    int max_width_;  // of the coded picture, fixed when the decoder is made
    int max_height_;
    int num_surfaces_;
    CUvideodecoder decoder_ = nullptr;
    std::optional<cuda::DecoderMemory> held_;
    std::deque<Mapped> mapped_;
};

/// A session for the geometry: an idle one of the process, or a new one. Making one takes tens of milliseconds, many
/// times what a short clip takes to decode. Throws Error(out_of_memory) or Error(device).
[[nodiscard]] std::unique_ptr<Session> acquire_session(const std::shared_ptr<cuda::Context>& context,
                                                       const Geometry& geometry);
/// Keeps a session that has no picture in use for the next stream.
void release_session(std::unique_ptr<Session> session) noexcept;
/// Destroys the idle sessions, for their memory.
void drop_idle_sessions() noexcept;
[[nodiscard]] int num_idle_sessions() noexcept;

}  // namespace tricodec::nvdec
