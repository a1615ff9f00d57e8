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

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "tricodec/base/error.h"
#include "tricodec/base/fork.h"
#include "tricodec/base/rational.h"
#include "tricodec/tensor/frame.h"

namespace tricodec::ff {

template <auto Free>
struct Deleter {
    template <class T>
    void operator()(T* object) const noexcept {
        Free(&object);
    }
};

/// Frees nothing in a forked child: codec threads of the parent may hold locks of the frame's memory, and closing a
/// codec waits for its threads. Note [Fork], base/fork.h.
template <auto Free>
struct DeleterInProcess {
    ForkMark mark;
    template <class T>
    void operator()(T* object) const noexcept {
        if (!mark.in_child()) Free(&object);
    }
};

using FramePtr = std::unique_ptr<AVFrame, DeleterInProcess<av_frame_free>>;
using PacketPtr = std::unique_ptr<AVPacket, Deleter<av_packet_free>>;
using CodecContextPtr = std::unique_ptr<AVCodecContext, DeleterInProcess<avcodec_free_context>>;
using FormatContextPtr = std::unique_ptr<AVFormatContext, Deleter<avformat_close_input>>;
using ParametersPtr = std::unique_ptr<AVCodecParameters, Deleter<avcodec_parameters_free>>;
using BsfPtr = std::unique_ptr<AVBSFContext, Deleter<av_bsf_free>>;

[[nodiscard]] FramePtr make_frame();
[[nodiscard]] PacketPtr make_packet();
[[nodiscard]] std::shared_ptr<const AVCodecParameters> share(ParametersPtr parameters);

/// The bytes that libavformat passes to a writer.
#if LIBAVFORMAT_VERSION_MAJOR >= 61
using AvioBytes = const std::uint8_t;
#else
using AvioBytes = std::uint8_t;
#endif

/// Keeps FFmpeg's last error line on this thread while it exists, for error_text(). A call that may fail begins with
/// one. Without a CallLog no line is kept, so a message never quotes an earlier call or another thread. CallLogs
/// nest.
class CallLog {
public:
    CallLog() noexcept;
    ~CallLog();
    CallLog(const CallLog&) = delete;
    CallLog& operator=(const CallLog&) = delete;

    void keep(std::string_view line) {
        last_line_ = line;
        if (refusal_.empty() && line.find(" exceeds ") != std::string_view::npos) refusal_ = line;
    }
    /// Forgets the line that it returns.
    [[nodiscard]] std::string take() noexcept { return std::exchange(last_line_, {}); }
    /// The first line that reports a size past a limit; empty if there is none.
    [[nodiscard]] const std::string& refusal() const noexcept { return refusal_; }

private:
    CallLog* outer_;
    std::string last_line_;
    std::string refusal_;
};

/// For the innermost CallLog of this thread: an error line that another thread met in its name. Empty is none.
void keep_line(std::string_view line);

/// Collects what FFmpeg logs for debugging on this thread while it exists; null collects nothing.
class DebugLog {
public:
    explicit DebugLog(std::string* text) noexcept;
    ~DebugLog();
    DebugLog(const DebugLog&) = delete;
    DebugLog& operator=(const DebugLog&) = delete;

private:
    std::string* outer_;
};

/// FFmpeg's text for a code, with the last error line that the innermost CallLog of this thread keeps.
[[nodiscard]] std::string error_text(int code);
/// For calls with sizes and files of our own or of the caller.
[[nodiscard]] ErrorCode error_code(int code) noexcept;
/// For calls that parse data from outside, after AvioReader::rethrow(): the data are at fault. Memory is short only if
/// `honest_bytes`, which intact data may need, cannot be allocated either.
[[nodiscard]] ErrorCode damage_code(int code, std::int64_t honest_bytes = 0) noexcept;
/// As error_text(), but it says that the data are damaged where FFmpeg reports memory or reading.
[[nodiscard]] std::string damage_text(int code, ErrorCode kind);
/// Throws Error(error_code(), "<what>: <FFmpeg's text>") when `code` is negative; returns it otherwise.
int check(int code, const std::string& what);
/// The same with damage_code().
int check_media(int code, const std::string& what, std::int64_t honest_bytes = 0);

/// avcodec_open2(), which takes a lock of libavcodec. Forks wait for it.
[[nodiscard]] int open_codec(AVCodecContext& context, const AVCodec& codec, AVDictionary** options = nullptr);

/// Collects FFmpeg's error lines of one object from all threads, and what libavcodec says of pictures that it conceals,
/// which it does not log as errors. Such a picture may be returned after others that refer to it, or, with threads,
/// before its damage is found.
class LogCapture {
public:
    LogCapture();
    ~LogCapture();
    void add(std::string_view line);
    /// The lines since the last call, joined by "; ".
    [[nodiscard]] std::string take();

private:
    std::mutex mutex_;
    std::string lines_;
};

/// Sends FFmpeg's log to ours: errors are kept for error texts and logged at debug level. Called by every opener.
void install_log();
/// From now on FFmpeg's lines up to `level` are logged at their own level.
void show_log(int level) noexcept;
/// The level of the last show_log(); quiet before the first.
[[nodiscard]] int shown_log() noexcept;
[[nodiscard]] inline Rational to_rational(AVRational value) noexcept {
    return {value.num, value.den};
}
[[nodiscard]] inline AVRational to_av(Rational value) noexcept {
    return {static_cast<int>(value.num), static_cast<int>(value.den == 0 ? 1 : value.den)};
}
static_assert(AV_NOPTS_VALUE == kNoTimestamp);
static_assert(static_cast<int>(ColorRange::limited) == AVCOL_RANGE_MPEG &&
              static_cast<int>(ColorRange::full) == AVCOL_RANGE_JPEG);
[[nodiscard]] inline AVColorRange to_av(ColorRange range) noexcept {
    return static_cast<AVColorRange>(range);
}
/// The largest time stamp accepted from callers, because FFmpeg adds to them without a check.
inline constexpr std::int64_t kFarthest = std::int64_t{1} << 62;

/// How long a decoded frame is shown, in its stream's time base; 0 unknown.
[[nodiscard]] std::int64_t duration(const AVFrame& frame) noexcept;

void set_duration(AVFrame& frame, std::int64_t duration) noexcept;
[[nodiscard]] PixelFormat to_pixel_format(AVPixelFormat format) noexcept;
/// AV_PIX_FMT_NONE where this FFmpeg has no such format.
[[nodiscard]] AVPixelFormat to_av(PixelFormat format) noexcept;
/// True if libavcodec lets a running encoder of this kind change its rate.
[[nodiscard]] bool reconfigures(const AVCodec& codec) noexcept;
/// True for the yuvj* formats, which have full range by their name.
[[nodiscard]] bool is_full_range_format(AVPixelFormat format) noexcept;
[[nodiscard]] ColorDescription color_of(const AVFrame& frame) noexcept;
[[nodiscard]] ColorDescription color_of(const AVCodecParameters& parameters) noexcept;
/// From the 3x3 display matrix of a container or SEI.
[[nodiscard]] Orientation to_orientation(const std::int32_t* display_matrix) noexcept;
/// Side data that the stream itself has, of `size_bytes` at least; null if there is none.
[[nodiscard]] const std::uint8_t* side_data(const AVStream& stream, AVPacketSideDataType type,
                                            std::size_t size_bytes) noexcept;
/// Room for side data of a stream that is written.
[[nodiscard]] std::uint8_t* add_side_data(AVStream& stream, AVPacketSideDataType type, std::size_t size_bytes);
/// The display matrix of a stream, or null.
[[nodiscard]] const std::int32_t* display_matrix(const AVStream& stream) noexcept;
void set_display_matrix(AVStream& stream, Orientation orientation);

}  // namespace tricodec::ff
