// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "streams/gpu_surfaces.h"
#include "streams/stream_encoder.h"
#include "tricodec/streams/ffmpeg_info.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec::ffmpeg {
namespace {

constexpr int kPictureSize = 256;  // above the minimum of hardware encoders
constexpr int kSampleRate = 48000;

Device device_of(const std::string& text) {
    if (text == "cpu") return {};
    return {Device::Kind::cuda, streams::gpu_number(text)};
}

Tensor zeros(const std::vector<std::int64_t>& shape, DType dtype, Device device) {
    auto tensor = Tensor::empty(shape, dtype, device);
    if (device.kind == Device::Kind::cpu) {
        std::fill_n(static_cast<std::byte*>(tensor.view.data),
                    static_cast<std::size_t>(tensor.view.num_elements()) * size_of(dtype), std::byte{0});
    }
    return tensor;
}

/// Encodes a second of silence or one picture. Returns the number of packets.
int encode(const AVCodec& codec, const std::string& device) {
    int packets = 0;
    const auto count = [&](const Packet&) { ++packets; };
    if (codec.type == AVMEDIA_TYPE_AUDIO) {
        AudioInput input;
        input.sample_rate = kSampleRate;
        input.num_channels = 2;  // more encoders accept two channels than one
        input.encoder = codec.name;
        streams::StreamEncoder encoder(input, {}, false);
        encoder.write(zeros({kSampleRate, 2}, DType::float32, {}).view, 0.0, count);
        encoder.flush(count);
        return packets;
    }
    VideoInput input;
    input.frame_rate = 30;
    input.width = input.height = kPictureSize;
    input.encoder = codec.name;
    const auto target = device_of(device);
    std::vector<std::int64_t> shape = {1, 3, kPictureSize, kPictureSize};
    if (target.kind == Device::Kind::cuda) {
        input.hw_accel = device;
        input.format = "nv12";
        shape = {1, 1, kPictureSize * 3 / 2, kPictureSize};
    }
    streams::StreamEncoder encoder(input, {}, false);
    encoder.write(zeros(shape, DType::uint8, target).view, 0.0, count);
    encoder.flush(count);
    return packets;
}

}  // namespace

EncoderProbe probe_encoder(const std::string& name, const std::string& device) {
    const auto* codec = avcodec_find_encoder_by_name(name.c_str());
    const bool known = codec != nullptr && (codec->type == AVMEDIA_TYPE_VIDEO || codec->type == AVMEDIA_TYPE_AUDIO);
    TRICODEC_EXPECT(known, invalid_argument, "no encoder of audio or video is called '" + name + "'");
    (void)device_of(device);
    try {
        const int packets = encode(*codec, device);
        if (packets > 0) return {true, "it encoded a test on '" + device + "'"};
        return {false, "it encoded nothing"};
    } catch (const Error& error) {
        return {false, error.what()};
    }
}

}  // namespace tricodec::ffmpeg
