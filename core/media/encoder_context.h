// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "media/ffmpeg.h"
#include "tricodec/base/fork.h"
#include "tricodec/media/stream_info.h"

namespace tricodec {

using CodecSettings = std::map<std::string, std::string>;

/// Puts "name=value" before what the caller wrote in an option that is a list of such; the last of a name counts.
void put_first(CodecSettings& settings, const std::string& option, const std::string& first);

/// An encoder of libavcodec, for Encoder and StreamWriter: its opening, its queue, its end and its error lines.
class EncoderContext {
public:
    explicit EncoderContext(const AVCodec& codec);
    ~EncoderContext();
    EncoderContext(const EncoderContext&) = delete;
    EncoderContext& operator=(const EncoderContext&) = delete;

    [[nodiscard]] AVCodecContext* operator->() const noexcept { return context_; }
    [[nodiscard]] AVCodecContext& operator*() const noexcept { return *context_; }
    [[nodiscard]] const AVCodec& codec() const noexcept { return codec_; }

    /// To be called once, after the fields are set. Throws Error(invalid_argument) for settings and fields that the
    /// encoder does not accept, and Error(unsupported) for hardware that cannot be opened. If the hardware is known to
    /// `work`, its failures are invalid arguments, too.
    void open(CodecSettings settings, bool works = false);
    /// The stream, as far as the context describes it, with its parameters.
    [[nodiscard]] StreamInfo describe() const;

    /// Sends a frame; null ends the stream. While the queue is full, `drain` takes packets out; it returns false if
    /// there is none.
    template <class Drain>
    void send(const AVFrame* frame, Drain drain) {
        if (!begin(frame)) return;
        int code = avcodec_send_frame(context_, frame);
        while (code == AVERROR(EAGAIN) && drain()) code = avcodec_send_frame(context_, frame);
        if (code < 0) fail_with(code);
    }
    /// The next packet, or null until more is sent.
    [[nodiscard]] ff::PacketPtr receive();

private:
    [[nodiscard]] bool begin(const AVFrame* frame);
    [[nodiscard]] std::string text_of(int code);
    [[noreturn]] void fail_with(int code);

    /// The encoder, which its destructor closes: libx265 and SVT-AV1 finish the pictures that they are at work on.
    struct Opened {
        explicit Opened(const AVCodec& codec);
        ~Opened();
        Opened(const Opened&) = delete;
        Opened& operator=(const Opened&) = delete;

        ForkMark mark;
        ff::LogCapture log;  // outlives the context: its threads use it
        ff::CodecContextPtr context;
        bool is_open = false;
        bool has_frames = false;
        bool has_end = false;

    private:
        void end_before_close() noexcept;
    };

    const AVCodec& codec_;
    std::shared_ptr<Opened> opened_;
    AVCodecContext* context_;  ///< that of `opened_`
};

}  // namespace tricodec
