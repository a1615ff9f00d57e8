// SPDX-License-Identifier: Apache-2.0
/// Packets of sound for the names of torchcodec: tricodec.compat uses it, and the interface is private.
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "arrays/export.h"
#include "arrays/import.h"
#include "bindings.h"
#include "convert.h"
#include "guarded.h"
#include "tricodec/audio/audio_converter.h"
#include "tricodec/audio/audio_decoder.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

class PyAudioDecoder {
public:
    explicit PyAudioDecoder(const StreamInfo& stream) : decoder_(AudioDecoder::create(stream), "AudioDecoder") {}

    py::list decode(const py::object& data) {
        const Packet packet = to_packet(data);
        return to_list(decoder_.call([&](AudioDecoder& decoder) { return decoder.decode(packet); }));
    }
    py::list flush() { return to_list(decoder_.call(&AudioDecoder::flush)); }
    void reset() { decoder_.call(&AudioDecoder::reset); }

private:
    static py::list to_list(std::vector<RawSamples> samples) {
        py::list list;
        for (RawSamples& each : samples) {
            list.append(py::make_tuple(to_numpy(std::move(each.data)), to_timestamp(each.pts), each.sample_rate));
        }
        return list;
    }

    Guarded<AudioDecoder> decoder_;
};

class PyAudioConverter {
public:
    PyAudioConverter(std::optional<int> sample_rate, std::optional<int> num_channels)
        : converter_(AudioConverter::create(sample_rate.value_or(0), num_channels.value_or(0)), "AudioConverter") {}

    py::array convert(const py::object& samples, int sample_rate) {
        const ArrayView array = contiguous_view(import_for_work(samples, {.name = "samples"}));
        const Tensor tensor = array.tensor();
        return to_numpy(
            converter_.call([&](AudioConverter& converter) { return converter.convert(tensor.view, sample_rate); }));
    }
    py::array drain() { return to_numpy(converter_.call(&AudioConverter::drain)); }
    void reset() { converter_.call(&AudioConverter::reset); }

private:
    Guarded<AudioConverter> converter_;
};

}  // namespace

void bind_audio_packets(py::module_& module) {
    py::class_<PyAudioDecoder>(module, "AudioDecoder",
                               "Packets of one audio stream to samples in the codec's own type.")
        .def(py::init<const StreamInfo&>(), py::arg("stream"))
        .def("decode", &PyAudioDecoder::decode, py::arg("packet"),
             "(samples [channels, samples], pts or None, sample rate) of each frame that is ready.")
        .def("flush", &PyAudioDecoder::flush, "The samples that are left at the end, as decode() gives them.")
        .def("reset", &PyAudioDecoder::reset, "Forget everything but the headers: for use after a seek and flush().");
    py::class_<PyAudioConverter>(module, "AudioConverter",
                                 "Samples of one stream to float32, resampled and mixed by libswresample in parts.")
        .def(py::init<std::optional<int>, std::optional<int>>(), py::arg("sample_rate") = py::none(),
             py::arg("num_channels") = py::none())
        .def("convert", &PyAudioConverter::convert, py::arg("samples"), py::arg("sample_rate"),
             "The next samples [channels, samples] of the stream; fewer than were given while the filter holds some.")
        .def("drain", &PyAudioConverter::drain, "The samples that the filter still holds.")
        .def("reset", &PyAudioConverter::reset, "Forget the stream.");
}

}  // namespace tricodec::python
