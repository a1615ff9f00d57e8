// SPDX-License-Identifier: Apache-2.0
#include "tricodec/encode_video.h"

#include <cmath>
#include <string>

#include "tricodec/error.h"
#include "tricodec/media_target.h"
#include "tricodec/rgb_to_yuv.h"
#include "video/avcodec/av_encoder.h"
#include "video/avcodec/encoder_settings.h"

namespace tricodec {
namespace {

constexpr Rational kTimeUnit{1, 90000};

/// The times in units of kTimeUnit, the first one 0.
std::vector<std::int64_t> to_units(std::span<const double> seconds, std::int64_t num_frames) {
    TRICODEC_EXPECT(static_cast<std::int64_t>(seconds.size()) == num_frames, invalid_argument,
                    "there are " + std::to_string(seconds.size()) + " times for " + std::to_string(num_frames) +
                        " pictures; give one a picture");
    std::vector<std::int64_t> units;
    for (const double time : seconds) {
        const double unit = std::round((time - seconds[0]) / kTimeUnit.to_double());
        TRICODEC_EXPECT(std::abs(unit) < 1e15, invalid_argument,
                        "picture " + std::to_string(units.size()) + " has the time " + std::to_string(time) +
                            " s; times are finite numbers of seconds");
        units.push_back(static_cast<std::int64_t>(unit));
        TRICODEC_EXPECT(units.size() == 1 || units.back() > units[units.size() - 2], invalid_argument,
                        "picture " + std::to_string(units.size() - 1) + " has the time " + std::to_string(time) +
                            " s, which is not after that of the one before; times increase by 1/90000 s or more");
    }
    return units;
}

/// Of pictures at these times, or the usual one.
Rational rate_of(const std::vector<std::int64_t>& units) {
    if (units.size() < 2) return {30, 1};
    const double seconds = static_cast<double>(units.back()) * kTimeUnit.to_double();
    return frame_rate_of(static_cast<double>(units.size() - 1) / seconds);
}

std::string bare_stream_of(Codec codec) {
    return codec == Codec::av1 ? "obu" : std::string(to_string(codec));
}

/// Pictures of full chroma for a stream of less of it; the encoder does the rest of what there is to convert.
Frame adapted(const Frame& frame, const EncoderOptions& options) {
    const auto& wanted = info(options.format);
    if (frame.format != PixelFormat::yuv444p || wanted.family != ColorFamily::yuv ||
        (wanted.log2_chroma_w == 0 && wanted.log2_chroma_h == 0)) {
        return frame;
    }
    Frame host = frame.device.kind == Device::Kind::cpu ? frame : to_host(frame);
    host.color = options.color;
    return subsample_chroma(host, options.format);
}

EncoderOptions settled(const PictureArray& pictures, const EncodeVideoOptions& options,
                       const std::vector<std::int64_t>& units) {
    EncoderOptions encoder = options.encoder;
    encoder.width = pictures.width();
    encoder.height = pictures.height();
    const EncoderEngine engine = find_engine(encoder);
    if (encoder.format == PixelFormat::unknown) {
        const auto& raw = pictures.layout().format;
        encoder.format = raw ? nearest_format(engine.codec, *raw) : PixelFormat::yuv420p;
    }
    if (encoder.frame_rate.num == 0) encoder.frame_rate = rate_of(units);
    if (!units.empty()) encoder.time_base = kTimeUnit;
    return encoder;
}

}  // namespace

std::shared_ptr<std::vector<std::byte>> encode_video(const PictureArray& pictures, std::span<const double> pts_seconds,
                                                     const EncodeVideoOptions& options) {
    const auto units = pts_seconds.empty() ? std::vector<std::int64_t>{} : to_units(pts_seconds, pictures.size());
    EncoderOptions settings = settled(pictures, options, units);
    MuxerOptions muxing = options.muxer;
    if (muxing.format.empty()) muxing.format = "mp4";
    const bool bare = muxing.format == "raw";
    settings.global_header = !bare && wants_global_headers(muxing.format);

    const auto encoder = Encoder::create(settings);
    if (bare) muxing.format = bare_stream_of(encoder->stream().codec);
    auto file = std::make_shared<std::vector<std::byte>>();
    const auto muxer = Muxer::open(MediaTarget::from_memory(file), muxing);
    const int stream = muxer->add_stream(encoder->stream());
    for (std::int64_t i = 0; i < pictures.size(); ++i) {
        Frame frame = adapted(pictures[i], settings);
        if (!units.empty()) {
            frame.pts = units[static_cast<std::size_t>(i)];
            frame.time_base = kTimeUnit;
        }
        for (const Packet& packet : encoder->encode(frame)) muxer->write(packet, stream);
    }
    for (const Packet& packet : encoder->flush()) muxer->write(packet, stream);
    muxer->finish();
    return file;
}

}  // namespace tricodec
