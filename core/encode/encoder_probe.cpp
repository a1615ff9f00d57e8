// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "encode/avcodec/av_encoder.h"
#include "encode/avcodec/encoder_settings.h"
#include "encode/encoded_samples.h"
#include "ffmpeg/encoder_choice.h"
#include "ffmpeg/encoder_context.h"
#include "tricodec/base/error.h"
#include "tricodec/container/muxer.h"
#include "tricodec/io/media_target.h"

namespace tricodec {
namespace {

constexpr int kPictureSize = 256;  // above the minimum of hardware encoders
constexpr int kWidth = 160;        // no size that a codec has a number for
constexpr int kHeight = 120;

/// Encodes a second of silence, which fills the frames of every encoder, in the samples that the encoder prefers.
/// Returns the number of packets.
std::size_t encode_silence(const AVCodec& codec) {
    const ff::CallLog call_log;
    EncoderContext context(codec);
    context->sample_fmt = choose_sample_format(codec, {}, AV_SAMPLE_FMT_FLT);
    context->sample_rate = choose_sample_rate(codec, 0, 48000);
    av_channel_layout_default(&context->ch_layout, choose_channels(codec, 0, 2));
    context->time_base = {1, context->sample_rate};
    context->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
    context.open({{"threads", "1"}});
    const auto frame = ff::make_frame();
    const bool any_size = (codec.capabilities & AV_CODEC_CAP_VARIABLE_FRAME_SIZE) != 0;
    frame->format = context->sample_fmt;
    frame->sample_rate = context->sample_rate;
    frame->nb_samples = any_size || context->frame_size == 0 ? context->sample_rate : context->frame_size;
    ff::check(av_channel_layout_copy(&frame->ch_layout, &context->ch_layout), "making silence");
    ff::check(av_frame_get_buffer(frame.get(), 0), "making silence");
    for (const AVBufferRef* buffer : frame->buf) {
        if (buffer != nullptr) std::memset(buffer->data, 0, buffer->size);
    }
    std::size_t packets = 0;
    const auto send = [&](const AVFrame* samples) {
        context.send(samples);
        while (context.receive() != nullptr) ++packets;
    };
    for (frame->pts = 0; frame->pts < context->sample_rate; frame->pts += frame->nb_samples) send(frame.get());
    send(nullptr);
    return packets;
}

/// Encodes two blank pictures of 4:2:0, for a container if one is named. Returns the number of packets.
std::size_t encode_pictures(const AVCodec& codec, Device device, PixelFormat format, int width, int height,
                            const char* container = nullptr) {
    EncoderOptions options;
    options.width = width;
    options.height = height;
    options.format = format;
    options.frame_rate = {25, 1};
    options.num_threads = 1;
    options.global_header = container != nullptr && wants_global_headers(container);
    const auto encoder = make_av_encoder(codec, options, device, true);
    const Frame blank = alloc_frame(PixelFormat::yuv420p, width, height);
    std::memset(blank.planes[0].data, 0, static_cast<std::size_t>(blank.size_bytes()));
    const Frame frame = to_encoded_samples(blank, format, {});
    std::size_t packets = 0;
    for (int i = 0; i < 2; ++i) packets += encoder->encode(frame).size();
    packets += encoder->flush().size();
    if (container == nullptr) return packets;
    MuxerOptions muxing;
    muxing.format = container;
    const auto muxer = Muxer::open(MediaTarget::from_memory(std::make_shared<std::vector<std::byte>>()), muxing);
    muxer->add_stream(encoder->stream());
    muxer->start();
    return packets;
}

/// True if the CPU's encoder makes packets of pictures of this size, and the container, if any, takes them.
bool encodes(const AVCodec& codec, PixelFormat format, int width, int height, const char* container = nullptr) {
    try {
        return encode_pictures(codec, {}, format, width, height, container) > 0;
    } catch (const Error&) {
        return false;
    }
}

std::size_t encode_test(const AVCodec& codec, Device device) {
    const bool on_gpu = device.kind == Device::Kind::cuda;
    TRICODEC_EXPECT(!on_gpu || is_nvenc(codec), unsupported,
                    "'" + std::string(codec.name) + "' takes no pictures in a GPU's memory; use device 'cpu'");
    if (codec.type == AVMEDIA_TYPE_AUDIO) return encode_silence(codec);
    const PixelFormat format = on_gpu ? PixelFormat::nv12 : nearest_format(codec, PixelFormat::yuv420p);
    return encode_pictures(codec, device, format, kPictureSize, kPictureSize);
}

}  // namespace

bool takes_odd_sizes(const AVCodec& codec, PixelFormat format) {
    static std::mutex mutex;
    static std::map<std::pair<std::string, PixelFormat>, bool> known;
    if ((codec.capabilities & AV_CODEC_CAP_HARDWARE) != 0) return false;
    const std::lock_guard lock(mutex);
    const auto [found, fresh] = known.try_emplace({codec.name, format});
    if (fresh) found->second = encodes(codec, format, kWidth + 1, kHeight + 1);
    return found->second;
}

std::vector<std::string> encoder_names() {
    static std::mutex mutex;
    static std::vector<std::string> names;
    const std::lock_guard lock(mutex);
    if (!names.empty()) return names;
    std::vector<std::string> found;
    void* state = nullptr;
    while (const AVCodec* codec = av_codec_iterate(&state)) {
        if (av_codec_is_encoder(codec) == 0 || codec->type != AVMEDIA_TYPE_VIDEO) continue;
        const bool hardware = (codec->capabilities & AV_CODEC_CAP_HARDWARE) != 0;
        const bool works =
            hardware ? probe_encoder(*codec, Device{}).works
                     : encodes(*codec, nearest_format(*codec, PixelFormat::yuv420p), kWidth, kHeight, "matroska");
        if (works) found.emplace_back(codec->name);
    }
    std::ranges::sort(found);
    return names = std::move(found);
}

EncoderProbe probe_encoder(const AVCodec& codec, Device device) {
    try {
        const auto packets = encode_test(codec, device);
        if (packets > 0) return {true, "it encoded a test on '" + device.to_string() + "'"};
        return {false, "it encoded nothing"};
    } catch (const Error& error) {
        return {false, error.what()};
    }
}

EncoderProbe probe_encoder(const std::string& name, const std::string& device) {
    const auto* codec = avcodec_find_encoder_by_name(name.c_str());
    const bool known = codec != nullptr && (codec->type == AVMEDIA_TYPE_VIDEO || codec->type == AVMEDIA_TYPE_AUDIO);
    TRICODEC_EXPECT(known, invalid_argument, "no encoder of audio or video is called '" + name + "'");
    try {
        return probe_encoder(*codec, resolve_device(device, GpuNeed::engines));
    } catch (const Error& error) {
        if (error.code() != ErrorCode::device) throw;
        return {false, error.what()};
    }
}

}  // namespace tricodec
