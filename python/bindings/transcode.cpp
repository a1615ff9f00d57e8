// SPDX-License-Identifier: Apache-2.0
#include "tricodec/transcode.h"

#include <pybind11/stl.h>

#include <string>

#include "bindings.h"
#include "convert.h"
#include "encoder_words.h"
#include "file_like.h"
#include "gil.h"
#include "source.h"
#include "target.h"

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

py::object run_transcode(const py::object& source, const py::object& target, const py::dict& encoder,
                         const py::dict& muxer, const py::object& crop, const py::object& size,
                         std::optional<double> start, std::optional<double> end, bool audio, int num_workers,
                         const py::object& progress) {
    const MediaSource from = to_media_source(source);
    const Target to = to_media_target(target);
    TranscodeOptions options;
    read_encoder_words(encoder, options.encoder);
    for (const auto& [key, value] : muxer) {
        const auto word = key.cast<std::string>();
        if (word == "format") options.muxer.format = value.cast<std::string>();
        if (word == "fast_start") options.muxer.fast_start = value.cast<bool>();
        if (word == "fragmented") options.muxer.fragmented = value.cast<bool>();
        if (word == "options") options.muxer.options = value.cast<std::map<std::string, std::string>>();
        if (word == "metadata") options.muxer.metadata = value.cast<std::map<std::string, std::string>>();
    }
    if (!crop.is_none()) {
        const auto box = to_ints(crop, 4, "crop", "(top, left, height, width)");
        options.crop = Crop{box[0], box[1], box[2], box[3]};
    }
    if (!size.is_none()) {
        const auto extent = to_ints(size, 2, "size", "(height, width)");
        options.size = Size{extent[0], extent[1]};
    }
    options.start_seconds = start;
    options.end_seconds = end;
    options.audio = audio;
    options.num_workers = num_workers;
    options.progress = to_progress(progress);
    TranscodeResult result;
    {
        Unlocked unlocked;
        result = transcode(from, to.target, options);
    }
    py::dict answer;
    answer["num_frames"] = result.num_frames;
    answer["num_audio_packets"] = result.num_audio_packets;
    answer["num_damaged_packets"] = result.num_damaged_packets;
    answer["size_bytes"] = result.size_bytes;
    answer["seconds"] = result.seconds;
    answer["decoder"] = result.decoder;
    answer["encoder"] = result.encoder;
    answer["cancelled"] = result.cancelled;
    answer["data"] = py::none();
    if (to.memory) answer["data"] = py::bytes(reinterpret_cast<const char*>(to.memory->data()), to.memory->size());
    return answer;
}

}  // namespace

void bind_transcode(py::module_& module) {
    module.def("transcode", run_transcode, py::arg("source"), py::arg("target"), py::arg("encoder"), py::arg("muxer"),
               py::arg("crop"), py::arg("size"), py::arg("start"), py::arg("end"), py::arg("audio"),
               py::arg("num_workers"), py::arg("progress"), "What tricodec.transcode() calls.");
}

}  // namespace tricodec::python
