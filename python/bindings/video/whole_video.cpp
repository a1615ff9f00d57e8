// SPDX-License-Identifier: Apache-2.0
/// Calls that write a whole video: transcode(), encode_video().
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrays/cuda_streams.h"
#include "arrays/import.h"
#include "bindings.h"
#include "convert.h"
#include "gil.h"
#include "media_io.h"
#include "tricodec/base/cuda_stream.h"
#include "tricodec/base/gpu.h"
#include "tricodec/encode/encode_video.h"
#include "tricodec/encode/transcode.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

/// `progress(num_frames, seconds, total_seconds)`; what it raises ends the call, False cancels.
std::function<bool(const TranscodeProgress&)> to_progress(const py::object& callback) {
    if (callback.is_none()) return nullptr;
    const auto held = std::make_shared<Callback>(callback);
    return [held](const TranscodeProgress& progress) {
        return held->call([&](const py::object& function) {
            const py::object answer = function(progress.num_frames, progress.seconds, progress.total_seconds);
            return answer.is_none() || py::bool_(answer);
        });
    };
}

/// From a dict of AudioEncoding's fields, or None.
std::optional<AudioEncoding> to_audio_encoding(const py::object& given) {
    if (given.is_none()) return std::nullopt;
    AudioEncoding encoding;
    for (const auto& [key, value] : given.cast<py::dict>()) {
        const auto name = key.cast<std::string>();
        const auto whole = [&] { return to_int(py::reinterpret_borrow<py::object>(value), "audio_" + name + " is"); };
        if (name == "codec") encoding.codec = value.cast<std::string>();
        if (name == "rate") encoding.sample_rate = whole();
        if (name == "channels") encoding.num_channels = whole();
        if (name == "bit_rate") encoding.bit_rate = value.cast<std::int64_t>();
    }
    return encoding;
}

py::object run_transcode(const py::object& source, const py::object& target, const py::dict& encoder,
                         const py::dict& muxer, const py::object& crop, const py::object& size,
                         std::optional<double> start, std::optional<double> end, bool audio, int num_workers,
                         const py::object& progress, const py::object& audio_encoding, bool deinterlace,
                         int stream_index) {
    const MediaSource from = to_media_source(source);
    const OpenedTarget to = to_media_target(target);
    TranscodeOptions options;
    read_encoder_options(encoder, options.encoder);
    for (const auto& [key, value] : muxer) {
        const auto name = key.cast<std::string>();
        if (name == "format") options.muxer.format = keyword<std::string>(name, value, "a str");
        if (name == "fast_start") options.muxer.fast_start = keyword<bool>(name, value, "a bool");
        if (name == "fragmented") options.muxer.fragmented = keyword<bool>(name, value, "a bool");
        constexpr auto kTexts = "a dict of str to str";
        using Texts = std::map<std::string, std::string>;
        if (name == "options") options.muxer.options = keyword<Texts>(name, value, kTexts);
        if (name == "metadata") options.muxer.metadata = keyword<Texts>(name, value, kTexts);
    }
    set_geometry(options, crop, size);
    options.start_seconds = start;
    options.end_seconds = end;
    options.audio = audio;
    options.deinterlace = deinterlace;
    options.audio_encoding = to_audio_encoding(audio_encoding);
    options.num_workers = num_workers;
    options.stream_index = stream_index;
    options.progress = to_progress(progress);
    TranscodeResult result;
    {
        Unlocked unlocked;
        result = transcode(from, to.target, options);
    }
    using namespace py::literals;
    return py::dict("num_frames"_a = result.num_frames, "num_audio_packets"_a = result.num_audio_packets,
                    "num_damaged_packets"_a = result.num_damaged_packets, "size_bytes"_a = result.size_bytes,
                    "seconds"_a = result.seconds, "decoder"_a = result.decoder, "encoder"_a = result.encoder,
                    "cancelled"_a = result.cancelled, "left_out"_a = result.left_out,
                    "data"_a = to.memory ? py::object(to_bytes(*to.memory)) : py::none());
}

Tensor to_pixels(const py::object& frames) {
    const ArrayView array = import_for_work(frames, {.name = "frames", .convert = true});
    if (!array.on_gpu() && array.dtype() != DType::uint8 && array.dtype() != DType::uint16) {
        throw py::type_error("frames have dtype " + dtype_text(array) +
                             "; frames to encode are uint8, 0 to 255 (undo a normalization, then convert them), and "
                             "raw planes of more than 8 bits uint16");
    }
    return (array.on_gpu() ? array : contiguous_view(array)).tensor();
}

py::bytes run_encode_video(const py::object& frames, const std::optional<std::vector<double>>& pts_seconds,
                           const std::string& color, const std::string& layout,
                           const std::optional<std::string>& format, const py::dict& encoder,
                           const std::string& container, bool fast_start, bool fragmented, const py::object& audio,
                           const std::optional<int>& audio_rate, const py::object& audio_encoding,
                           const py::object& input_consumed) {
    PictureLayout pictures{.color = parse_output_color(color), .layout = parse_layout(layout), .format = {}};
    if (format) pictures.format = parse_pixel_format(*format);
    EncodeVideoOptions options;
    read_encoder_options(encoder, options.encoder);
    options.muxer.format = container;
    options.muxer.fast_start = fast_start;
    options.muxer.fragmented = fragmented;
    if (pts_seconds && pts_seconds->empty())
        throw py::value_error("pts_seconds is empty; pass one time for each frame");
    Tensor pixels = to_pixels(frames);
    const Device input = pixels.view.device;
    const auto consumed = to_consumed_event(input_consumed, input);
    if (!audio.is_none()) {
        if (!audio_rate) throw py::value_error("audio has no audio_rate; pass its samples per second, as 16000");
        const ArrayView samples = import_for_work(audio, {.name = "audio", .convert = true});
        if (samples.on_gpu())
            throw py::value_error("audio is on " + samples.device.to_string() + "; copy it to the host");
        options.sound = SoundTrack{.samples = contiguous_view(samples).tensor(),
                                   .sample_rate = *audio_rate,
                                   .encoding = to_audio_encoding(audio_encoding).value_or(AudioEncoding{})};
    } else if (audio_rate) {
        throw py::value_error("audio_rate is " + std::to_string(*audio_rate) + " without audio; pass both or neither");
    }
    std::shared_ptr<std::vector<std::byte>> file;
    {
        Unlocked unlocked;
        file = encode_video(PictureArray(std::move(pixels), pictures), pts_seconds.value_or(std::vector<double>{}),
                            options);
        if (consumed) record_event(*consumed, thread_stream(input), input.index);
    }
    return to_bytes(*file);
}

}  // namespace

void bind_whole_video(py::module_& module) {
    module.def("transcode", run_transcode, py::arg("source"), py::arg("target"), py::arg("encoder"), py::arg("muxer"),
               py::arg("crop"), py::arg("size"), py::arg("start"), py::arg("end"), py::arg("audio"),
               py::arg("num_workers"), py::arg("progress"), py::arg("audio_encoding") = py::none(),
               py::arg("deinterlace") = false, py::arg("stream_index") = -1, "What tricodec.transcode() calls.");
    module.def("encode_video", run_encode_video, py::arg("frames"), py::arg("pts_seconds"), py::arg("color"),
               py::arg("layout"), py::arg("format"), py::arg("encoder"), py::arg("container"), py::arg("fast_start"),
               py::arg("fragmented"), py::arg("audio"), py::arg("audio_rate"), py::arg("audio_encoding"),
               py::arg("input_consumed") = py::none(), "What tricodec.encode_video() calls.");
}

}  // namespace tricodec::python
