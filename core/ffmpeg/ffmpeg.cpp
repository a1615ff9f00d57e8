// SPDX-License-Identifier: Apache-2.0
#include "ffmpeg/ffmpeg.h"

#include <pthread.h>

extern "C" {
#include <libavutil/display.h>
}

#include <algorithm>
#include <atomic>
#include <climits>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <set>

#include "base/cuda/kernel_set.h"
#include "base/fork.h"
#include "base/never_destroyed.h"
#include "tricodec/base/log.h"
#include "tricodec/base/version.h"

namespace tricodec::ff {
namespace {

thread_local CallLog* t_call = nullptr;  // the innermost one
thread_local std::string* t_debug = nullptr;

/// The captures that exist. Codec contexts of other users of FFmpeg in this process have other `opaque` values.
struct Captures {
    ForkSafeMutex mutex;
    std::set<const void*> alive;
};
Captures& captures() {
    static NeverDestroyed<Captures> instance;
    return *instance;
}

/// The log level that the user asked for. Until then all lines of FFmpeg are for debugging.
std::atomic<int> g_shown{AV_LOG_QUIET};

LogLevel level_of(int level) noexcept {
    if (level > g_shown.load(std::memory_order_relaxed)) return LogLevel::debug;
    return level <= AV_LOG_ERROR     ? LogLevel::error
           : level <= AV_LOG_WARNING ? LogLevel::warning
           : level <= AV_LOG_INFO    ? LogLevel::info
                                     : LogLevel::debug;
}

/// The codec context that a line is about, or null. Lines of libavutil about a picture's size have an object of their
/// own, with that context as its parent.
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

/// A text may come in many calls: FFmpeg before 6.1 logs three characters at a time.
void keep_for_debugging(const char* format, va_list arguments) noexcept {
    try {
        va_list copy;
        va_copy(copy, arguments);
        const int size = std::vsnprintf(nullptr, 0, format, copy);
        va_end(copy);
        if (size <= 0) return;
        const auto before = t_debug->size();
        t_debug->resize(before + static_cast<std::size_t>(size) + 1);
        std::vsnprintf(t_debug->data() + before, static_cast<std::size_t>(size) + 1, format, arguments);
        t_debug->pop_back();  // the zero at the end
    } catch (...) {
        t_debug->clear();
    }
}

/// Adds a line to the capture of the object that it is about.
void capture(void* object, std::string_view text) {
    const auto* context = context_of(object);
    if (context == nullptr) return;
    auto* opaque = context->opaque;
    auto& all = captures();
    std::lock_guard lock(all.mutex);
    if (!all.alive.contains(opaque)) return;
    static_cast<LogCapture*>(opaque)->add(text);
}

void log_callback(void* object, int level, const char* format, va_list arguments) {
    if (t_debug != nullptr && level == AV_LOG_DEBUG) return keep_for_debugging(format, arguments);
    // FFmpeg 5 logs it as information, later versions for debugging.
    const bool concealment = level > AV_LOG_WARNING && std::string_view(format).starts_with("concealing ");
    if (!concealment && level > AV_LOG_WARNING && level > g_shown.load(std::memory_order_relaxed)) return;
    char line[1024];
    int print_prefix = 0;  // the address of an object would make equal reports differ
    va_list copy;
    va_copy(copy, arguments);
    av_log_format_line2(object, level, format, copy, line, sizeof line, &print_prefix);
    va_end(copy);
    std::string_view text(line);
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
    if (text.empty()) return;
    try {
        if (level <= AV_LOG_ERROR && t_call != nullptr) t_call->keep(text);
        if (level <= AV_LOG_ERROR || concealment) capture(object, text);
        log(level_of(level), "FFmpeg: " + std::string(text));
    } catch (...) {
        // C callers cannot take an exception; the line is lost.
    }
}

/// " (line)" with the line of the innermost CallLog; empty if it has none.
std::string quoted_line() {
    const auto line = t_call == nullptr ? std::string() : t_call->take();
    return line.empty() ? "" : " (" + line + ")";
}

/// FFmpeg also returns ENOMEM for a size in a header that it never allocates (above INT_MAX), or that no machine has.
/// The tables of an intact file take less memory than the file. If that much can be allocated, the header is wrong.
bool memory_is_short(std::int64_t honest_bytes) noexcept {
    constexpr std::int64_t kLeast = 64 << 20;
    constexpr std::int64_t kMost = INT_MAX;  // of one av_malloc()
    void* const block = av_malloc(static_cast<std::size_t>(std::clamp(honest_bytes, kLeast, kMost)));
    av_free(block);
    return block == nullptr;
}

/// The number in an enum of FFmpeg. Containers put numbers there that the enum does not have, and C++ leaves undefined
/// what reading such a value as the enum gives.
template <class Enum>
int number_of(const Enum& value) noexcept {
    static_assert(sizeof(Enum) == sizeof(int));
    int number = 0;
    std::memcpy(&number, &value, sizeof number);
    return number;
}

/// The colors of a frame or a stream, as numbers of H.273 and of FFmpeg.
struct ColorNumbers {
    AVPixelFormat format;
    int matrix;
    int primaries;
    int transfer;
    int range;
    int location;
};

/// `unspecified` for numbers that do not fit a byte, as H.273 has them.
template <class Enum>
Enum of_h273(int number) noexcept {
    return number >= 0 && number <= 255 ? static_cast<Enum>(number) : Enum::unspecified;
}

ColorDescription to_color(const ColorNumbers& numbers) noexcept {
    ColorDescription color;
    color.matrix = of_h273<ColorMatrix>(numbers.matrix);
    color.primaries = of_h273<ColorPrimaries>(numbers.primaries);
    color.transfer = of_h273<ColorTransfer>(numbers.transfer);
    if (numbers.range >= 0 && numbers.range < AVCOL_RANGE_NB) color.range = static_cast<ColorRange>(numbers.range);
    if (is_full_range_format(numbers.format)) color.range = ColorRange::full;
    if (numbers.location > 0 && numbers.location <= static_cast<int>(ChromaLocation::bottom)) {
        color.chroma_location = static_cast<ChromaLocation>(numbers.location);
    }
    // The matrix "rgb" on a YUV picture is a wrong tag (or a planar RGB stream read as YUV): treat it as not given.
    const auto pixel_format = to_pixel_format(numbers.format);
    if (color.matrix == ColorMatrix::rgb && pixel_format != PixelFormat::unknown &&
        tricodec::info(pixel_format).family != ColorFamily::rgb) {
        color.matrix = ColorMatrix::unspecified;
    }
    return color;
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

void keep_line(std::string_view line) {
    if (!line.empty() && t_call != nullptr) t_call->keep(line);
}

DebugLog::DebugLog(std::string* text) noexcept : outer_(std::exchange(t_debug, text)) {}

DebugLog::~DebugLog() {
    t_debug = outer_;
}

std::string error_text(int code) {
    char text[AV_ERROR_MAX_STRING_SIZE] = {};
    av_strerror(code, text, sizeof text);
    return text + quoted_line();
}

std::string damage_text(int code, ErrorCode kind) {
    if (kind == ErrorCode::corrupt_data && code == AVERROR(ENOMEM)) {
        return "a size in its headers is too large to be correct" + quoted_line();
    }
    if (kind == ErrorCode::corrupt_data && code == AVERROR(EIO)) {
        return "it ends before the size that its headers state" + quoted_line();
    }
    return error_text(code);
}

ErrorCode error_code(int code) noexcept {
    switch (code) {
        case AVERROR(ENOMEM):
        case AVERROR(EAGAIN):  // of opening a codec: its threads could not be started
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
            // Demuxers: Matroska's returns EIO if an element ends early. Our byte readers throw their own errors.
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
    // For root, SVT-AV1 gives the thread that opens it the highest real-time priority. Children would inherit that.
    int policy = 0;
    sched_param priority{};
    const bool known = pthread_getschedparam(pthread_self(), &policy, &priority) == 0;
    const int code = avcodec_open2(&context, &codec, options);
    if (known) pthread_setschedparam(pthread_self(), policy, &priority);
    return code;
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
    constexpr std::size_t kMostKept = 2000;  // a damaged stream can cause a line for every macroblock
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

bool reconfigures(const AVCodec& codec) noexcept {
    const std::string_view name = codec.name;
    return name == "libx264" || name == "libx264rgb" || name.ends_with("_nvenc");
}

bool is_full_range_format(AVPixelFormat format) noexcept {
    const char* name = av_get_pix_fmt_name(format);
    return name != nullptr && std::string_view(name).starts_with("yuvj");
}

ColorDescription color_of(const AVFrame& frame) noexcept {
    return to_color({static_cast<AVPixelFormat>(frame.format), number_of(frame.colorspace),
                     number_of(frame.color_primaries), number_of(frame.color_trc), number_of(frame.color_range),
                     number_of(frame.chroma_location)});
}

ColorDescription color_of(const AVCodecParameters& parameters) noexcept {
    return to_color({static_cast<AVPixelFormat>(parameters.format), number_of(parameters.color_space),
                     number_of(parameters.color_primaries), number_of(parameters.color_trc),
                     number_of(parameters.color_range), number_of(parameters.chroma_location)});
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

const std::uint8_t* side_data(const AVStream& stream, AVPacketSideDataType type, std::size_t size_bytes) noexcept {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 102)  // FFmpeg 6.1
    const AVPacketSideData* side =
        av_packet_side_data_get(stream.codecpar->coded_side_data, stream.codecpar->nb_coded_side_data, type);
    return side != nullptr && side->size >= size_bytes ? side->data : nullptr;
#else
    std::size_t size = 0;
    const auto* data = av_stream_get_side_data(&stream, type, &size);
    return data != nullptr && size >= size_bytes ? data : nullptr;
#endif
}

std::uint8_t* add_side_data(AVStream& stream, AVPacketSideDataType type, std::size_t size_bytes) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 102)  // FFmpeg 6.1
    auto* side = av_packet_side_data_new(&stream.codecpar->coded_side_data, &stream.codecpar->nb_coded_side_data, type,
                                         size_bytes, 0);
    auto* data = side == nullptr ? nullptr : side->data;
#else
    auto* data = av_stream_new_side_data(&stream, type, size_bytes);
#endif
    TRICODEC_EXPECT(data != nullptr, out_of_memory, "could not allocate side data of a stream");
    return data;
}

constexpr std::size_t kMatrixBytes = 9 * sizeof(std::int32_t);

const std::int32_t* display_matrix(const AVStream& stream) noexcept {
    return reinterpret_cast<const std::int32_t*>(side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, kMatrixBytes));
}

void set_display_matrix(AVStream& stream, Orientation orientation) {
    auto* matrix = reinterpret_cast<std::int32_t*>(add_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, kMatrixBytes));
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

const char* version() noexcept {
    return TRICODEC_VERSION;
}

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
