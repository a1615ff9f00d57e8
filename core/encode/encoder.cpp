// SPDX-License-Identifier: Apache-2.0
#include "tricodec/encode/encoder.h"

#include <map>
#include <mutex>
#include <utility>

#include "encode/avcodec/av_encoder.h"
#include "ffmpeg/conversions.h"
#include "ffmpeg/encoder_choice.h"
#include "ffmpeg/stream_info.h"
#include "tricodec/base/error.h"
#include "tricodec/base/interrupt.h"
#include "tricodec/base/log.h"

namespace tricodec {
namespace {

const AVCodec& cpu_encoder_of(CodecId codec) {
    const AVCodec* found = find_encoder(to_av(codec));
    TRICODEC_EXPECT(found != nullptr, unsupported,
                    "no encoder for " + std::string(to_string(codec)) + " is in this FFmpeg; use h264, hevc or av1");
    return *found;
}

/// Why a GPU does not encode by `codec`, for people; empty if it does. It is tried once, because only that tells:
/// drivers of GPUs without an encoder (H100, H200) have the library all the same.
std::string nvenc_refusal(const AVCodec& codec, Device device) {
    static std::mutex mutex;
    static std::map<std::pair<std::string, int>, std::string> known;
    std::lock_guard lock(mutex);
    const auto [found, fresh] = known.try_emplace({codec.name, device.index});
    if (!fresh) return found->second;
    const auto probe = probe_encoder(codec, device);
    log(LogLevel::info, std::string(codec.name) + (probe.works ? " encodes on " : " does not encode on ") +
                            device.to_string() + ": " + probe.reason);
    return found->second = probe.works ? "" : probe.reason;
}

}  // namespace

bool is_nvenc(const AVCodec& codec) noexcept {
    return std::string_view(codec.name).ends_with("_nvenc");
}

EncoderEngine find_engine(const EncoderOptions& options) {
    if (const AVCodec* named = avcodec_find_encoder_by_name(options.codec.c_str())) {
        // "mjpeg" and "mpeg4" name a codec and its one encoder alike.
        TRICODEC_EXPECT(named->type == AVMEDIA_TYPE_VIDEO, invalid_argument,
                        "'" + options.codec + "' is not an encoder of video");
        if (!is_nvenc(*named)) return {*named, {}};
        const Device device = resolve_device(options.device, GpuNeed::engines);
        const auto reason = device.kind == Device::Kind::cuda ? nvenc_refusal(*named, device) : "there is no GPU";
        TRICODEC_EXPECT(
            reason.empty(), unsupported,
            "'" + options.codec + "' cannot encode here: " + reason + "; name the codec instead (\"h264\")");
        return {*named, device};
    }
    const CodecId codec = parse_codec(options.codec);
    const Device device = resolve_device(options.device, GpuNeed::engines);  // refuses what this machine does not have
    if (device.kind == Device::Kind::cuda) {
        const std::string name = std::string(to_string(codec)) + "_nvenc";
        const AVCodec* found = avcodec_find_encoder_by_name(name.c_str());
        const auto reason = found == nullptr ? "this FFmpeg has no " + name : nvenc_refusal(*found, device);
        if (reason.empty()) return {*found, device};
        TRICODEC_EXPECT(!demands_device(options.device), unsupported,
                        device.to_string() + " cannot encode " + std::string(to_string(codec)) + ": " + reason +
                            "; use device='cpu' or 'auto'");
        log(LogLevel::info, "the CPU encodes, not " + device.to_string() + ": " + reason);
    }
    return {cpu_encoder_of(codec), {}};
}

std::string encoder_for(const std::string& codec, const std::string& device) {
    EncoderOptions options;
    options.codec = codec;
    options.device = device;
    return find_engine(options).codec.name;
}

std::unique_ptr<Encoder> Encoder::create(const EncoderOptions& options) {
    const EncoderEngine engine = find_engine(options);
    auto encoder = make_av_encoder(engine.codec, options, engine.device);
    log(LogLevel::info, "encoding " + encoder->stream().codec_name + " by " + encoder->engine() + " on " +
                            encoder->device().to_string());
    return encoder;
}

std::vector<Packet> Encoder::encode(const Frame& frame, const EncodeFlags& flags) {
    check_interrupt();
    send(frame, flags);
    std::vector<Packet> packets;
    while (auto packet = receive()) packets.push_back(std::move(*packet));
    return packets;
}

std::vector<Packet> Encoder::flush() {
    send_end();
    std::vector<Packet> packets;
    while (auto packet = receive()) {
        check_interrupt();
        packets.push_back(std::move(*packet));
    }
    return packets;
}

char picture_type_of(const Packet& packet) noexcept {
    const AVPacket* original = av_packet_of(packet);
    if (original == nullptr) return '?';
    std::size_t size = 0;
    const auto* stats = av_packet_get_side_data(original, AV_PKT_DATA_QUALITY_STATS, &size);
    if (stats == nullptr || size < 5) return '?';  // quality in four bytes, then the type
    const char type = av_get_picture_type_char(static_cast<AVPictureType>(stats[4]));
    return type == 'I' || type == 'P' || type == 'B' ? type : '?';
}

}  // namespace tricodec
