// SPDX-License-Identifier: Apache-2.0
#include "media/ffmpeg.h"

extern "C" {
#include <libavutil/display.h>
}

#include <algorithm>
#include <atomic>
#include <climits>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <new>
#include <set>
#include <span>

#include "base/cuda/kernel_targets.h"
#include "base/fork.h"
#include "tricodec/log.h"
#include "tricodec/version.h"

namespace tricodec::ff {
namespace {

thread_local CallLog* t_call = nullptr;  // the innermost one

/// The captures that are alive: a codec context of another user of FFmpeg in this process has an `opaque` of its own.
struct Captures {
    ForkSafeMutex mutex;
    std::set<const void*> alive;
};
Captures& captures() {
    static auto* instance = new Captures;  // leaked: codec threads may log during exit
    return *instance;
}

/// How much of FFmpeg's log the user has asked to see; until then all of it is a matter of debugging.
std::atomic<int> g_shown{AV_LOG_QUIET};

LogLevel level_of(int level) noexcept {
    if (level > g_shown.load(std::memory_order_relaxed)) return LogLevel::debug;
    return level <= AV_LOG_ERROR     ? LogLevel::error
           : level <= AV_LOG_WARNING ? LogLevel::warning
           : level <= AV_LOG_INFO    ? LogLevel::info
                                     : LogLevel::debug;
}

/// The codec context that a line is about, or null. What libavutil says of a picture's size comes by an object of its
/// own, which knows that context as its parent.
AVCodecContext* context_of(void* object) {
    if (object == nullptr) return nullptr;
    const AVClass* type = *static_cast<const AVClass**>(object);
    if (type != nullptr && type->parent_log_context_offset != 0 && type->class_name == std::string_view("IMGUTILS")) {
        object = *reinterpret_cast<void**>(static_cast<std::uint8_t*>(object) + type->parent_log_context_offset);
        if (object == nullptr) return nullptr;
        type = *static_cast<const AVClass**>(object);
    }
    return type == avcodec_get_class() ? static_cast<AVCodecContext*>(object) : nullptr;
}

/// Gives a line to the capture of the object that it is about, if that wants it.
void capture(void* object, std::string_view text, bool concealment) {
    const auto* context = context_of(object);
    if (context == nullptr) return;
    auto* opaque = context->opaque;
    auto& all = captures();
    std::lock_guard lock(all.mutex);
    if (!all.alive.contains(opaque)) return;
    auto& mine = *static_cast<LogCapture*>(opaque);
    if (!concealment || mine.hears_of_concealment()) mine.add(text);
}

void log_callback(void* object, int level, const char* format, va_list arguments) {
    // FFmpeg 5 logs it as information, later versions for debugging.
    const bool concealment = level > AV_LOG_WARNING && std::string_view(format).starts_with("concealing ");
    if (!concealment && level > AV_LOG_WARNING && level > g_shown.load(std::memory_order_relaxed)) return;
    char line[1024];
    int print_prefix = 0;  // an object's address would make equal reports differ
    va_list copy;
    va_copy(copy, arguments);
    av_log_format_line2(object, level, format, copy, line, sizeof line, &print_prefix);
    va_end(copy);
    std::string_view text(line);
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
    if (text.empty()) return;
    try {
        if (level <= AV_LOG_ERROR) {
            if (t_call != nullptr) t_call->keep(text);
            capture(object, text, false);
        } else if (concealment) {
            capture(object, text, true);
        }
        log(level_of(level), "FFmpeg: " + std::string(text));
    } catch (...) {
        // C callers cannot take an exception; the line is lost.
    }
}

/// " (line)", of what the innermost CallLog keeps; empty where it keeps nothing.
std::string quoted_line() {
    const auto line = t_call == nullptr ? std::string() : t_call->take();
    return line.empty() ? "" : " (" + line + ")";
}

/// FFmpeg also says ENOMEM of a size in a header that it would never allocate (past INT_MAX), or that no machine has.
/// The tables of an honest file take less memory than the file. If that much can be had, the header lied.
bool memory_is_short(std::int64_t honest_bytes) noexcept {
    constexpr std::int64_t kLeast = 64 << 20;
    constexpr std::int64_t kMost = INT_MAX;  // of one av_malloc()
    void* const block = av_malloc(static_cast<std::size_t>(std::clamp(honest_bytes, kLeast, kMost)));
    av_free(block);
    return block == nullptr;
}

}  // namespace

FramePtr make_frame() {
    FramePtr frame(av_frame_alloc());
    TRICODEC_EXPECT(frame != nullptr, out_of_memory, "could not allocate a frame header");
    return frame;
}

PacketPtr make_packet() {
    PacketPtr packet(av_packet_alloc());
    TRICODEC_EXPECT(packet != nullptr, out_of_memory, "could not allocate a packet header");
    return packet;
}

std::shared_ptr<const AVCodecParameters> share(ParametersPtr parameters) {
    return {parameters.release(), [](const AVCodecParameters* mine) {
                auto* freed = const_cast<AVCodecParameters*>(mine);
                avcodec_parameters_free(&freed);
            }};
}

CallLog::CallLog() noexcept : outer_(t_call) {
    t_call = this;
}

CallLog::~CallLog() {
    t_call = outer_;
}

std::string error_text(int code) {
    char text[AV_ERROR_MAX_STRING_SIZE] = {};
    av_strerror(code, text, sizeof text);
    return text + quoted_line();
}

std::string damage_text(int code, ErrorCode kind) {
    if (kind == ErrorCode::corrupt_data && code == AVERROR(ENOMEM)) {
        return "a size that its headers state is too large to be true" + quoted_line();
    }
    if (kind == ErrorCode::corrupt_data && code == AVERROR(EIO)) {
        return "it ends where its headers promise more" + quoted_line();
    }
    return error_text(code);
}

ErrorCode error_code(int code) noexcept {
    switch (code) {
        case AVERROR(ENOMEM):
            return ErrorCode::out_of_memory;
        case AVERROR(ENOENT):
            return ErrorCode::not_found;
        case AVERROR(EIO):
        case AVERROR(EACCES):
        case AVERROR(EPERM):
            return ErrorCode::io;
        case AVERROR_DECODER_NOT_FOUND:
        case AVERROR_DEMUXER_NOT_FOUND:
        case AVERROR_PATCHWELCOME:
        case AVERROR(ENOSYS):
            return ErrorCode::unsupported;
        default:
            return ErrorCode::corrupt_data;
    }
}

ErrorCode damage_code(int code, std::int64_t honest_bytes) noexcept {
    switch (code) {
        case AVERROR(ENOMEM):
            return memory_is_short(honest_bytes) ? ErrorCode::out_of_memory : ErrorCode::corrupt_data;
        case AVERROR(EPERM):
            return ErrorCode::refused;  // refuse_to_open()
        case AVERROR(ENOENT):
        case AVERROR(EIO):
        case AVERROR(EACCES):
            // Of demuxers: Matroska's says EIO of an element that ends early. Our byte readers throw their own errors.
            return ErrorCode::corrupt_data;
        default:
            return error_code(code);
    }
}

int check(int code, const std::string& what) {
    if (code < 0) fail(error_code(code), what + ": " + error_text(code));
    return code;
}

int check_media(int code, const std::string& what, std::int64_t honest_bytes) {
    if (code >= 0) return code;
    const auto kind = damage_code(code, honest_bytes);
    fail(kind, what + ": " + damage_text(code, kind));
}

int open_codec(AVCodecContext& context, const AVCodec& codec, AVDictionary** options) {
    const ForkGuard guard;
    return avcodec_open2(&context, &codec, options);
}

LogCapture::LogCapture() {
    auto& all = captures();
    std::lock_guard lock(all.mutex);
    all.alive.insert(this);
}

LogCapture::~LogCapture() {
    auto& all = captures();
    std::lock_guard lock(all.mutex);
    all.alive.erase(this);
}

void LogCapture::add(std::string_view line) {
    constexpr std::size_t kMostKept = 2000;  // a damaged stream can say the same thing for every macroblock
    std::lock_guard lock(mutex_);
    if (lines_.size() > kMostKept) return;
    if (!lines_.empty()) lines_ += "; ";
    lines_ += line;
}

std::string LogCapture::take() {
    std::lock_guard lock(mutex_);
    std::string lines;
    lines.swap(lines_);
    return lines;
}

void install_log() {
    static const bool installed = [] {
        av_log_set_callback(log_callback);
        return true;
    }();
    (void)installed;
}

void show_log(int level) noexcept {
    install_log();
    av_log_set_level(level);
    g_shown.store(level, std::memory_order_relaxed);
}

int shown_log() noexcept {
    return g_shown.load(std::memory_order_relaxed);
}

std::int64_t duration(const AVFrame& frame) noexcept {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100)  // FFmpeg 6
    return frame.duration;
#else
    return frame.pkt_duration;
#endif
}

void set_duration(AVFrame& frame, std::int64_t duration) noexcept {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100)  // FFmpeg 6
    frame.duration = duration;
#else
    frame.pkt_duration = duration;
#endif
}

PixelFormat to_pixel_format(AVPixelFormat format) noexcept {
    const char* name = av_get_pix_fmt_name(format);
    if (name == nullptr) return PixelFormat::unknown;
    std::string plain(name);
    if (plain.starts_with("yuvj")) plain.erase(3, 1);
    for (const auto& known : all_pixel_formats()) {
        if (known.name == plain) return known.format;
    }
    return PixelFormat::unknown;
}

AVPixelFormat to_av(PixelFormat format) noexcept {
    return av_get_pix_fmt(std::string(to_string(format)).c_str());
}

namespace {

/// What an encoder says that it takes, ended by `end` in `old_field` before FFmpeg 7.1.
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100)  // FFmpeg 7.1
#define TRICODEC_ENCODER_CONFIG(Value, codec, config, old_field, is_end) supported_config<Value>(codec, config)
template <class Value>
std::span<const Value> supported_config(const AVCodec& codec, AVCodecConfig config) {
    const void* found = nullptr;
    int count = 0;
    if (avcodec_get_supported_config(nullptr, &codec, config, 0, &found, &count) < 0 || found == nullptr) return {};
    return {static_cast<const Value*>(found), static_cast<std::size_t>(count)};
}
#else
#define TRICODEC_ENCODER_CONFIG(Value, codec, config, old_field, is_end) until<Value>((codec).old_field, is_end)
template <class Value, class IsEnd>
std::span<const Value> until(const Value* values, IsEnd is_end) {
    std::size_t count = 0;
    while (values != nullptr && !is_end(values[count])) ++count;
    return {values, count};
}
#endif

template <class Value>
std::vector<Value> copied(std::span<const Value> values) {
    return {values.begin(), values.end()};
}

}  // namespace

std::vector<AVPixelFormat> encoder_formats(const AVCodec& codec) {
    return copied(TRICODEC_ENCODER_CONFIG(AVPixelFormat, codec, AV_CODEC_CONFIG_PIX_FORMAT, pix_fmts,
                                          [](AVPixelFormat each) { return each == AV_PIX_FMT_NONE; }));
}

std::vector<AVRational> encoder_frame_rates(const AVCodec& codec) {
    return copied(TRICODEC_ENCODER_CONFIG(AVRational, codec, AV_CODEC_CONFIG_FRAME_RATE, supported_framerates,
                                          [](AVRational each) { return each.num == 0; }));
}

std::vector<AVSampleFormat> encoder_sample_formats(const AVCodec& codec) {
    return copied(TRICODEC_ENCODER_CONFIG(AVSampleFormat, codec, AV_CODEC_CONFIG_SAMPLE_FORMAT, sample_fmts,
                                          [](AVSampleFormat each) { return each == AV_SAMPLE_FMT_NONE; }));
}

std::vector<int> encoder_sample_rates(const AVCodec& codec) {
    return copied(TRICODEC_ENCODER_CONFIG(int, codec, AV_CODEC_CONFIG_SAMPLE_RATE, supported_samplerates,
                                          [](int each) { return each == 0; }));
}

std::vector<int> encoder_channel_counts(const AVCodec& codec) {
    std::vector<int> counts;
    for (const auto& layout :
         TRICODEC_ENCODER_CONFIG(AVChannelLayout, codec, AV_CODEC_CONFIG_CHANNEL_LAYOUT, ch_layouts,
                                 [](const AVChannelLayout& each) { return each.nb_channels == 0; })) {
        counts.push_back(layout.nb_channels);
    }
    return counts;
}
#undef TRICODEC_ENCODER_CONFIG

void expect_rate(std::int64_t bits, const char* what) {
    constexpr std::int64_t kMost = UINT32_MAX;  // SVT-AV1's; others have more room
    TRICODEC_EXPECT(
        bits >= 0 && bits <= kMost, invalid_argument,
        std::string(what) + " is " + std::to_string(bits) + "; it must be from 0 (none) to " + std::to_string(kMost));
}

bool reconfigures(const AVCodec& codec) noexcept {
    const std::string_view name = codec.name;
    return name == "libx264" || name == "libx264rgb" || name.ends_with("_nvenc");
}

bool is_full_range_format(AVPixelFormat format) noexcept {
    const char* name = av_get_pix_fmt_name(format);
    return name != nullptr && std::string_view(name).starts_with("yuvj");
}

ColorDescription to_color(AVPixelFormat format, AVColorSpace matrix, AVColorPrimaries primaries,
                          AVColorTransferCharacteristic transfer, AVColorRange range,
                          AVChromaLocation location) noexcept {
    ColorDescription color;
    color.matrix = static_cast<ColorMatrix>(matrix);
    color.primaries = static_cast<ColorPrimaries>(primaries);
    color.transfer = static_cast<ColorTransfer>(transfer);
    color.range = range == AVCOL_RANGE_MPEG   ? ColorRange::limited
                  : range == AVCOL_RANGE_JPEG ? ColorRange::full
                                              : ColorRange::unspecified;
    if (is_full_range_format(format)) color.range = ColorRange::full;
    color.chroma_location = static_cast<ChromaLocation>(location);
    // The matrix "rgb" on a YUV picture is a wrong tag (or a planar RGB stream read as YUV): treat it as not given.
    const auto pixel_format = to_pixel_format(format);
    if (color.matrix == ColorMatrix::rgb && pixel_format != PixelFormat::unknown &&
        tricodec::info(pixel_format).family != ColorFamily::rgb) {
        color.matrix = ColorMatrix::unspecified;
    }
    return color;
}

Orientation to_orientation(const std::int32_t* display_matrix) noexcept {
    if (display_matrix == nullptr) return {};
    std::int32_t matrix[9];
    std::copy_n(display_matrix, 9, matrix);
    const double determinant = static_cast<double>(matrix[0]) * matrix[4] - static_cast<double>(matrix[1]) * matrix[3];
    const bool mirrored = determinant < 0;
    if (mirrored) av_display_matrix_flip(matrix, 1, 0);
    const double counterclockwise = av_display_rotation_get(matrix);
    if (std::isnan(counterclockwise)) return {};
    const double clockwise = mirrored ? counterclockwise : -counterclockwise;
    const long quarter = std::lround(clockwise / 90.0);
    if (std::fabs(clockwise - 90.0 * static_cast<double>(quarter)) > 1.0) {
        log(LogLevel::warning, "a display rotation of " + std::to_string(clockwise) +
                                   " degrees is ignored; only multiples of 90 are applied");
        return {};
    }
    return {static_cast<int>(((quarter % 4) + 4) % 4) * 90, mirrored};
}

const std::int32_t* display_matrix(const AVStream& stream) noexcept {
    constexpr std::size_t kMatrixBytes = 9 * sizeof(std::int32_t);
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 102)  // FFmpeg 6.1
    const AVPacketSideData* side = av_packet_side_data_get(
        stream.codecpar->coded_side_data, stream.codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
    return side != nullptr && side->size >= kMatrixBytes ? reinterpret_cast<const std::int32_t*>(side->data) : nullptr;
#else
    std::size_t size = 0;
    const auto* data = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
    return data != nullptr && size >= kMatrixBytes ? reinterpret_cast<const std::int32_t*>(data) : nullptr;
#endif
}

void set_display_matrix(AVStream& stream, Orientation orientation) {
    constexpr std::size_t kMatrixBytes = 9 * sizeof(std::int32_t);
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 102)  // FFmpeg 6.1
    auto* side = av_packet_side_data_new(&stream.codecpar->coded_side_data, &stream.codecpar->nb_coded_side_data,
                                         AV_PKT_DATA_DISPLAYMATRIX, kMatrixBytes, 0);
    auto* data = side == nullptr ? nullptr : side->data;
#else
    auto* data = av_stream_new_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, kMatrixBytes);
#endif
    TRICODEC_EXPECT(data != nullptr, out_of_memory, "could not allocate a display matrix");
    auto* matrix = reinterpret_cast<std::int32_t*>(data);
    // Undoes to_orientation(): a mirrored picture is flipped before it is turned, so the angle counts the other way.
    av_display_rotation_set(matrix,
                            orientation.mirrored ? -orientation.rotation_degrees : orientation.rotation_degrees);
    if (orientation.mirrored) av_display_matrix_flip(matrix, 1, 0);
}

}  // namespace tricodec::ff

namespace tricodec {
namespace {
std::string dotted(unsigned number) {
    return std::to_string(AV_VERSION_MAJOR(number)) + "." + std::to_string(AV_VERSION_MINOR(number)) + "." +
           std::to_string(AV_VERSION_MICRO(number));
}
}  // namespace

std::string build_info() {
    [[maybe_unused]] constexpr std::string_view kIn = "in this build";
    [[maybe_unused]] constexpr std::string_view kNotIn = "not in this build";
#ifdef TRICODEC_HAVE_NVDEC
    constexpr auto kNvdec = kIn;
#else
    constexpr auto kNvdec = kNotIn;
#endif
    return "tricodec: " + std::string(version()) + "\nlibavformat: " + dotted(avformat_version()) +
           "\nlibavcodec: " + dotted(avcodec_version()) + "\nlibavutil: " + dotted(avutil_version()) +
           "\nffmpeg: " + av_version_info() + "\ncompiler: " + __VERSION__ +
           "\ncuda_kernels: " + cuda::kernels_in_words() + "\nnvdec: " + std::string(kNvdec) + "\n";
}

}  // namespace tricodec
