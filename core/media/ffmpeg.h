// SPDX-License-Identifier: Apache-2.0
/// What every file that talks to FFmpeg needs: owning handles, error texts, its log, and the differences between its
/// versions behind named helpers.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavcodec/bsf.h>
#include <libavformat/avformat.h>
#include <libavutil/pixdesc.h>
}

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tricodec/error.h"
#include "tricodec/frame.h"
#include "tricodec/rational.h"

namespace tricodec::ff {

template <auto Free>
struct Deleter {
    template <class T>
    void operator()(T* object) const noexcept {
        Free(&object);
    }
};

using FramePtr = std::unique_ptr<AVFrame, Deleter<av_frame_free>>;
using PacketPtr = std::unique_ptr<AVPacket, Deleter<av_packet_free>>;
using CodecContextPtr = std::unique_ptr<AVCodecContext, Deleter<avcodec_free_context>>;
using FormatContextPtr = std::unique_ptr<AVFormatContext, Deleter<avformat_close_input>>;
using ParametersPtr = std::unique_ptr<AVCodecParameters, Deleter<avcodec_parameters_free>>;
using BsfPtr = std::unique_ptr<AVBSFContext, Deleter<av_bsf_free>>;

[[nodiscard]] FramePtr make_frame();
[[nodiscard]] PacketPtr make_packet();
[[nodiscard]] std::shared_ptr<const AVCodecParameters> share(ParametersPtr parameters);

/// What libavformat hands to a writer.
#if LIBAVFORMAT_VERSION_MAJOR >= 61
using AvioBytes = const std::uint8_t;
#else
using AvioBytes = std::uint8_t;
#endif

/// FFmpeg's text for a code, with the last error line of its log on this thread when there is one.
[[nodiscard]] std::string error_text(int code);
[[nodiscard]] ErrorCode error_code(int code) noexcept;
/// Throws Error("<what>: <FFmpeg's text>") when `code` is negative; returns it otherwise.
int check(int code, const std::string& what);

/// FFmpeg's error lines of one object, collected from whatever thread they come.
class LogCapture {
public:
    LogCapture();
    ~LogCapture();
    LogCapture(const LogCapture&) = delete;
    LogCapture& operator=(const LogCapture&) = delete;
    void add(std::string_view line);
    /// The lines since the last call, joined by "; ".
    [[nodiscard]] std::string take();

private:
    std::mutex mutex_;
    std::string lines_;
};

/// Sends FFmpeg's log to ours: errors are kept for error texts and logged at debug level. Called by every opener.
void install_log();
/// From now on FFmpeg's lines up to its `level` are logged at the level that they have.
void show_log(int level) noexcept;
/// The level of the last show_log(); quiet before the first.
[[nodiscard]] int shown_log() noexcept;
/// The last error line on this thread, and forgets it.
[[nodiscard]] std::string take_last_log_line();

[[nodiscard]] inline Rational to_rational(AVRational value) noexcept {
    return {value.num, value.den};
}
[[nodiscard]] inline AVRational to_av(Rational value) noexcept {
    return {static_cast<int>(value.num), static_cast<int>(value.den == 0 ? 1 : value.den)};
}
[[nodiscard]] inline std::int64_t to_timestamp(std::int64_t value) noexcept {
    return value == AV_NOPTS_VALUE ? kNoTimestamp : value;
}
static_assert(AV_NOPTS_VALUE == kNoTimestamp);

/// How long a decoded frame is shown, in its stream's time base; 0 unknown.
[[nodiscard]] std::int64_t duration(const AVFrame& frame) noexcept;

void set_duration(AVFrame& frame, std::int64_t duration) noexcept;
[[nodiscard]] PixelFormat to_pixel_format(AVPixelFormat format) noexcept;
/// AV_PIX_FMT_NONE where this FFmpeg has no such format.
[[nodiscard]] AVPixelFormat to_av(PixelFormat format) noexcept;
/// What an encoder says that it takes; nothing if it does not say.
[[nodiscard]] std::vector<AVPixelFormat> encoder_formats(const AVCodec& codec);
[[nodiscard]] std::vector<AVRational> encoder_frame_rates(const AVCodec& codec);
[[nodiscard]] std::vector<AVSampleFormat> encoder_sample_formats(const AVCodec& codec);
[[nodiscard]] std::vector<int> encoder_sample_rates(const AVCodec& codec);
[[nodiscard]] std::vector<int> encoder_channel_counts(const AVCodec& codec);
/// True if libavcodec lets a running encoder of this kind change its rate.
[[nodiscard]] bool reconfigures(const AVCodec& codec) noexcept;
/// True for the yuvj* formats, whose name says full range.
[[nodiscard]] bool is_full_range_format(AVPixelFormat format) noexcept;
[[nodiscard]] ColorDescription to_color(AVPixelFormat format, AVColorSpace matrix, AVColorPrimaries primaries,
                                        AVColorTransferCharacteristic transfer, AVColorRange range,
                                        AVChromaLocation location) noexcept;
/// From the 3x3 display matrix of a container or SEI.
[[nodiscard]] Orientation to_orientation(const std::int32_t* display_matrix) noexcept;
/// The display matrix of a stream, or null.
[[nodiscard]] const std::int32_t* display_matrix(const AVStream& stream) noexcept;
void set_display_matrix(AVStream& stream, Orientation orientation);

}  // namespace tricodec::ff
