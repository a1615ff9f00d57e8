// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ffmpeg/ffmpeg.h"
#include "ffmpeg/frame_memory.h"
#include "ffmpeg/picture_limits.h"
#include "tricodec/base/fork.h"

namespace tricodec {

/// libavcodec's decoder of a codec, or null. The software decoders of AV1 come first: FFmpeg's own only drives
/// hardware.
[[nodiscard]] const AVCodec* find_decoder(AVCodecID id) noexcept;

/// True if a decoder of the codec works on one picture at a time, so that further threads of it gain little.
///
/// libdav1d before 1.5.1 can wait for its own threads forever in a damaged stream, if they decode several pictures at
/// once. An FFmpeg that has libdav1d inside may not show its version; tricodec's wheel
/// has a later one.
[[nodiscard]] bool decodes_one_picture_at_once(const AVCodec& codec);

/// What libavcodec takes from the system for an open decoder of H.264 or HEVC, beside pictures of ours. Fitted to
/// measurements.
[[nodiscard]] constexpr std::int64_t open_codec_bytes(std::int64_t num_pixels, int num_threads) noexcept {
    return num_threads * ((std::int64_t{1} << 20) + 500'000 + 2 * num_pixels);
}

/// What a codec is opened with: the headers of its stream, and how to decode it.
struct CodecFacts {
    std::vector<std::int64_t> numbers{};
    std::string extradata{};

    bool operator==(const CodecFacts&) const = default;
};

struct DecoderSetup {
    const AVCodec* codec = nullptr;
    std::shared_ptr<const AVCodecParameters> parameters;  ///< null where packets carry their own headers
    std::map<std::string, std::string> settings;          ///< of the codec, by FFmpeg's names
    /// The caller chose the codec and its settings, so that a failure to open them is no damage.
    bool by_caller = false;
    bool reuses_codec = false;                       ///< DecoderOptions::reuses_codec
    std::function<void(AVCodecContext&)> configure;  ///< other fields, before it is opened
};

/// An open decoder of libavcodec, for Decoder and StreamReader: its memory, its limits and its error lines.
/// In a forked child, where its threads do not exist, it is opened again if it is at its start; else calls fail until
/// flush(). A decoder without threads continues. Note [Fork], base/fork.h.
class DecoderContext {
public:
    /// Throws Error(invalid_argument, unsupported) for choices of the caller, Error(refused, corrupt_data) for headers.
    explicit DecoderContext(DecoderSetup setup);

    [[nodiscard]] AVCodecContext* get() const noexcept { return context_.get(); }
    [[nodiscard]] AVCodecContext* operator->() const noexcept { return context_.get(); }
    [[nodiscard]] AVCodecContext& operator*() const noexcept { return *context_; }
    [[nodiscard]] const AVCodec& codec() const noexcept { return *setup_.codec; }

    /// Throws Error(unsupported) where the threads are lost. send() and receive() call it.
    void expect_threads();
    /// Sends a packet; null ends the stream. While the queue is full, `drain` takes a frame out; it returns false if
    /// there is none. Returns libavcodec's code.
    template <class Drain>
    [[nodiscard]] int send(const AVPacket* packet, Drain drain) {
        expect_threads();
        at_start_ = false;
        int code = avcodec_send_packet(context_.get(), packet);
        while (code == AVERROR(EAGAIN) && drain()) code = avcodec_send_packet(context_.get(), packet);
        return code;
    }
    /// avcodec_receive_frame(). Throws Error(refused) for a picture past the limits.
    [[nodiscard]] int receive(AVFrame& frame);
    /// Back to the start, for use after a seek.
    void flush();
    /// The last call, for a codec that has met no damage: keeps it for a later stream. Note [Kept codecs]
    void keep() noexcept;

    /// What the decoder has said since the last call. Throws Error(refused) if it refused the size of a picture.
    [[nodiscard]] std::string take_lines();
    void forget_lines() { (void)state_->take(); }
    /// What a failure of send() or receive() means.
    [[nodiscard]] ErrorCode code_of(int code) const noexcept;

private:
    /// Callbacks of a codec context find it by `opaque`, the address of its base.
    struct State : ff::LogCapture {
        FrameMemory memory;
        PictureLimits limits;
        /// There was no memory for a picture. H.264's decoder may report that as damage.
        std::atomic<bool> has_run_short = false;
    };
    class KeptCodecs;

    [[nodiscard]] static int get_buffer(AVCodecContext* context, AVFrame* frame, int flags);
    [[nodiscard]] bool has_lost_threads() const noexcept { return mark_.in_child() && context_->thread_count != 1; }
    void open();

    DecoderSetup setup_;
    PictureLimits limits_;
    ForkMark mark_;
    std::unique_ptr<State> state_;  // outlives the context: its threads use it
    ff::CodecContextPtr context_;
    bool at_start_ = true;
    std::optional<CodecFacts> opened_with_;  // nothing: it serves no other stream
};

}  // namespace tricodec
