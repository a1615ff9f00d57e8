// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tricodec/base/device.h"
#include "tricodec/base/rational.h"
#include "tricodec/io/packet.h"
#include "tricodec/io/stream_info.h"
#include "tricodec/tensor/color.h"
#include "tricodec/tensor/frame.h"
#include "tricodec/tensor/pixel_format.h"

namespace tricodec {

/// The codec of an `Encoder`, its engine, and the pictures that it takes.
struct EncoderOptions {
    /// "h264", "hevc", "av1", ..., for which the engine is chosen, or the name of one of libavcodec's encoders
    /// ("libx264", "hevc_nvenc", "libvpx-vp9").
    std::string codec = "h264";
    std::string device = "auto";  ///< of the engine, where `codec` does not name it
    int width = 0;
    int height = 0;
    /// Of the pictures as they are encoded. Frames of other formats are rearranged or converted to it.
    PixelFormat format = PixelFormat::yuv420p;
    Rational frame_rate{30, 1};
    Rational time_base{};       ///< of the packets; unknown: 1 / frame_rate
    std::int64_t bit_rate = 0;  ///< bits per second; 0: the encoder's own choice, mostly a constant quality
    /// Constant quality, the option "crf" (NVENC's "cq"); smaller is a better picture. `options` override it.
    std::optional<double> crf{};
    int gop_size = -1;      ///< most frames from a key frame to the next; -1: the encoder's own choice
    int num_b_frames = -1;  ///< most B frames in a row; -1: the encoder's own choice
    /// What the stream says of its colors, and what RGB frames are converted to (yuv_color() of it).
    ColorDescription color{};
    Rational sample_aspect_ratio{};
    Orientation orientation{};  ///< for the container; pixels are not turned
    /// The stream is marked as interlaced, and coded so by encoders that can; each frame says which field is first.
    bool interlaced = false;
    bool bottom_field_first = false;  ///< for the container
    int num_threads = 0;              ///< of the codec; 0: its own choice
    /// Headers (SPS, PPS, VPS) beside the packets only, as mp4 and matroska want them.
    bool global_header = false;
    /// Else: before every key frame, so that decoding can start at each; false: before the first one only.
    bool repeat_headers = true;
    /// libavcodec's filters that packets and headers pass, as ffmpeg's -bsf writes them; empty for none.
    std::string bitstream_filter{};
    std::map<std::string, std::string> options{};  ///< of the encoder, by FFmpeg's names: {"preset", "veryfast"}
};

/// How one frame is encoded.
struct EncodeFlags {
    bool force_key = false;  ///< as a key frame (IDR), whatever the pattern says
};

/// What can be changed while an encoder runs. What is not set stays.
struct RateControl {
    std::optional<std::int64_t> bit_rate;      ///< bits per second
    std::optional<std::int64_t> max_bit_rate;  ///< bits per second
    std::optional<std::int64_t> buffer_size;   ///< of the decoder's buffer that the stream is to fit, bits
};

/// Frames to packets, in decoding order.
/// Thread safety: one object from one thread at a time; different objects are independent.
class Encoder {
public:
    /// Throws Error(unsupported) naming the codec, or why the device cannot encode it; Error(invalid_argument) for
    /// sizes, formats and options that the encoder does not take.
    [[nodiscard]] static std::unique_ptr<Encoder> create(const EncoderOptions& options);
    virtual ~Encoder() = default;

    /// Feeds one frame of the encoder's size. Its pts is rescaled from its time_base; a frame without one follows the
    /// last by 1 / frame_rate. Frames of a GPU go to an engine there without a copy, to the CPU by one. Where
    /// every packet is received before the next frame is sent, as encode() does, the pixels are not looked at after
    /// that. Throws Error(invalid_argument) for another size, a time stamp that is not after the last,
    /// Error(unsupported) for a format that would have to be resampled.
    virtual void send(const Frame& frame, const EncodeFlags& flags = {}) = 0;
    /// No more frames: receive() then yields what is still held back. send() is not possible afterwards.
    virtual void send_end() = 0;
    /// The next packet, or nothing until more is sent.
    [[nodiscard]] virtual std::optional<Packet> receive() = 0;

    /// send() and every packet that is ready.
    [[nodiscard]] std::vector<Packet> encode(const Frame& frame, const EncodeFlags& flags = {});
    /// send_end() and the rest of the packets.
    [[nodiscard]] std::vector<Packet> flush();

    /// Takes effect with the next frame, in the running stream. Throws Error(unsupported) if the engine cannot.
    virtual void reconfigure(const RateControl& rate) = 0;

    /// The stream that is made, for Muxer::add_stream().
    [[nodiscard]] virtual const StreamInfo& stream() const noexcept = 0;
    /// The codec's headers, whether they are in the stream or beside it; empty for codecs that have none.
    [[nodiscard]] virtual std::vector<std::byte> headers() const = 0;
    /// By how many frames decoding order and presentation order may differ; 0 without B frames.
    [[nodiscard]] virtual int reorder_depth() const noexcept = 0;
    /// The name of the encoder, for people: "libavcodec libx264".
    [[nodiscard]] virtual std::string engine() const = 0;
    [[nodiscard]] virtual Device device() const noexcept = 0;
};

/// 'I', 'P' or 'B' as the encoder reports it for the packet; '?' if it does not.
[[nodiscard]] char picture_type_of(const Packet& packet) noexcept;

/// What of `options` an encoder of libavcodec does not know by name (""), or refuses the value of (its words). Throws
/// Error(invalid_argument) if there is no such encoder.
[[nodiscard]] std::map<std::string, std::string> unknown_encoder_options(
    const std::string& encoder, const std::map<std::string, std::string>& options);

/// The encoder of libavcodec that Encoder::create() takes for these words: "libx264", "h264_nvenc". Throws as it does.
[[nodiscard]] std::string encoder_for(const std::string& codec, const std::string& device = "auto");

/// Whether an encoder works on this machine.
struct EncoderProbe {
    bool works = false;
    std::string reason;  ///< why it does not, or what encoded
};
/// Encodes a blank picture or a second of silence by one of libavcodec's encoders: a listed encoder may still lack its
/// hardware. `device` is of the frames: "cpu", or "cuda" and "cuda:N" for the memory of a GPU. Throws
/// Error(invalid_argument) for an unknown encoder or device.
[[nodiscard]] EncoderProbe probe_encoder(const std::string& name, const std::string& device = "cpu");

/// libavcodec's encoders of video that encode 4:2:0 pictures into Matroska on this machine, by name. The first call
/// tries each, which takes about half a second. Encoders that need certain sizes, a palette or another container are
/// not listed; their names still work.
[[nodiscard]] std::vector<std::string> encoder_names();

}  // namespace tricodec
