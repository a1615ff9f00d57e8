// SPDX-License-Identifier: Apache-2.0
#include "tricodec/audio/audio_encoder.h"

#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays/import.h"
#include "bindings.h"
#include "convert.h"
#include "gil.h"
#include "guarded.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

class PyAudioEncoder {
public:
    PyAudioEncoder(std::unique_ptr<AudioEncoder> encoder, int sample_rate)
        : sample_rate_(sample_rate),
          stream_(std::make_shared<StreamInfo>(encoder->stream())),
          engine_(encoder->engine()),
          encoder_(std::move(encoder), "AudioEncoder") {}

    static std::unique_ptr<PyAudioEncoder> create(int sample_rate, int num_channels, const py::object& dtype,
                                                  const std::optional<std::string>& codec, const std::string& container,
                                                  std::optional<int> encoded_rate, std::optional<int> encoded_channels,
                                                  std::int64_t bit_rate, const py::object& options, double start_s) {
        const AudioInputForm input{.dtype = parse_dtype(to_dtype_name(dtype)),
                                   .sample_rate = sample_rate,
                                   .num_channels = num_channels,
                                   .container = container,
                                   .start_seconds = start_s};
        const AudioEncoding encoding{.codec = codec.value_or(""),
                                     .sample_rate = encoded_rate.value_or(0),
                                     .num_channels = encoded_channels.value_or(0),
                                     .bit_rate = bit_rate,
                                     .options = to_strings(options, "options")};
        const Unlocked unlocked;
        return std::make_unique<PyAudioEncoder>(AudioEncoder::create(input, encoding), sample_rate);
    }

    std::vector<Packet> encode(const py::object& samples) {
        const ArrayView array = import_for_work(samples, {.name = "samples", .convert = true});
        if (array.on_gpu()) {
            throw py::value_error("samples are on " + array.device.to_string() + "; copy them to the host");
        }
        const Tensor sound = contiguous_view(array).tensor();
        return encoder_.call([&](AudioEncoder& encoder) { return encoder.encode(sound_of(sound.view, sample_rate_)); });
    }
    std::vector<Packet> flush() { return encoder_.call(&AudioEncoder::flush); }

    [[nodiscard]] const std::shared_ptr<StreamInfo>& stream() const { return stream_; }
    [[nodiscard]] const std::string& engine() const { return engine_; }

private:
    int sample_rate_;
    std::shared_ptr<StreamInfo> stream_;
    std::string engine_;
    Guarded<AudioEncoder> encoder_;
};

}  // namespace

void bind_audio_encoder(py::module_& module) {
    py::class_<PyAudioEncoder> cls(
        module, "AudioEncoder",
        "Encodes samples of sound to packets for a Muxer, resampled and mixed as the codec needs it.\n\n"
        "Thread safety: safe; calls run one after another.");
    publish(cls, "tricodec.encode");
    cls.def(py::init(&PyAudioEncoder::create), py::arg("sample_rate"), py::arg("num_channels"), py::kw_only(),
            py::arg("dtype") = "float32", py::arg("codec") = py::none(), py::arg("container") = "mp4",
            py::arg("encoded_rate") = py::none(), py::arg("encoded_channels") = py::none(), py::arg("bit_rate") = 0,
            py::arg("options") = py::none(), py::arg("start_s") = 0.0,
            R"(Make an encoder.

Args:
    sample_rate: samples per second of what is given to encode().
    num_channels: its channels.
    dtype: its type, "float32" (-1 to 1) or "int16".
    codec: "aac", "opus", "mp3", "flac", "vorbis", "pcm_s16le", ... or an encoder of FFmpeg; None is the container's
        own codec.
    container: where the packets go, libavformat's name: "mp4", "matroska", "wav", ...
    encoded_rate: samples per second of the stream; None is sample_rate, or the nearest that the codec has.
    encoded_channels: channels of the stream; None is num_channels, or the nearest that the codec has.
    bit_rate: bits per second; 0 is the encoder's own choice.
    options: further options of the encoder, by FFmpeg's names.
    start_s: time of the first sample in seconds.
Raises:
    ValueError: for a codec that is not known and values that its encoder does not accept.
    UnsupportedError: if this FFmpeg has no encoder for the codec.)")
        .def("encode", &PyAudioEncoder::encode, py::arg("samples"),
             R"(Encode samples, and return the packets that are complete.

Args:
    samples: an array in host memory, [channels, samples] or of one channel [samples], of the encoder's dtype.
Raises:
    ValueError: for another shape or dtype.)")
        .def("flush", &PyAudioEncoder::flush, "End the stream. Returns the packets that are left.")
        .def_property_readonly("stream", &PyAudioEncoder::stream, "For Muxer.add_stream(), a StreamInfo.")
        .def_property_readonly("engine", &PyAudioEncoder::engine, "\"libavcodec aac\", ...")
        .def("__repr__", [](const PyAudioEncoder& self) {
            return "<tricodec.encode.AudioEncoder " + self.stream()->codec_name + " at " +
                   std::to_string(self.stream()->sample_rate) + " Hz by " + self.engine() + ">";
        });
}

}  // namespace tricodec::python
