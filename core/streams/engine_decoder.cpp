// SPDX-License-Identifier: Apache-2.0
#include <string_view>
#include <utility>

#include "media/packet.h"
#include "media/stream_info.h"
#include "streams/hw_device.h"
#include "streams/source_decoder.h"
#include "tricodec/decoder.h"

namespace tricodec::streams {
namespace {

/// What programs say to FFmpeg's decoders on a GPU and means nothing here: how many surfaces it keeps, which GPU (that
/// is hw_accel's to say), threads of the CPU.
bool is_idle_option(std::string_view name) {
    return name == "surfaces" || name == "gpu" || name == "threads" || name == "thread_type";
}

void expect_decoder(const AVStream& stream, const OutputOptions& options) {
    const std::string codec = avcodec_get_name(stream.codecpar->codec_id);
    const auto& name = options.decoder;
    TRICODEC_EXPECT(name.empty() || name == codec || name == codec + "_cuvid", invalid_argument,
                    "decoder '" + name + "' does not decode stream " + std::to_string(stream.index) +
                        " with hw_accel; use '" + codec + "_cuvid', or none");
    for (const auto& [key, value] : options.decoder_option.value_or(std::map<std::string, std::string>{})) {
        TRICODEC_EXPECT(is_idle_option(key), invalid_argument,
                        "decoder option '" + key +
                            "' is not accepted with hw_accel; width=, height= and filter_desc= "
                            "of the stream crop and resize");
    }
}

/// By one of tricodec's own engines: NVDEC on a GPU, whose frames stay there.
class EngineDecoder final : public SourceDecoder {
public:
    EngineDecoder(AVFormatContext& format, AVStream& stream, const OutputOptions& options)
        : SourceDecoder(stream, options.hw_accel), info_(describe_stream(format, stream)) {
        (void)device_of(options.hw_accel);  // refuses what is none
        expect_decoder(stream, options);
        decoder_ = Decoder::create(info_, {.device = options.hw_accel});
        frame_rate_ = av_guess_frame_rate(&format, &stream, nullptr);
    }

    GraphInput frames() const noexcept override {
        GraphInput input;
        const auto& parameters = *SourceDecoder::stream().codecpar;
        input.video = true;
        input.time_base = SourceDecoder::stream().time_base;
        input.format = parameters.format;
        input.width = parameters.width;
        input.height = parameters.height;
        input.frame_rate = frame_rate_;
        input.sample_aspect_ratio = parameters.sample_aspect_ratio;
        return input;
    }

    void send(const AVPacket* packet) override {
        if (packet == nullptr) {
            if (std::exchange(ended_, true)) return;
            decoder_->send_end();
            receive();
            for (auto* output : outputs()) output->push(nullptr);
            return;
        }
        note_packet();
        ff::PacketPtr shared(av_packet_clone(packet));
        TRICODEC_EXPECT(shared != nullptr, out_of_memory, "could not share a packet");
        decoder_->send(to_packet(std::move(shared), info_.time_base));
        receive();
        const auto known = std::exchange(num_issues_, decoder_->num_issues());
        if (num_issues_ <= known) return;
        fail(ErrorCode::corrupt_data, "a packet of stream " + std::to_string(SourceDecoder::stream().index) +
                                          " cannot be decoded: " + decoder_->issues().back().message);
    }

    void reset(std::optional<std::int64_t> keep_from_us) override {
        decoder_->reset(true);
        num_issues_ = decoder_->num_issues();
        ended_ = false;
        keep_from(keep_from_us);
    }

private:
    void receive() {
        while (auto frame = decoder_->receive()) {
            note_frame();
            if (frame->pts != kNoTimestamp && before_start(frame->pts)) continue;
            for (auto* output : outputs()) output->push(*frame);
        }
    }

    StreamInfo info_;
    std::unique_ptr<Decoder> decoder_;
    AVRational frame_rate_{0, 1};
    std::int64_t num_issues_ = 0;
    bool ended_ = false;
};

}  // namespace

std::unique_ptr<SourceDecoder> make_engine_decoder(AVFormatContext& format, AVStream& stream,
                                                   const OutputOptions& options) {
    TRICODEC_EXPECT(stream.codecpar->codec_type == AVMEDIA_TYPE_VIDEO, invalid_argument,
                    "hw_accel is for video; sound is decoded without");
    return std::make_unique<EngineDecoder>(format, stream, options);
}

}  // namespace tricodec::streams
