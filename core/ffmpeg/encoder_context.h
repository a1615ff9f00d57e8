// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "ffmpeg/ffmpeg.h"
#include "tricodec/io/stream_info.h"

namespace tricodec {

using CodecSettings = std::map<std::string, std::string>;

/// Puts "name=value" before what the caller wrote in an option that is a list of such; the last of a name counts.
void put_first(CodecSettings& settings, const std::string& option, const std::string& first);

/// Note [Calls of slow encoders]: one call of libx265 or libx264 may take seconds, and nothing ends it. So it runs on a
/// thread of the pool, and the caller waits in a way that Ctrl-C ends. That thread then finishes its call alone, and
/// closes the encoder. Handing a picture over costs 0.1 to 0.3 ms, which is much beside a fast call. So a call runs on
/// the caller's thread if the last one that gave a packet was short. Before the first one, the size of the pictures
/// decides. The end of a stream gives many pictures at once, so it never does.
///
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

    /// Sends a frame; null ends the stream. After what check_interrupt() throws, the encoder may have the frame.
    void send(const AVFrame* frame);
    /// The next packet, or null until more is sent.
    [[nodiscard]] ff::PacketPtr receive();
    /// Waits for a call that an interrupt has left at work, before the fields change.
    void settle();

private:
    class Exchange;
    class Left;
    struct Opened;

    [[nodiscard]] bool begin(const AVFrame* frame);
    [[nodiscard]] std::string text_of(int code);
    [[noreturn]] void fail_with(int code);

    const AVCodec& codec_;
    std::shared_ptr<Opened> opened_;
    AVCodecContext* context_;  ///< that of `opened_`
    std::shared_ptr<Exchange> pending_;
    std::deque<ff::PacketPtr> ready_;
    int failure_ = 0;  ///< of receiving, after the packets that are ready
    bool is_slow_ = false;
};

}  // namespace tricodec
