// SPDX-License-Identifier: Apache-2.0
#include "tricodec/streams/stream_writer.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <string>

#include "arrays/import.h"
#include "bindings.h"
#include "convert.h"
#include "errors.h"
#include "gil.h"
#include "guarded.h"
#include "media_io.h"
#include "tricodec/base/error.h"
#include "tricodec/base/gpu.h"

namespace tricodec::python {
namespace {

/// A chunk in the form of the core, which keeps its memory. Surfaces of encoders are filled on a stream of their own,
/// so a chunk on a GPU is waited for.
ArrayView import_chunk(const py::object& chunk, bool may_be_on_gpu) {
    const ImportOptions options{.name = "chunk", .convert = true};
    if (!may_be_on_gpu && is_on_gpu(chunk, options.name)) {
        throw py::value_error("Input tensor has to be on CPU.");  // as torchaudio words it
    }
    ArrayView array;
    try {
        array = import_for_work(chunk, options);
    } catch (const py::type_error& error) {
        throw py::value_error(error.what());
    }
    if (!array.dtype()) throw py::value_error("a chunk of " + dtype_text(array) + " cannot be encoded");
    if (array.on_gpu()) {
        const Unlocked unlocked;
        wait_for(array.stream, array.device);
    }
    return array;
}

class PyStreamWriter {
public:
    PyStreamWriter(std::unique_ptr<StreamWriter> writer, std::string name)
        : name_(std::move(name)), writer_(std::move(writer), "StreamWriter") {}
    ~PyStreamWriter() {
        if (!open_ || failed_) return;
        warn_dropped("'" + name_ +
                     "' was not written: its StreamWriter was dropped before close(); use `with "
                     "writer.open()`");
    }
    PyStreamWriter(const PyStreamWriter&) = delete;
    PyStreamWriter& operator=(const PyStreamWriter&) = delete;

    static std::unique_ptr<PyStreamWriter> create(const py::object& target, const std::string& format) {
        const auto opened = to_media_target(target).target;
        Unlocked unlocked;
        return std::make_unique<PyStreamWriter>(StreamWriter::create(opened, format), opened.name());
    }

    void add_audio_stream(int sample_rate, int num_channels, const std::string& format, const std::string& encoder,
                          const py::object& encoder_option, int encoder_sample_rate, int encoder_num_channels,
                          const std::string& encoder_format, const CodecConfig& config, const std::string& filters) {
        const auto option = to_strings(encoder_option, "encoder_option");
        const AudioInput input{sample_rate,         num_channels,         format,         encoder, option,
                               encoder_sample_rate, encoder_num_channels, encoder_format, config,  filters};
        call(&StreamWriter::add_audio_stream, input);
    }

    void add_video_stream(double frame_rate, int width, int height, const std::string& format,
                          const std::string& encoder, const py::object& encoder_option, double encoder_frame_rate,
                          int encoder_width, int encoder_height, const std::string& encoder_format,
                          const CodecConfig& config, const std::string& filters, const std::string& hw_accel) {
        const auto option = to_strings(encoder_option, "encoder_option");
        const VideoInput input{
            frame_rate,    width,          height,         format, encoder, option,  encoder_frame_rate,
            encoder_width, encoder_height, encoder_format, config, filters, hw_accel};
        call(&StreamWriter::add_video_stream, input);
    }

    void set_metadata(const py::object& metadata) {
        const auto entries = to_strings(metadata, "metadata");
        call(&StreamWriter::set_metadata, entries);
    }
    void open(const py::object& option) {
        const auto entries = to_strings(option, "option");
        call([&](StreamWriter& writer) { writer.open(entries); });
        open_ = true;
    }

    void write_audio_chunk(int stream, const py::object& chunk, std::optional<double> pts) {
        const ArrayView array = import_chunk(chunk, false);
        call([&, view = array.tensor_view()](StreamWriter& writer) { writer.write_audio_chunk(stream, view, pts); });
    }
    void write_video_chunk(int stream, const py::object& chunk, std::optional<double> pts) {
        const ArrayView array = import_chunk(chunk, true);
        call([&, view = array.tensor_view()](StreamWriter& writer) { writer.write_video_chunk(stream, view, pts); });
    }
    void flush() { call(&StreamWriter::flush); }
    void close() {
        open_ = false;
        call(&StreamWriter::close);
    }
    void discard() {
        open_ = false;
        call(&StreamWriter::discard);
    }

private:
    template <class... Arguments>
    void call(Arguments&&... arguments) {
        try {
            writer_.call(std::forward<Arguments>(arguments)...);
        } catch (...) {
            failed_ = true;
            throw;
        }
    }

    std::string name_;
    bool open_ = false;
    bool failed_ = false;  // a call has raised: the caller knows
    Guarded<StreamWriter> writer_;
};

}  // namespace

void bind_stream_writer(py::module_& module) {
    py::class_<CodecConfig>(module, "NativeCodecConfig", "What tricodec.io.CodecConfig becomes.")
        .def(py::init<std::int64_t, int, std::optional<double>, int, int>(), py::arg("bit_rate"),
             py::arg("compression_level"), py::arg("qscale"), py::arg("gop_size"), py::arg("max_b_frames"),
             "Fields of every encoder.");
    py::class_<PyStreamWriter> cls(module, "NativeStreamWriter", "What tricodec.io.StreamWriter is made of.");
    cls.def(py::init(&PyStreamWriter::create), py::arg("target"), py::arg("format"), "For a target.")
        .def("add_audio_stream", &PyStreamWriter::add_audio_stream, py::arg("sample_rate"), py::arg("num_channels"),
             py::arg("format"), py::arg("encoder"), py::arg("encoder_option"), py::arg("encoder_sample_rate"),
             py::arg("encoder_num_channels"), py::arg("encoder_format"), py::arg("codec_config"),
             py::arg("filter_description"), "Add a stream of audio.")
        .def("add_video_stream", &PyStreamWriter::add_video_stream, py::arg("frame_rate"), py::arg("width"),
             py::arg("height"), py::arg("format"), py::arg("encoder"), py::arg("encoder_option"),
             py::arg("encoder_frame_rate"), py::arg("encoder_width"), py::arg("encoder_height"),
             py::arg("encoder_format"), py::arg("codec_config"), py::arg("filter_description"), py::arg("hw_accel"),
             "Add a stream of video.")
        .def("set_metadata", &PyStreamWriter::set_metadata, py::arg("metadata"), "Replace the tags.")
        .def("open", &PyStreamWriter::open, py::arg("option"), "Write the header.")
        .def("write_audio_chunk", &PyStreamWriter::write_audio_chunk, py::arg("stream"), py::arg("chunk"),
             py::arg("pts"), "Encode samples.")
        .def("write_video_chunk", &PyStreamWriter::write_video_chunk, py::arg("stream"), py::arg("chunk"),
             py::arg("pts"), "Encode pictures.")
        .def("flush", &PyStreamWriter::flush, "Drain filters and encoders.")
        .def("close", &PyStreamWriter::close, "Write the trailer.")
        .def("discard", &PyStreamWriter::discard, "Give up the output.");
}

}  // namespace tricodec::python
