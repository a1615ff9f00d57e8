// SPDX-License-Identifier: Apache-2.0
#include "ffmpeg/decoder_context.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>

#include "base/fork.h"
#include "ffmpeg/dictionary.h"

namespace tricodec {
namespace {

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

CodecFacts facts_of(const AVCodecContext& c) {
    CodecFacts facts{{c.codec_id,
                      c.codec_tag,
                      c.width,
                      c.height,
                      c.pix_fmt,
                      c.profile,
                      c.level,
                      c.has_b_frames,
                      c.sample_aspect_ratio.num,
                      c.sample_aspect_ratio.den,
                      c.field_order,
                      c.color_primaries,
                      c.color_trc,
                      c.colorspace,
                      c.color_range,
                      c.chroma_sample_location,
                      c.thread_count,
                      c.flags & ~AV_CODEC_FLAG_OUTPUT_CORRUPT,
                      c.flags2,
                      c.err_recognition,
                      c.export_side_data,
                      c.debug,
                      c.max_pixels}};
    if (c.extradata_size > 0) facts.extradata.assign(reinterpret_cast<const char*>(c.extradata), c.extradata_size);
    return facts;
}

void open_codec(AVCodecContext& context, const DecoderSetup& setup, const PictureLimits& limits) {
    const auto& codec = *setup.codec;
    Dictionary settings(setup.settings);
    const int opened = ff::open_codec(context, codec, &settings.entries);
    if (opened < 0) {
        const std::string reason = ff::error_text(opened);
        limits.expect_no_refusal(reason);  // the size in a header, where several precede the pictures
        const bool argument = opened == AVERROR_OPTION_NOT_FOUND || opened == AVERROR(EINVAL);
        const auto kind = !setup.by_caller ? ff::damage_code(opened)
                          : argument       ? ErrorCode::invalid_argument
                                           : ErrorCode::unsupported;
        fail(kind, "cannot open the decoder '" + std::string(codec.name) + "': " + reason);
    }
    TRICODEC_EXPECT(settings.keys().empty(), invalid_argument,
                    "unexpected decoder options " + settings.keys() + ": '" + codec.name + "' has none of these names");
}

}  // namespace

/// Note [Kept codecs]: to open a codec with many threads takes longer than the first frames of a small video, most of
/// it for new pages of memory. So a decoder of H.264 or HEVC leaves its codec here,
/// flushed, and the next stream with the same headers uses it. The frames are those of a new codec:
/// - all headers are in the extradata, and no packet has changed what they say,
/// - the decoder has met no damage,
/// - the codec has given up the memory of its pictures (FrameMemory clears what it takes).
/// The longest kept are closed first.
class DecoderContext::KeptCodecs {
public:
    struct Codec {
        CodecFacts facts;
        std::unique_ptr<State> state;  // outlives the context
        ff::CodecContextPtr context;
        std::int64_t size_bytes = 0;
    };

    void put(Codec codec) {
        if (codec.size_bytes > kMostBytes) return;
        std::deque<Codec> closed;  // without the lock
        const std::lock_guard lock(mutex_);
        size_bytes_ += codec.size_bytes;
        codecs_.push_back(std::move(codec));
        while (size_bytes_ > kMostBytes) {
            size_bytes_ -= codecs_.front().size_bytes;
            closed.push_back(std::move(codecs_.front()));
            codecs_.pop_front();
        }
    }

    [[nodiscard]] std::optional<Codec> take(const CodecFacts& facts) {
        const std::lock_guard lock(mutex_);
        const auto found = std::ranges::find(codecs_, facts, &Codec::facts);
        if (found == codecs_.end()) return std::nullopt;
        std::optional<Codec> codec(std::move(*found));
        codecs_.erase(found);
        size_bytes_ -= codec->size_bytes;
        return codec;
    }

private:
    static constexpr std::int64_t kMostBytes = 128 << 20;

    ForkSafeMutex mutex_;
    std::deque<Codec> codecs_;
    std::int64_t size_bytes_ = 0;
};

const AVCodec* find_decoder(AVCodecID id) noexcept {
    if (id == AV_CODEC_ID_AV1) {
        for (const char* name : {"libdav1d", "libaom-av1"}) {
            if (const AVCodec* codec = avcodec_find_decoder_by_name(name)) return codec;
        }
    }
    return avcodec_find_decoder(id);
}

bool decodes_one_picture_at_once(const AVCodec& codec) {
    if (std::string_view(codec.name) != "libdav1d") return false;
    const auto version = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "dav1d_version"));
    if (version == nullptr) return false;
    std::array<int, 3> numbers{};
    (void)std::sscanf(version(), "%d.%d.%d", &numbers[0], &numbers[1], &numbers[2]);
    return numbers < std::array{1, 5, 1};
}

DecoderContext::DecoderContext(DecoderSetup setup) : setup_(std::move(setup)) {
    open();
}

int DecoderContext::get_buffer(AVCodecContext* context, AVFrame* frame, int flags) {
    auto* state = static_cast<State*>(static_cast<ff::LogCapture*>(context->opaque));
    // max_pixels bounds the area only, and a new header may come with any packet.
    if (!state->limits.allow_coded(frame->width, frame->height)) {
        av_log(context, AV_LOG_ERROR, "Picture size %dx%d exceeds the limits\n", frame->width, frame->height);
        return AVERROR(EINVAL);
    }
    const int code = state->memory.get(*context, *frame, flags);
    if (code == AVERROR(ENOMEM)) state->has_run_short = true;
    return code;
}

void DecoderContext::open() {
    ff::install_log();
    const ff::CallLog call_log;
    const auto& codec = *setup_.codec;
    ff::CodecContextPtr context(avcodec_alloc_context3(&codec));
    TRICODEC_EXPECT(context != nullptr, out_of_memory, "could not allocate a decoder");
    if (setup_.parameters) {
        ff::check_media(avcodec_parameters_to_context(context.get(), setup_.parameters.get()),
                        "reading codec parameters");
    }
    auto state = std::make_unique<State>();
    state->limits = limits_;
    context->opaque = static_cast<ff::LogCapture*>(state.get());
    if (codec.type == AVMEDIA_TYPE_VIDEO) {
        context->get_buffer2 = get_buffer;
        allow_any_thread(*context);
    }
    context->max_pixels = limits_.max_coded_pixels();
    // Crop exactly. Otherwise libavcodec moves the left edge to an address that suits its SIMD code.
    context->flags |= AV_CODEC_FLAG_UNALIGNED;
    if (decodes_one_picture_at_once(codec)) context->flags |= AV_CODEC_FLAG_LOW_DELAY;
#if defined(__aarch64__)
    // NEON's inverse transform rounds otherwise than the one that libavcodec takes on x86-64. MPEG-4's decoder chooses
    // it by the encoder that a stream names.
    if (codec.id != AV_CODEC_ID_MPEG4) context->idct_algo = FF_IDCT_SIMPLE;
#endif
    if (setup_.configure) setup_.configure(*context);
    const bool opens_slowly = codec.id == AV_CODEC_ID_H264 || codec.id == AV_CODEC_ID_HEVC;
    opened_with_ = std::nullopt;
    if (setup_.reuses_codec && opens_slowly && context->extradata_size > 0) opened_with_ = facts_of(*context);
    if (auto kept = opened_with_ ? one_per_process<KeptCodecs>().take(*opened_with_) : std::nullopt) {
        kept->context->pkt_timebase = context->pkt_timebase;
        kept->context->flags = context->flags;
        context = std::move(kept->context);
        state = std::move(kept->state);
        state->limits = limits_;
    } else {
        open_codec(*context, setup_, limits_);
    }
    context_ = std::move(context);                 // leaks the old one in a forked child
    if (mark_.in_child()) (void)state_.release();  // a thread of the parent may hold its locks
    state_ = std::move(state);
    mark_ = {};
}

void DecoderContext::expect_threads() {
    if (!has_lost_threads()) return;
    TRICODEC_EXPECT(at_start_, unsupported,
                    "the decoder '" + std::string(context_->codec->name) +
                        "' was in the middle of its stream when this process was forked, and its threads stayed in the "
                        "parent; seek or reset it, make it in this process, or give it one thread");
    open();
}

int DecoderContext::receive(AVFrame& frame) {
    expect_threads();
    const int code = avcodec_receive_frame(context_.get(), &frame);
    if (code >= 0 && context_->codec_type == AVMEDIA_TYPE_VIDEO) {
        limits_.expect(frame.width, frame.height, "a picture of the stream");
    }
    return code;
}

void DecoderContext::flush() {
    // MPEG-4's decoder keeps headers past a flush, and VP8's the map of segments. A damaged picture then depends on
    // what was decoded before.
    const bool keeps = context_->codec_id == AV_CODEC_ID_MPEG4 || context_->codec_id == AV_CODEC_ID_VP8;
    if (has_lost_threads() || keeps) {
        open();
    } else {
        avcodec_flush_buffers(context_.get());
    }
    at_start_ = true;
    forget_lines();
}

void DecoderContext::keep() noexcept {
    if (!opened_with_ || mark_.in_child() || facts_of(*context_) != *opened_with_) return;
    try {
        flush();
        state_->memory.free_idle();
        const auto size_bytes =
            open_codec_bytes(std::int64_t{context_->width} * context_->height, context_->thread_count);
        one_per_process<KeptCodecs>().put(
            {*std::move(opened_with_), std::move(state_), std::move(context_), size_bytes});
    } catch (...) {  // no memory to remember it: it is closed
    }
}

std::string DecoderContext::take_lines() {
    auto lines = state_->take();
    limits_.expect_no_refusal(lines);
    return lines;
}

ErrorCode DecoderContext::code_of(int code) const noexcept {
    if (state_->has_run_short.exchange(false)) return ErrorCode::out_of_memory;
    return ff::damage_code(code, std::int64_t{8} * context_->coded_width * context_->coded_height);
}

}  // namespace tricodec
