// SPDX-License-Identifier: Apache-2.0
#include "video/avcodec/av_decoder.h"

#include <algorithm>
#include <deque>

#include "base/stage_scope.h"
#include "media/codec.h"
#include "media/ffmpeg.h"
#include "media/packet.h"
#include "media/picture_limits.h"
#include "tricodec/thread_pool.h"
#include "video/avcodec/av_frame.h"
#include "video/avcodec/frame_memory.h"
#include "video/issue_list.h"

namespace tricodec {
namespace {

// Past 16 frame threads libavcodec warns itself: delay and memory grow and nothing gets faster.
constexpr int kMostThreads = 16;

// Numbers that travel through the codec with a packet and come out with its frame.
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 100)  // FFmpeg 6.1
void enable_tags(AVCodecContext& context) {
    context.flags |= AV_CODEC_FLAG_COPY_OPAQUE;
}
void set_tag(AVCodecContext&, AVPacket& packet, std::int64_t tag) {
    packet.opaque = reinterpret_cast<void*>(static_cast<std::intptr_t>(tag));
}
std::int64_t tag_of(const AVFrame& frame) {
    return reinterpret_cast<std::intptr_t>(frame.opaque);
}
#else
void enable_tags(AVCodecContext&) {}
void set_tag(AVCodecContext& context, AVPacket&, std::int64_t tag) {
    context.reordered_opaque = tag;
}
std::int64_t tag_of(const AVFrame& frame) {
    return frame.reordered_opaque;
}
#endif

/// What callbacks of a codec context find by its `opaque`, which is the address of the base.
struct ContextState : ff::LogCapture {
    FrameMemory memory;
};

int get_buffer(AVCodecContext* context, AVFrame* frame, int flags) {
    auto* state = static_cast<ContextState*>(static_cast<ff::LogCapture*>(context->opaque));
    return state->memory.get(*context, *frame, flags);
}

#if LIBAVCODEC_VERSION_MAJOR < 60
void allow_any_thread(AVCodecContext& context) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // later versions take it for granted
    context.thread_safe_callbacks = 1;
#pragma GCC diagnostic pop
}
#else
void allow_any_thread(AVCodecContext&) {}
#endif

const AVCodec* find_codec(const StreamInfo& stream) {
    auto id = to_av(stream.codec);
    if (id == AV_CODEC_ID_NONE && stream.parameters) id = stream.parameters->codec_id;
    // FFmpeg's own "av1" only drives hardware; dav1d is the fastest of the others.
    if (id == AV_CODEC_ID_AV1) {
        for (const char* name : {"libdav1d", "libaom-av1"}) {
            if (const AVCodec* codec = avcodec_find_decoder_by_name(name)) return codec;
        }
    }
    const AVCodec* codec = avcodec_find_decoder(id);
    TRICODEC_EXPECT(codec != nullptr, unsupported,
                    "no decoder for '" + stream.codec_name + "' is in this FFmpeg (libavcodec " +
                        std::to_string(LIBAVCODEC_VERSION_MAJOR) +
                        "); install one that has it, or transcode the video");
    TRICODEC_EXPECT(codec->type == AVMEDIA_TYPE_VIDEO, invalid_argument,
                    "'" + stream.codec_name + "' is not a video codec");
    return codec;
}

class AvDecoder final : public Decoder {
public:
    AvDecoder(const StreamInfo& stream, const DecoderOptions& options)
        : codec_(find_codec(stream)), packet_(ff::make_packet()) {
        ff::install_log();
        context_.reset(avcodec_alloc_context3(codec_));
        TRICODEC_EXPECT(context_ != nullptr, out_of_memory, "could not allocate a decoder");
        if (stream.parameters) {
            ff::check(avcodec_parameters_to_context(context_.get(), stream.parameters.get()),
                      "reading codec parameters");
        }
        context_->opaque = static_cast<ff::LogCapture*>(&state_);
        state_.memory.set_blank(options.blank_pictures);
        context_->get_buffer2 = get_buffer;
        allow_any_thread(*context_);
        context_->pkt_timebase = ff::to_av(stream.time_base);
        context_->max_pixels = size_limits_.max_coded_pixels();
        context_->thread_count =
            options.num_threads > 0 ? std::min(options.num_threads, 64) : std::min(available_cores(), kMostThreads);
        context_->thread_type = FF_THREAD_FRAME | FF_THREAD_SLICE;
        enable_tags(*context_);
        const int opened = avcodec_open2(context_.get(), codec_, nullptr);
        if (opened < 0) {
            const std::string reason = ff::error_text(opened);
            size_limits_.expect_no_refusal(reason);  // a header's size, where more than one stands before the pictures
            fail(ff::error_code(opened), "cannot open the decoder '" + std::string(codec_->name) + "': " + reason);
        }
        facts_ = {stream.time_base, stream.sample_aspect_ratio, stream.orientation, stream.color};
    }

    void send(const Packet& packet, std::int64_t tag) override {
        TRICODEC_EXPECT(!ended_, invalid_argument, "send() after send_end(); call reset() first");
        const StageScope scope(Stage::decode);
        if (!facts_.time_base.known() && packet.time_base.known()) {
            facts_.time_base = packet.time_base;
            context_->pkt_timebase = ff::to_av(packet.time_base);
        }
        ++num_sent_;
        last_tag_ = tag;
        if (packet.data.empty()) return;  // an empty packet would mean the end to libavcodec
        fill_av_packet(*packet_, packet);
        set_tag(*context_, *packet_, tag);
        int code = avcodec_send_packet(context_.get(), packet_.get());
        while (code == AVERROR(EAGAIN)) {
            // The codec's own queue is full: take frames out until it accepts the packet.
            if (!pull()) break;
            code = avcodec_send_packet(context_.get(), packet_.get());
        }
        av_packet_unref(packet_.get());
        if (code < 0) report(code, &packet);
    }

    void send_end() override {
        if (ended_) return;
        ended_ = true;
        avcodec_send_packet(context_.get(), nullptr);
    }

    std::optional<Frame> receive() override {
        if (pending_.empty()) {
            const StageScope scope(Stage::decode);
            pull();
        }
        if (pending_.empty()) return std::nullopt;
        auto frame = std::move(pending_.front());
        pending_.pop_front();
        return frame;
    }

    void reset(bool mid_stream) override {
        avcodec_flush_buffers(context_.get());
        mid_stream_ = mid_stream;
        if (mid_stream) {
            context_->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
        } else {
            context_->flags &= ~AV_CODEC_FLAG_OUTPUT_CORRUPT;
        }
        pending_.clear();
        ended_ = false;
        num_sent_ = 0;
        (void)state_.take();
    }

    const std::deque<DecodeIssue>& issues() const noexcept override { return issues_.kept(); }
    std::int64_t num_issues() const noexcept override { return issues_.num_met(); }
    std::string engine() const override { return std::string("libavcodec ") + codec_->name; }
    Device device() const noexcept override { return {}; }

private:
    /// Moves one frame from the codec to pending_. False when there is none now.
    bool pull() {
        for (;;) {
            auto decoded = ff::make_frame();
            const int code = avcodec_receive_frame(context_.get(), decoded.get());
            if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return false;
            if (code < 0) {
                report(code, nullptr);
                continue;
            }
            size_limits_.expect(decoded->width, decoded->height, "a picture of the stream");
            const auto tag = tag_of(*decoded);
            // "Corrupt" here only says that the codec does not know what came before; damage has its own flags.
            if (mid_stream_) decoded->flags &= ~AV_FRAME_FLAG_CORRUPT;
            auto frame = to_frame(std::move(decoded), facts_);
            frame.index = tag;
            const auto lines = state_.take();
            size_limits_.expect_no_refusal(lines);
            if (!lines.empty()) issues_.add({num_sent_ - 1, frame.pts, -1, lines, last_tag_});
            // The lines are about the packet sent last, and this picture may be of an earlier one.
            if (frame.corrupt && (lines.empty() || tag != last_tag_)) {
                issues_.add({num_sent_ - 1, frame.pts, -1,
                             "the picture is damaged, or was made up where data are missing", tag});
            }
            pending_.push_back(std::move(frame));
            return true;
        }
    }

    void report(int code, const Packet* packet) {
        TRICODEC_EXPECT(code != AVERROR(ENOMEM), out_of_memory,
                        "the decoder '" + std::string(codec_->name) + "' ran out of memory");
        std::string message = ff::error_text(code);
        if (const auto lines = state_.take(); !lines.empty()) {
            size_limits_.expect_no_refusal(lines);
            message += ": " + lines;
        }
        if (packet != nullptr) {
            issues_.add({num_sent_ - 1, packet->pts, packet->pos, message, last_tag_});
        } else {
            issues_.add({num_sent_ - 1, kNoTimestamp, -1, message, last_tag_});
        }
    }

    const AVCodec* codec_;
    PictureLimits size_limits_;
    ContextState state_;  // outlives the context, whose threads use it
    ff::CodecContextPtr context_;
    ff::PacketPtr packet_;
    StreamFacts facts_;
    std::deque<Frame> pending_;
    RecentIssues issues_;
    std::int64_t num_sent_ = 0;
    std::int64_t last_tag_ = -1;  // of the packet sent last
    bool ended_ = false;
    bool mid_stream_ = false;
};

}  // namespace

std::unique_ptr<Decoder> make_av_decoder(const StreamInfo& stream, const DecoderOptions& options) {
    return std::make_unique<AvDecoder>(stream, options);
}

}  // namespace tricodec
