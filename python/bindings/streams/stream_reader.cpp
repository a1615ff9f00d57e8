// SPDX-License-Identifier: Apache-2.0
#include "tricodec/streams/stream_reader.h"

#include <pybind11/stl.h>

#include <string>
#include <utility>

#include "arrays/export.h"
#include "bindings.h"
#include "convert.h"
#include "gil.h"
#include "guarded.h"
#include "media_io.h"
#include "tricodec/base/error.h"

namespace tricodec::python {
namespace {

template <class Stream>
py::dict with_rates(py::dict result, const Stream& stream) {
    if (stream.media_type == "video") {
        result["width"] = stream.width;
        result["height"] = stream.height;
        result["frame_rate"] = stream.frame_rate;
    } else if (stream.media_type == "audio") {
        result["sample_rate"] = static_cast<double>(stream.sample_rate);
        result["num_channels"] = stream.num_channels;
    }
    return result;
}

py::dict describe(const SourceStream& stream) {
    py::dict result;
    result["media_type"] = stream.media_type;
    result["codec"] = stream.codec;
    result["codec_long_name"] = to_text(stream.codec_long_name);
    result["format"] = stream.format;
    result["bit_rate"] = stream.bit_rate;
    result["num_frames"] = stream.num_frames;
    result["bits_per_sample"] = stream.bits_per_sample;
    result["metadata"] = to_dict(stream.metadata);
    return with_rates(std::move(result), stream);
}

py::dict describe(const OutputStream& stream) {
    py::dict result;
    result["source_index"] = stream.source_index;
    result["filter_description"] = stream.filter_description;
    result["media_type"] = stream.media_type;
    result["format"] = stream.format;
    return with_rates(std::move(result), stream);
}

OutputOptions output_options(std::int64_t frames_per_chunk, std::int64_t buffer_chunk_size, int stream_index,
                             const std::string& decoder, const py::object& decoder_option,
                             const std::string& filter_description, const std::string& hw_accel) {
    OutputOptions options{frames_per_chunk, buffer_chunk_size, stream_index, decoder, {}, filter_description, hw_accel};
    if (!decoder_option.is_none()) options.decoder_option = to_strings(decoder_option, "decoder_option");
    return options;
}

class PyStreamReader {
public:
    explicit PyStreamReader(std::unique_ptr<StreamReader> reader) : reader_(std::move(reader), "StreamReader") {}

    static std::unique_ptr<PyStreamReader> open(const py::object& source, const std::string& format,
                                                const py::object& option, int buffer_size,
                                                const std::vector<std::string>& protocols) {
        const StreamReaderOptions options{format, to_strings(option, "option"), buffer_size, protocols};
        bool url = !protocols.empty() && py::isinstance<py::str>(source);
        if (!url && py::isinstance<py::str>(source)) {
            Unlocked unlocked;
            url = StreamReader::is_device(format);
        }
        if (url) {
            const auto text = source.cast<std::string>();
            Unlocked unlocked;
            return std::make_unique<PyStreamReader>(StreamReader::open(text, options));
        }
        const MediaSource opened = to_media_source(source);
        Unlocked unlocked;
        return std::make_unique<PyStreamReader>(StreamReader::open(opened, options));
    }

    int num_source_streams() { return reader_.call(&StreamReader::num_source_streams); }
    int num_output_streams() { return reader_.call(&StreamReader::num_output_streams); }
    int default_audio_stream() { return reader_.call(&StreamReader::default_audio_stream); }
    int default_video_stream() { return reader_.call(&StreamReader::default_video_stream); }
    py::dict metadata() { return to_dict(reader_.call(&StreamReader::metadata)); }
    py::dict source_stream(int index) { return describe(reader_.call(&StreamReader::source_stream, index)); }
    py::dict output_stream(int index) { return describe(reader_.call(&StreamReader::output_stream, index)); }

    template <auto Add>
    void add(std::int64_t frames_per_chunk, std::int64_t buffer_chunk_size, int stream_index,
             const std::string& decoder, const py::object& decoder_option, const std::string& filter_description,
             const std::string& hw_accel) {
        const auto options = output_options(frames_per_chunk, buffer_chunk_size, stream_index, decoder, decoder_option,
                                            filter_description, hw_accel);
        reader_.call([&](StreamReader& reader) { (reader.*Add)(options); });
    }
    void remove_stream(int index) { reader_.call(&StreamReader::remove_stream, index); }

    void seek(double seconds, const std::string& mode) {
        const auto chosen = mode == "key"   ? SeekMode::key
                            : mode == "any" ? SeekMode::any
                            : mode == "precise"
                                ? SeekMode::precise
                                : throw py::value_error("mode must be key, any or precise, not " + mode);
        reader_.call(&StreamReader::seek, seconds, chosen);
    }

    /// 0: continue, 1: the end, 2: nothing yet. With `all` it continues until the end, with `until_ready` until chunks
    /// are ready.
    int process(bool all, bool until_ready) {
        constexpr int kPacketsBetweenSignals = 64;
        for (;;) {
            const auto done = reader_.call([&](StreamReader& reader) -> std::optional<int> {
                for (int i = 0; i < kPacketsBetweenSignals; ++i) {
                    if (until_ready && reader.is_buffer_ready()) return 0;
                    const auto status = reader.process_packet();
                    if (status == StreamReader::Status::end) return 1;
                    if (status == StreamReader::Status::again) return 2;
                    if (!all && !until_ready) return 0;
                }
                return std::nullopt;
            });
            if (done) return *done;
            if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        }
    }
    bool is_buffer_ready() { return reader_.call(&StreamReader::is_buffer_ready); }

    py::list pop_chunks() {
        auto chunks = reader_.call(&StreamReader::pop_chunks);
        py::list result;
        for (auto& chunk : chunks) {
            if (chunk) {
                result.append(py::make_tuple(to_array(std::move(chunk->data)), chunk->pts_seconds));
            } else {
                result.append(py::none());
            }
        }
        return result;
    }

    void close() { reader_.close(); }

private:
    Guarded<StreamReader> reader_;
};

}  // namespace

void bind_stream_reader(py::module_& module) {
    py::class_<PyStreamReader> cls(module, "NativeStreamReader", "What tricodec.io.StreamReader is made of.");
    cls.def(py::init(&PyStreamReader::open), py::arg("source"), py::arg("format"), py::arg("option"),
            py::arg("buffer_size"), py::arg("protocols"), "Open a source.")
        .def_property_readonly("num_source_streams", &PyStreamReader::num_source_streams, "Streams of the source.")
        .def_property_readonly("num_output_streams", &PyStreamReader::num_output_streams, "Outputs added.")
        .def_property_readonly("default_audio_stream", &PyStreamReader::default_audio_stream, "Best audio, or -1.")
        .def_property_readonly("default_video_stream", &PyStreamReader::default_video_stream, "Best video, or -1.")
        .def("metadata", &PyStreamReader::metadata, "Tags of the source.")
        .def("source_stream", &PyStreamReader::source_stream, py::arg("index"), "A source stream's facts.")
        .def("output_stream", &PyStreamReader::output_stream, py::arg("index"), "An output's facts.");
    const auto def_add = [&]<auto Add>(const char* name, const char* doc) {
        cls.def(name, &PyStreamReader::add<Add>, py::arg("frames_per_chunk"), py::arg("buffer_chunk_size"),
                py::arg("stream_index"), py::arg("decoder"), py::arg("decoder_option"), py::arg("filter_description"),
                py::arg("hw_accel"), doc);
    };
    def_add.operator()<&StreamReader::add_audio_stream>("add_audio_stream", "Add an output of audio.");
    def_add.operator()<&StreamReader::add_video_stream>("add_video_stream", "Add an output of video.");
    cls.def("remove_stream", &PyStreamReader::remove_stream, py::arg("index"), "Remove an output.")
        .def("seek", &PyStreamReader::seek, py::arg("seconds"), py::arg("mode"), "Go to a time.")
        .def("process", &PyStreamReader::process, py::arg("all"), py::arg("until_ready"),
             "Process packets; 0: continue, 1: the end, 2: nothing yet.")
        .def("is_buffer_ready", &PyStreamReader::is_buffer_ready, "Whether each output has a chunk.")
        .def("pop_chunks", &PyStreamReader::pop_chunks, "(array, pts) or None for each output.")
        .def("close", &PyStreamReader::close, "Close the source.");
}

}  // namespace tricodec::python
