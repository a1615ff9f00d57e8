// SPDX-License-Identifier: Apache-2.0
#include "tricodec/decode/decoder.h"

#include "decode/engines.h"
#include "tricodec/base/gpu.h"
#include "tricodec/base/log.h"

#ifdef TRICODEC_HAVE_NVDEC
#include "decode/nvdec/caps.h"
#endif

namespace tricodec {
namespace {

std::unique_ptr<Decoder> make_decoder(const StreamInfo& stream, const DecoderOptions& options) {
    [[maybe_unused]] const Device device = resolve_device(options.device);  // refuses what this machine does not have
#ifdef TRICODEC_HAVE_NVDEC
    if (device.kind == Device::Kind::cuda) {
        const bool demanded = demands_device(options.device);
        auto reason = nvdec::refusal(stream, device.index);
        TRICODEC_EXPECT(!demanded || reason.empty(), unsupported, reason + "; use device='cpu' or 'auto'");
        if (reason.empty() && !demanded) reason = nvdec::doubt(stream.codec);
        const bool has_statistics =
            reason.empty() && options.block_statistics && nvdec::has_statistics(stream, device.index);
        if (reason.empty() && !demanded && options.block_statistics && !has_statistics &&
            stream.codec == CodecId::h264) {
            reason = "its driver gives no decode statistics";
        }
        NvDecoderTuning tuning;
        tuning.block_statistics = has_statistics;
        if (reason.empty() && demanded) return make_nv_decoder(stream, device, options.context, tuning);
        if (reason.empty()) {
            return with_fallback(make_nv_decoder(stream, device, options.context, tuning), stream,
                                 [stream, options] { return make_av_decoder(stream, options); });
        }
        log(LogLevel::info, "the CPU decodes, not " + device.to_string() + ": " + reason);
    } else if (!demands_device(options.device)) {
        const Device gpu = resolve_device(options.device, GpuNeed::engines);
        if (gpu.kind == Device::Kind::cuda) {
            log(LogLevel::info, "the CPU decodes, not " + gpu.to_string() + ": " + gpu_incomplete_reason(gpu.index) +
                                    "; device='cuda' would decode there, and transform nothing");
        }
    }
#endif
    return make_av_decoder(stream, options);
}

}  // namespace

HardwareCaps hardware_caps([[maybe_unused]] CodecId codec, [[maybe_unused]] PixelFormat format,
                           [[maybe_unused]] int index) {
#ifdef TRICODEC_HAVE_NVDEC
    return nvdec::caps_of(codec, format, index);
#else
    return {};
#endif
}

std::string gpu_refusal([[maybe_unused]] const StreamInfo& stream, [[maybe_unused]] std::optional<int> index) {
#ifdef TRICODEC_HAVE_NVDEC
    auto reason = index ? nvdec::refusal(stream, *index) : nvdec::refusal(stream);
    return reason.empty() ? nvdec::doubt(stream.codec) : reason;
#else
    return "this build has no NVDEC engine";
#endif
}

std::unique_ptr<Decoder> Decoder::create(const StreamInfo& stream, const DecoderOptions& options) {
    TRICODEC_EXPECT(stream.kind == StreamKind::video, invalid_argument,
                    "stream " + std::to_string(stream.index) + " is " + std::string(to_string(stream.kind)) +
                        "; only video streams are decoded");
    TRICODEC_EXPECT(
        options.num_threads >= 0, invalid_argument,
        "num_threads is " + std::to_string(options.num_threads) + "; use 0 for all cores, or a positive number");
    auto decoder = make_decoder(stream, options);
    log(LogLevel::info,
        "decoding " + stream.codec_name + " by " + decoder->engine() + " on " + decoder->device().to_string());
    return decoder;
}

std::unique_ptr<Decoder> Decoder::create(CodecId codec, const DecoderOptions& options) {
    TRICODEC_EXPECT(codec != CodecId::unknown && codec != CodecId::other, invalid_argument,
                    "a decoder needs a codec's name, or the stream of a demuxer");
    StreamInfo stream;
    stream.kind = StreamKind::video;
    stream.codec = codec;
    stream.codec_name = std::string(to_string(codec));
    return create(stream, options);
}

std::vector<Frame> Decoder::decode(const Packet& packet, std::int64_t tag) {
    send(packet, tag);
    std::vector<Frame> frames;
    while (auto frame = receive()) frames.push_back(std::move(*frame));
    return frames;
}

std::vector<Frame> Decoder::flush() {
    send_end();
    std::vector<Frame> frames;
    while (auto frame = receive()) frames.push_back(std::move(*frame));
    reset();
    return frames;
}

}  // namespace tricodec
