// SPDX-License-Identifier: Apache-2.0
#include "ffmpeg/encoder_context.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "base/executor.h"
#include "base/suggestion.h"
#include "ffmpeg/dictionary.h"
#include "ffmpeg/stream_info.h"
#include "tricodec/base/interrupt.h"
#include "tricodec/base/text.h"

namespace tricodec {
namespace {

/// libx265 and SVT-AV1 print to standard error by themselves, unless an option keeps them from it.
void silence(std::string_view name, CodecSettings& settings) {
    if (name == "libx265") {
        put_first(settings, "x265-params", "log-level=error");
    } else if (name == "libsvtav1") {
        static std::once_flag once;
        std::call_once(once, [] { ::setenv("SVT_LOG", "1", 0); });  // its only switch; the user's own value stays
    }
}

/// With AVX-512 libx264 (164) looks at memory that it has not written: the same pictures give other bytes from call to
/// call, in the ffmpeg command too. Its AVX2 code does not.
void keep_deterministic(std::string_view name, CodecSettings& settings) {
#if defined(__x86_64__)
    if ((name == "libx264" || name == "libx264rgb") && __builtin_cpu_supports("avx512f") != 0)
        put_first(settings, "x264-params", "asm=AVX2");
#endif
}

/// The preset of libx264 and libx265 in small letters. They print their complaint to standard error, and libavcodec's
/// words for it name no preset.
void check_preset(std::string_view name, CodecSettings& settings) {
    constexpr std::string_view kPresets =
        "ultrafast, superfast, veryfast, faster, fast, medium, slow, slower, veryslow, placebo";
    const auto given = settings.find("preset");
    if ((name != "libx264" && name != "libx264rgb" && name != "libx265") || given == settings.end()) return;
    std::string& preset = given->second;
    preset = lower(preset);
    const bool is_number = preset.size() == 1 && preset[0] >= '0' && preset[0] <= '9';
    const bool is_listed = (", " + std::string(kPresets) + ", ").find(", " + preset + ", ") != std::string::npos;
    TRICODEC_EXPECT(is_number || is_listed, invalid_argument,
                    "preset '" + preset + "' is not one of " + std::string(kPresets) + did_you_mean(preset, kPresets));
}

ff::FramePtr blank(const AVCodecContext& context) {
    ff::FramePtr picture(av_frame_alloc());
    if (!picture) return nullptr;
    picture->format = context.pix_fmt;
    picture->width = context.width;
    picture->height = context.height;
    if (av_frame_get_buffer(picture.get(), 0) < 0) return nullptr;
    for (const AVBufferRef* buffer : picture->buf) {
        if (buffer != nullptr) std::memset(buffer->data, 0, buffer->size);
    }
    picture->pts = 0;
    return picture;
}

}  // namespace

void put_first(CodecSettings& settings, const std::string& option, const std::string& first) {
    auto& list = settings[option];
    list = list.empty() ? first : first + ":" + list;
}

// Note [Calls of slow encoders]
constexpr auto kShort = std::chrono::milliseconds(20);
constexpr std::int64_t kLargePixels = 40'000;
constexpr int kMostChecks = 60;  // each 5 ms

/// An encoder that its caller has left. Its threads must not work while static objects end: the exit of the process
/// waits for it, or after a moment ends the process at once. A child does not have it.
class EncoderContext::Left {
public:
    Left() {
        static std::once_flag once;
        std::call_once(once, [] { ::on_exit(wait, nullptr); });
        const auto here = ::getpid();
        if (owner.exchange(here) != here) number = 0;
        ++number;
    }
    ~Left() { --number; }
    Left(const Left&) = delete;
    Left& operator=(const Left&) = delete;

private:
    static void wait(int status, void*) noexcept {
        for (int i = 0; owner == ::getpid() && number > 0; ++i) {
            if (i == kMostChecks) {
                std::fflush(nullptr);
                ::_exit(status);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }

    static inline std::atomic<pid_t> owner{0};
    static inline std::atomic<int> number{0};
};

/// The encoder, which its destructor closes: libx265 and SVT-AV1 finish the pictures that they are at work on.
struct EncoderContext::Opened {
    explicit Opened(const AVCodec& codec);
    ~Opened();

    std::optional<Left> left;  // outlives the context
    ForkMark mark;
    ff::LogCapture log;  // outlives the context: its threads use it
    ff::CodecContextPtr context;
    bool is_open = false;
    bool has_frames = false;
    bool has_end = false;

private:
    void end_before_close() noexcept;
};

/// A frame on its way to an encoder, and the packets that come out.
class EncoderContext::Exchange {
public:
    Exchange(std::shared_ptr<Opened> opened, ff::FramePtr frame)
        : opened_(std::move(opened)), frame_(std::move(frame)) {}

    void run() noexcept {
        auto* const context = opened_->context.get();
        const auto begun = std::chrono::steady_clock::now();
        try {
            ff::CallLog log;
            code = avcodec_send_frame(context, frame_.get());
            while (code == AVERROR(EAGAIN) && receive(*context)) code = avcodec_send_frame(context, frame_.get());
            while (code >= 0 && !is_left_ && receive(*context)) {
            }
            frame_.reset();
            line = log.take();
        } catch (...) {
            failure = AVERROR(ENOMEM);
        }
        is_long = std::chrono::steady_clock::now() - begun > kShort;
        {
            const std::lock_guard lock(mutex_);
            if (!is_left_) opened_ = nullptr;
            is_done_ = true;
            changed_.notify_all();
        }
        opened_ = nullptr;
    }
    /// Throws what check_interrupt() throws.
    void wait() {
        std::unique_lock lock(mutex_);
        wait_interruptibly(changed_, lock, [&] { return is_done_; });
    }
    /// The caller needs the rest no more. While the exchange is at work, it takes over the encoder and closes it.
    void leave(std::shared_ptr<Opened>& opened) {
        const std::lock_guard lock(mutex_);
        is_left_ = true;
        if (is_done_) return;
        opened->left.emplace();
        opened = nullptr;
    }

    std::deque<ff::PacketPtr> packets;
    std::string line;
    int code = 0;
    int failure = 0;
    bool is_long = false;

private:
    bool receive(AVCodecContext& context) {
        auto packet = ff::make_packet();
        const int received = avcodec_receive_packet(&context, packet.get());
        if (received >= 0) packets.push_back(std::move(packet));
        if (received < 0 && received != AVERROR(EAGAIN) && received != AVERROR_EOF) failure = received;
        return received >= 0;
    }

    std::shared_ptr<Opened> opened_;
    ff::FramePtr frame_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_done_ = false;
    std::atomic<bool> is_left_{false};
};

EncoderContext::EncoderContext(const AVCodec& codec)
    : codec_(codec), opened_(std::make_shared<Opened>(codec)), context_(opened_->context.get()) {}

/// After Ctrl-C the caller does not wait for the encoder to finish its pictures, which may take seconds.
EncoderContext::~EncoderContext() {
    if (opened_->mark.in_child()) {
        (void)new std::shared_ptr(std::move(pending_));  // Note [Fork]: its thread may be at work
        return;
    }
    if (pending_) pending_->leave(opened_);
    if (!opened_ || !opened_->is_open || !is_interrupted()) return;
    try {
        opened_->left.emplace();
        submit([opened = std::move(opened_)] {});
    } catch (const Error&) {  // no thread: `opened` was closed with the function
    }
}

EncoderContext::Opened::Opened(const AVCodec& codec) : context(avcodec_alloc_context3(&codec)) {
    ff::install_log();
    TRICODEC_EXPECT(context != nullptr, out_of_memory, "could not allocate an encoder");
    context->opaque = &log;
}

EncoderContext::Opened::~Opened() {
    if (!mark.in_child()) end_before_close();
}

void EncoderContext::open(CodecSettings given, bool works) {
    const ff::CallLog call_log;
    check_preset(codec_.name, given);
    silence(codec_.name, given);
    keep_deterministic(codec_.name, given);
    Dictionary settings(given);
    const int code = ff::open_codec(*context_, codec_, &settings.entries);
    opened_->is_open = code >= 0;
    const std::string name = codec_.name;
    if (code < 0) {
        const std::string text = "cannot open the encoder '" + name + "': " + text_of(code);
        // Without the hardware, its wrappers return many codes.
        const bool hardware = !works && avcodec_get_hw_config(&codec_, 0) != nullptr;
        if (hardware) {
            fail(ErrorCode::unsupported,
                 text + "; the GPU or its driver cannot do this: use a software encoder (libx264, libx265, libsvtav1)");
        }
        const auto kind = ff::error_code(code);
        fail(kind == ErrorCode::corrupt_data ? ErrorCode::invalid_argument : kind,
             text + "; `ffmpeg -h encoder=" + name + "` lists its options and formats");
    }
    TRICODEC_EXPECT(settings.keys().empty(), invalid_argument,
                    "unexpected encoder options " + settings.keys() + ": '" + name +
                        "' has none of these names; `ffmpeg -h encoder=" + name + "` lists those that it has");
    is_slow_ = context_->width * std::int64_t{context_->height} >= kLargePixels;
}

void EncoderContext::send(const AVFrame* frame) {
    settle();
    if (!begin(frame)) return;
    ff::FramePtr copy(frame == nullptr ? nullptr : av_frame_clone(frame));
    TRICODEC_EXPECT(frame == nullptr || copy != nullptr, out_of_memory, "could not allocate a picture");
    pending_ = std::make_shared<Exchange>(opened_, std::move(copy));
    try {
        const bool is_software =
            codec_.type == AVMEDIA_TYPE_VIDEO && (codec_.capabilities & AV_CODEC_CAP_HARDWARE) == 0;
        if (is_software && (is_slow_ || frame == nullptr)) {
            submit([exchange = pending_] { exchange->run(); });
        } else {
            pending_->run();
        }
    } catch (const Error&) {  // no thread could be started
        pending_->run();
    }
    settle();
}

void EncoderContext::settle() {
    if (!pending_) return;
    pending_->wait();
    const auto done = std::exchange(pending_, nullptr);
    if (done->is_long || !done->packets.empty()) is_slow_ = done->is_long;
    for (auto& packet : done->packets) ready_.push_back(std::move(packet));
    if (done->failure < 0) failure_ = done->failure;
    ff::keep_line(done->line);
    if (done->code < 0) fail_with(done->code);
}

StreamInfo EncoderContext::describe() const {
    ff::ParametersPtr parameters(avcodec_parameters_alloc());
    TRICODEC_EXPECT(parameters != nullptr, out_of_memory, "could not allocate codec parameters");
    ff::check(avcodec_parameters_from_context(parameters.get(), context_), "describing the encoder's stream");
    StreamInfo stream;
    stream.kind = codec_.type == AVMEDIA_TYPE_VIDEO ? StreamKind::video : StreamKind::audio;
    stream.codec = to_codec(codec_.id);
    stream.codec_name = avcodec_get_name(codec_.id);
    if (const char* profile = avcodec_profile_name(codec_.id, context_->profile)) stream.profile = profile;
    stream.level = context_->level < 0 ? -1 : context_->level;
    stream.time_base = ff::to_rational(context_->time_base);
    if (stream.kind == StreamKind::video) {
        stream.width = context_->width;
        stream.height = context_->height;
        stream.average_frame_rate = stream.real_frame_rate = ff::to_rational(context_->framerate);
    } else {
        stream.sample_rate = context_->sample_rate;
        stream.num_channels = context_->ch_layout.nb_channels;
    }
    stream.parameters = ff::share(std::move(parameters));
    return stream;
}

/// Notes the frame. False if there is nothing to send.
bool EncoderContext::begin(const AVFrame* frame) {
    if (frame != nullptr) {
        opened_->has_frames = true;
        return true;
    }
    // SVT-AV1 would wait for a packet of no picture.
    if (!opened_->has_frames && codec_.type == AVMEDIA_TYPE_VIDEO) return false;
    return !std::exchange(opened_->has_end, true);
}

ff::PacketPtr EncoderContext::receive() {
    settle();
    if (ready_.empty() && failure_ < 0) fail_with(std::exchange(failure_, 0));
    if (ready_.empty()) return nullptr;
    auto first = std::move(ready_.front());
    ready_.pop_front();
    return first;
}

std::string EncoderContext::text_of(int code) {
    std::string text = ff::error_text(code);
    const auto lines = opened_->log.take();
    if (!lines.empty() && text.find(lines) == std::string::npos) text += ": " + lines;
    return text;
}

void EncoderContext::fail_with(int code) {
    const auto kind = code == AVERROR(ENOMEM)   ? ErrorCode::out_of_memory
                      : code == AVERROR(EINVAL) ? ErrorCode::invalid_argument
                                                : ErrorCode::internal;
    fail(kind, "the encoder '" + std::string(codec_.name) + "' failed: " + text_of(code));
}

/// SVT-AV1 (1.4.1 under load) waits forever for its own threads if it is closed without a picture, or before the end
/// of its stream. So it gets a picture if it had none, then the end, and its packets are dropped.
void EncoderContext::Opened::end_before_close() noexcept {
    if (!is_open || std::string_view(context->codec->name) != "libsvtav1") return;
    if (!has_frames) {
        const auto picture = blank(*context);
        if (!picture || avcodec_send_frame(context.get(), picture.get()) < 0) return;
    }
    const ff::PacketPtr packet(av_packet_alloc());
    if (!packet) return;
    int code = has_end ? 0 : avcodec_send_frame(context.get(), nullptr);
    while (code == 0 || code == AVERROR(EAGAIN)) {
        const int received = avcodec_receive_packet(context.get(), packet.get());
        if (received < 0) return;
        av_packet_unref(packet.get());
        if (code == AVERROR(EAGAIN)) code = avcodec_send_frame(context.get(), nullptr);  // the queue was full
    }
}

}  // namespace tricodec
