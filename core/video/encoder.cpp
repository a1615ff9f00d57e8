// SPDX-License-Identifier: Apache-2.0
#include "tricodec/encoder.h"

#include <algorithm>
#include <array>

#include "media/codec.h"
#include "media/packet.h"
#include "tricodec/error.h"
#include "tricodec/log.h"
#include "video/avcodec/av_encoder.h"

namespace tricodec {
namespace {

/// libavcodec's encoders on the CPU, the first that is there is taken.
struct Engines {
    Codec codec;
    std::array<const char*, 3> names;
};
constexpr std::array<Engines, 3> kEngines = {{
    {Codec::h264, {"libx264", "libopenh264", nullptr}},
    {Codec::hevc, {"libx265", nullptr, nullptr}},
    {Codec::av1, {"libsvtav1", "libaom-av1", nullptr}},
}};

const AVCodec& cpu_encoder_of(Codec codec) {
    for (const auto& engines : kEngines) {
        if (engines.codec != codec) continue;
        for (const char* name : engines.names) {
            if (name == nullptr) break;
            if (const AVCodec* found = avcodec_find_encoder_by_name(name)) return *found;
        }
        fail(ErrorCode::unsupported, "no encoder for " + std::string(to_string(codec)) +
                                         " is in this FFmpeg; install one that has " + engines.names[0]);
    }
    const AVCodec* found = avcodec_find_encoder(to_av(codec));
    TRICODEC_EXPECT(found != nullptr, unsupported,
                    "no encoder for " + std::string(to_string(codec)) +
                        " is in this FFmpeg; h264, hevc and av1 are "
                        "the codecs to encode to");
    return *found;
}

}  // namespace

const AVCodec& find_encoder(const EncoderOptions& options) {
    if (const AVCodec* named = avcodec_find_encoder_by_name(options.codec.c_str())) {
        // "mjpeg" and "mpeg4" name a codec and its one encoder alike.
        TRICODEC_EXPECT(named->type == AVMEDIA_TYPE_VIDEO, invalid_argument,
                        "'" + options.codec + "' encodes no video");
        return *named;
    }
    return cpu_encoder_of(parse_codec(options.codec));
}

std::unique_ptr<Encoder> Encoder::create(const EncoderOptions& options) {
    auto encoder = make_av_encoder(find_encoder(options), options);
    log(LogLevel::info, "encoding " + encoder->stream().codec_name + " by " + encoder->engine() + " on " +
                            encoder->device().to_string());
    return encoder;
}

std::vector<Packet> Encoder::encode(const Frame& frame, const EncodeFlags& flags) {
    send(frame, flags);
    std::vector<Packet> packets;
    while (auto packet = receive()) packets.push_back(std::move(*packet));
    return packets;
}

std::vector<Packet> Encoder::flush() {
    send_end();
    std::vector<Packet> packets;
    while (auto packet = receive()) packets.push_back(std::move(*packet));
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

std::vector<std::string> encoder_names() {
    std::vector<std::string> names;
    void* state = nullptr;
    while (const AVCodec* codec = av_codec_iterate(&state)) {
        if (av_codec_is_encoder(codec) != 0 && codec->type == AVMEDIA_TYPE_VIDEO) names.emplace_back(codec->name);
    }
    std::ranges::sort(names);
    return names;
}

}  // namespace tricodec
