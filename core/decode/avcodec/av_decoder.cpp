// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <utility>

#include "bitstream/key_inspector.h"
#include "bitstream/stream_headers.h"
#include "decode/decoder_records.h"
#include "decode/engines.h"
#include "ffmpeg/block_statistics.h"
#include "ffmpeg/conversions.h"
#include "ffmpeg/decoder_context.h"
#include "ffmpeg/ffmpeg.h"
#include "ffmpeg/stream_info.h"
#include "tricodec/base/thread_pool.h"

namespace tricodec {
namespace {

// libavcodec warns above 16 frame threads: delay and memory grow, and decoding is not faster.
constexpr int kMostThreads = 16;

/// True if time stamps carry the packets' numbers. libavcodec gives a VP9 picture that is shown again the other fields
/// of the packet that coded it. VP9 does not reorder, so the times of a frame are those of its packet.
bool is_numbered_by_dts(const AVCodec& codec) {
    return codec.id == AV_CODEC_ID_VP9;
}

// The number of a packet, which travels through the codec and comes out with its frame.
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 100)  // FFmpeg 6.1
void enable_numbers(AVCodecContext& context) {
    context.flags |= AV_CODEC_FLAG_COPY_OPAQUE;
}
void set_number(AVCodecContext& context, AVPacket& packet, std::int64_t number) {
    packet.opaque = reinterpret_cast<void*>(static_cast<std::intptr_t>(number));
    if (is_numbered_by_dts(*context.codec)) packet.dts = number;
}
std::int64_t number_of(const AVCodecContext& context, const AVFrame& frame) {
    return is_numbered_by_dts(*context.codec) ? frame.pkt_dts : reinterpret_cast<std::intptr_t>(frame.opaque);
}
#else
void enable_numbers(AVCodecContext&) {}
void set_number(AVCodecContext& context, AVPacket& packet, std::int64_t number) {
    context.reordered_opaque = number;
    if (is_numbered_by_dts(*context.codec)) packet.dts = number;
}
std::int64_t number_of(const AVCodecContext& context, const AVFrame& frame) {
    return is_numbered_by_dts(*context.codec) ? frame.pkt_dts : frame.reordered_opaque;
}
#endif

const AVCodec* find_codec(const StreamInfo& stream) {
    auto id = to_av(stream.codec);
    if (id == AV_CODEC_ID_NONE && stream.parameters) id = stream.parameters->codec_id;
    const AVCodec* codec = find_decoder(id);
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
        : facts_{stream.time_base, stream.sample_aspect_ratio, stream.orientation, stream.color},
          has_statistics_(options.block_statistics && stream.codec == CodecId::h264),
          context_(setup(stream, options)),
          packet_(ff::make_packet()),
          keys_(stream) {}
    ~AvDecoder() override {
        if (issues_.num_met() == 0 && !keys_.has_other_headers() && !is_turned_) context_.keep();
    }

    void send(const Packet& packet, std::int64_t tag) override {
        TRICODEC_EXPECT(!ended_, invalid_argument, "the decoder was flushed; call reset() before it decodes more");
        context_.expect_threads();
        const DecodeScope scope(pending_, 1);
        if (!facts_.time_base.known() && packet.time_base.known()) {
            facts_.time_base = packet.time_base;
            context_->pkt_timebase = ff::to_av(packet.time_base);
        }
        const auto number = num_sent_++;
        last_tag_ = tag;
        if (packet.data.empty()) return;  // an empty packet would mean the end to libavcodec
        const ff::CallLog call_log;
        const bool key = keys_.is_key(packet);
        const auto& vp8_color = keys_.vp8_color();
        sent_.add({.number = number,
                   .pts = packet.pts,
                   .dts = packet.dts,
                   .duration = packet.duration,
                   .tag = tag,
                   .key = key,
                   .discard = packet.discard,
                   .chroma_location = keys_.chroma_location(),
                   .color_range = vp8_color ? std::optional(vp8_color->range) : std::nullopt});
        fill_av_packet(*packet_, packet);
        set_number(*context_, *packet_, number);
        const auto log = statistics_log();
        const int code = context_.send(packet_.get(), [this] { return pull(); });
        av_packet_unref(packet_.get());
        if (code < 0) report(code, &packet);
    }

    void send_end() override {
        if (ended_) return;
        const auto log = statistics_log();
        static_cast<void>(context_.send(nullptr, [] { return false; }));
        ended_ = true;
    }

    std::optional<Frame> receive() override {
        if (pending_.empty()) {
            const DecodeScope scope(pending_, 0);
            pull();
        }
        if (pending_.empty()) return std::nullopt;
        auto frame = std::move(pending_.front());
        pending_.pop_front();
        return frame;
    }

    void reset(bool mid_stream) override {
        mid_stream_ = mid_stream;
        context_.flush();
        if (mid_stream) {
            context_->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
        } else {
            context_->flags &= ~AV_CODEC_FLAG_OUTPUT_CORRUPT;
        }
        pending_.clear();
        sent_.clear();
        statistics_text_.clear();
        ended_ = false;
        num_sent_ = 0;
    }

    const std::deque<DecodeIssue>& issues() const noexcept override { return issues_.kept(); }
    std::int64_t num_issues() const noexcept override { return issues_.num_met(); }
    std::string engine() const override { return std::string("libavcodec ") + context_.codec().name; }
    Device device() const noexcept override { return {}; }

private:
    DecoderSetup setup(const StreamInfo& stream, const DecoderOptions& options) {
        DecoderSetup setup;
        setup.codec = find_codec(stream);
        setup.parameters = stream.parameters;
        setup.reuses_codec = options.reuses_codec;
        const int wanted =
            options.num_threads > 0 ? std::min(options.num_threads, 64) : std::min(available_cores(), kMostThreads);
        const int num_threads = is_decoded_by_one_thread(stream) ? 1 : wanted;
        setup.configure = [this, num_threads](AVCodecContext& context) {
            context.pkt_timebase = ff::to_av(facts_.time_base);
            context.thread_count = num_threads;
            context.thread_type = FF_THREAD_FRAME | FF_THREAD_SLICE;
            enable_numbers(context);
            if (has_statistics_) export_blocks(context);
        };
        return setup;
    }

    [[nodiscard]] ff::DebugLog statistics_log() { return ff::DebugLog(has_statistics_ ? &statistics_text_ : nullptr); }

    /// Moves one frame from the codec to pending_. False when there is none now.
    bool pull() {
        const ff::CallLog call_log;
        const auto log = statistics_log();
        for (;;) {
            auto decoded = ff::make_frame();
            const int code = context_.receive(*decoded);
            if (code == AVERROR_EOF) {
                // Error lines of threads about packets without a picture.
                report_lines(context_.take_lines(), kNoTimestamp);
                return false;
            }
            if (code == AVERROR(EAGAIN)) return false;
            if (code < 0) {
                report(code, nullptr);
                continue;
            }
            const auto sent = sent_.find(number_of(*context_, *decoded));
            if (sent.discard) continue;  // libdav1d of FFmpeg 5 gives such frames; libavcodec drops those of others
            // "Corrupt" here only means that earlier frames are unknown to the codec; damage has its own flags.
            if (mid_stream_) decoded->flags &= ~AV_FRAME_FLAG_CORRUPT;
            const auto lines = context_.take_lines();
            // Threads that decode fields miss what another one has. Of damage the codec also writes a line.
            const bool has_frame_threads = (context_->active_thread_type & FF_THREAD_FRAME) != 0;
            if (has_frame_threads && lines.empty() && issues_.num_met() == 0) {
                decoded->flags &= ~AV_FRAME_FLAG_CORRUPT;
                decoded->decode_error_flags = 0;
            }
            auto statistics = has_statistics_ ? block_statistics(*decoded, statistics_text_) : nullptr;
            is_turned_ = is_turned_ || av_frame_get_side_data(decoded.get(), AV_FRAME_DATA_DISPLAYMATRIX) != nullptr;
            auto frame = to_frame(std::move(decoded), facts_);
            frame.block_statistics = std::move(statistics);
            frame.index = sent.tag;
            frame.key = sent.key;
            if (sent.chroma_location) {
                const bool says = *sent.chroma_location != ChromaLocation::unspecified;
                frame.color.chroma_location = says ? *sent.chroma_location : facts_.color.chroma_location;
            }
            if (sent.color_range) frame.color.range = *sent.color_range;
            if (is_numbered_by_dts(context_.codec())) {
                frame.pts = sent.pts != kNoTimestamp ? sent.pts : sent.dts;
                frame.duration = sent.duration;
            }
            report_lines(lines, frame.pts);
            // The lines are about the packet sent last, and this picture may be of an earlier one.
            if (frame.corrupt && (lines.empty() || sent.number != num_sent_ - 1)) {
                issues_.add({num_sent_ - 1, frame.pts, -1,
                             "the picture is damaged, or was made up where data are missing", sent.tag});
            }
            pending_.push_back(std::move(frame));
            return true;
        }
    }

    void report_lines(const std::string& lines, std::int64_t pts) {
        if (!lines.empty()) issues_.add({num_sent_ - 1, pts, -1, lines, last_tag_});
    }

    void report(int code, const Packet* packet) {
        TRICODEC_EXPECT(context_.code_of(code) != ErrorCode::out_of_memory, out_of_memory,
                        "the decoder '" + std::string(context_.codec().name) + "' ran out of memory");
        std::string message = ff::error_text(code);
        if (const auto lines = context_.take_lines(); !lines.empty()) message += ": " + lines;
        const auto [pts, pos] =
            packet == nullptr ? std::pair(kNoTimestamp, std::int64_t{-1}) : std::pair(packet->pts, packet->pos);
        issues_.add({num_sent_ - 1, pts, pos, message, last_tag_});
    }

    StreamFacts facts_;
    bool has_statistics_;
    bool mid_stream_ = false;
    std::string statistics_text_;  // of pictures that are not returned yet
    DecoderContext context_;
    ff::PacketPtr packet_;
    KeyInspector keys_;
    SentPackets sent_;
    std::deque<Frame> pending_;
    RecentIssues issues_;
    std::int64_t num_sent_ = 0;
    std::int64_t last_tag_ = -1;  // of the packet sent last
    bool ended_ = false;
    bool is_turned_ = false;  // by a message of the stream, which the codec remembers
};

}  // namespace

std::unique_ptr<Decoder> make_av_decoder(const StreamInfo& stream, const DecoderOptions& options) {
    return std::make_unique<AvDecoder>(stream, options);
}

}  // namespace tricodec
