// SPDX-License-Identifier: Apache-2.0
#include "tricodec/audio/audio_reader.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "arrays/export.h"
#include "bindings.h"
#include "convert.h"
#include "gil.h"
#include "guarded.h"
#include "media_io.h"
#include "tricodec/base/text.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

AudioSeek to_audio_seek(const std::string& name) {
    if (same_word(name, "exact")) return AudioSeek::exact;
    TRICODEC_EXPECT(same_word(name, "approximate"), invalid_argument,
                    "seek_mode is '" + name + "'; use 'exact' or 'approximate'");
    return AudioSeek::approximate;
}

/// Samples and when they are heard.
struct PySamples {
    py::object data;
    std::int64_t start = 0;
    int sample_rate = 0;
    double pts_seconds = 0;

    [[nodiscard]] std::int64_t size() const { return data.attr("shape")[py::int_(1)].cast<std::int64_t>(); }
};

/// 0 for None. Raises ValueError for 0 and below.
int to_count(const std::optional<int>& value, const char* name) {
    if (value && *value <= 0) {
        throw py::value_error(std::string(name) + " is " + std::to_string(*value) +
                              "; it must be at least 1, or None for the stream's own");
    }
    return value.value_or(0);
}

class PyAudioReader {
public:
    explicit PyAudioReader(std::unique_ptr<AudioReader> reader)
        : info_(std::make_shared<MediaInfo>(reader->info())),
          stream_(std::make_shared<StreamInfo>(reader->stream())),
          sample_rate_(reader->sample_rate()),
          num_channels_(reader->num_channels()),
          channel_layout_(reader->channel_layout()),
          dtype_(reader->dtype()),
          start_seconds_(reader->start_seconds()),
          reader_(std::move(reader), "AudioReader") {}

    static std::unique_ptr<PyAudioReader> open(const py::object& source, int stream_index,
                                               const std::optional<int>& sample_rate,
                                               const std::optional<int>& num_channels, const py::object& dtype,
                                               const std::string& seek_mode, bool ignore_edit_list) {
        const MediaSource opened = to_media_source(source);
        const AudioReaderOptions options{.stream_index = stream_index,
                                         .sample_rate = to_count(sample_rate, "sample_rate"),
                                         .num_channels = to_count(num_channels, "num_channels"),
                                         .dtype = parse_dtype(to_dtype_name(dtype)),
                                         .seek = to_audio_seek(seek_mode),
                                         .ignore_edit_list = ignore_edit_list};
        Unlocked unlocked;
        return std::make_unique<PyAudioReader>(AudioReader::open(opened, options));
    }

    PySamples read(std::int64_t start, std::int64_t count) {
        return to_samples(reader_.call([&](AudioReader& reader) { return reader.read(start, count); }));
    }

    PySamples read_any(std::int64_t start, std::int64_t count, std::optional<double> start_s,
                       std::optional<double> end_s, bool pad) {
        if (pad && !(start_s && end_s)) {
            throw py::value_error("pad=True needs start_s and end_s: how long the result is");
        }
        if (!start_s && !end_s) return read(start, count);
        if (start != 0 || count != -1) {
            throw py::value_error("pass either start and count, in samples, or start_s and end_s, in seconds");
        }
        return to_samples(reader_.call([&](AudioReader& reader) {
            return pad ? reader.read_padded(*start_s, *end_s) : reader.read_seconds(start_s, end_s);
        }));
    }

    py::object item(const py::object& index) {
        if (is_index(index)) return sample(to_index(index));
        if (!PySlice_Check(index.ptr())) {
            throw py::type_error("index an AudioReader by a sample's number or a slice of them, not by " +
                                 shown(index));
        }
        Py_ssize_t start = 0;
        Py_ssize_t stop = 0;
        Py_ssize_t step = 0;
        if (PySlice_Unpack(index.ptr(), &start, &stop, &step) < 0) throw py::error_already_set();
        if (step != 1) {
            throw py::value_error("the step of the slice is " + std::to_string(step) +
                                  "; samples are read in order: pass sample_rate= to resample");
        }
        if (start < 0 || stop < 0) {
            const auto length = static_cast<Py_ssize_t>(num_samples());
            PySlice_AdjustIndices(length, &start, &stop, 1);
        }
        const auto end = static_cast<std::int64_t>(stop);
        return to_samples(reader_.call([&](AudioReader& reader) {
                   try {
                       return reader.read(start, std::max<std::int64_t>(0, end - start));
                   } catch (const Error& error) {
                       if (error.code() != ErrorCode::out_of_range) throw;
                   }
                   return reader.read(0, 0);  // a slice past the end is empty, as of any sequence
               }))
            .data;
    }

    std::int64_t num_samples() { return reader_.call(&AudioReader::num_samples); }
    std::int64_t sample_at(double seconds) { return reader_.call(&AudioReader::sample_at, seconds); }
    std::vector<DecodeIssue> issues() { return reader_.call(&AudioReader::issues); }
    std::int64_t num_damaged_packets() { return reader_.call(&AudioReader::num_damaged_packets); }
    void close() { reader_.close(); }

    [[nodiscard]] bool closed() const { return reader_.closed(); }
    [[nodiscard]] const std::shared_ptr<MediaInfo>& info() const { return info_; }
    [[nodiscard]] const std::shared_ptr<StreamInfo>& stream() const { return stream_; }
    [[nodiscard]] int sample_rate() const { return sample_rate_; }
    [[nodiscard]] int num_channels() const { return num_channels_; }
    [[nodiscard]] const std::string& channel_layout() const { return channel_layout_; }
    [[nodiscard]] py::dtype dtype() const { return to_numpy_dtype(dtype_); }
    [[nodiscard]] double start_seconds() const { return start_seconds_; }
    [[nodiscard]] double duration_seconds() const {
        const double stated = stream_->duration_seconds();
        return stated > 0 ? stated : info_->duration_seconds;
    }

    [[nodiscard]] std::string describe() const {
        return "<tricodec.AudioReader '" + info_->name + "': " + stream_->codec_name + " at " +
               std::to_string(sample_rate_) + " Hz, " + channel_layout_ + ", " + std::string(to_string(dtype_)) +
               (closed() ? ", closed>" : ">");
    }

private:
    static PySamples to_samples(AudioSamples samples) {
        return {to_array(std::move(samples.data)), samples.start, samples.sample_rate, samples.pts_seconds};
    }

    py::object sample(std::int64_t index) {
        const auto read_one = reader_.call([&](AudioReader& reader) {
            if (index < 0) {
                TRICODEC_EXPECT(index >= -reader.num_samples(), out_of_range,
                                "sample " + std::to_string(index) + " does not exist; the sound has " +
                                    std::to_string(reader.num_samples()) + " samples");
            }
            auto one = reader.read(index, 1);
            TRICODEC_EXPECT(one.data.view.shape[1] == 1, out_of_range,
                            "sample " + std::to_string(index) + " does not exist; the sound has " +
                                std::to_string(reader.num_samples()) + " samples");
            return one;
        });
        return to_samples(read_one).data[py::make_tuple(py::slice(py::none(), py::none(), py::none()), 0)];
    }

    std::shared_ptr<MediaInfo> info_;
    std::shared_ptr<StreamInfo> stream_;
    int sample_rate_;
    int num_channels_;
    std::string channel_layout_;
    DType dtype_;
    double start_seconds_;
    Guarded<AudioReader> reader_;
};

/// Chunks of the samples from a place on.
class PyAudioChunks {
public:
    PyAudioChunks(std::shared_ptr<PyAudioReader> reader, std::int64_t num_samples, std::int64_t start,
                  std::int64_t count)
        : reader_(std::move(reader)), chunk_(num_samples), next_(start), left_(count) {
        if (num_samples < 1) {
            throw py::value_error("num_samples is " + std::to_string(num_samples) + "; a chunk has at least 1 sample");
        }
        if (count < -1) {
            throw py::value_error("count is " + std::to_string(count) + "; it must be a number of samples, or -1");
        }
        if (start < 0) next_ = std::max<std::int64_t>(0, reader_->num_samples() + start);
        if (count < 0) left_ = std::numeric_limits<std::int64_t>::max();
    }

    PySamples next() {
        if (left_ == 0) throw py::stop_iteration();
        PySamples samples = reader_->read(next_, std::min(chunk_, left_));
        const auto given = samples.size();
        if (given == 0) throw py::stop_iteration();
        next_ += given;
        left_ = given < chunk_ ? 0 : left_ - given;
        return samples;
    }

private:
    std::shared_ptr<PyAudioReader> reader_;
    std::int64_t chunk_;
    std::int64_t next_;
    std::int64_t left_;
};

void bind_samples(py::module_& module) {
    py::class_<PySamples> cls(module, "AudioSamples", "Consecutive samples of sound, with their times. Read-only.");
    publish(cls, "tricodec.audio");
    cls.def_readonly("data", &PySamples::data, "The samples, a numpy array [channels, samples], float32 or int16.")
        .def_readonly("start", &PySamples::start, "Number of the first sample.")
        .def_readonly("sample_rate", &PySamples::sample_rate, "Samples per second.")
        .def_readonly("pts_seconds", &PySamples::pts_seconds,
                      "Time of the first sample in seconds, on the clock of the file, as `FrameReader.pts_seconds`.")
        .def_property_readonly(
            "duration_seconds",
            [](const PySamples& self) { return static_cast<double>(self.size()) / self.sample_rate; },
            "Number of samples over sample_rate.")
        .def("__len__", &PySamples::size, "Number of samples.")
        .def("__repr__", [](const PySamples& self) {
            return py::str("<tricodec.audio.AudioSamples {} {} at {} Hz, from {:.6f} s>")
                .format(self.data.attr("dtype"), py::list(self.data.attr("shape")), self.sample_rate, self.pts_seconds);
        });
    py::class_<PyAudioChunks> chunks(module, "AudioChunks", "The iterator of `AudioReader.chunks`.");
    publish(chunks, "tricodec.audio");
    chunks.def("__iter__", [](const py::object& self) { return self; }).def("__next__", &PyAudioChunks::next);
}

}  // namespace

void bind_audio_reader(py::module_& module) {
    bind_samples(module);
    py::class_<PyAudioReader, std::shared_ptr<PyAudioReader>> cls(module, "AudioReader",
                                                                  R"(The sound of a file as a sequence of samples.

    >>> with tricodec.AudioReader(tricodec.sample_video()) as reader:
    ...     reader[:48000].shape
    (1, 48000)

``reader[a:b]`` is an array [channels, samples], float32 or int16. Sample i is sample i of the whole decoded stream, as
in ``ffmpeg -f f32le``, however the reads are cut. A reader keeps its place and some seconds before it, so that reads in
order and reads that overlap decode nothing twice.

Thread safety: safe; calls run one after another.)");
    publish(cls);
    cls.def(py::init(&PyAudioReader::open), py::arg("source"), py::kw_only(), py::arg("stream_index") = -1,
            py::arg("sample_rate") = py::none(), py::arg("num_channels") = py::none(), py::arg("dtype") = "float32",
            py::arg("seek_mode") = "exact", py::arg("ignore_edit_list") = false,
            R"(Open a source and decode the first packet.

Args:
    source: as in ``decode_video``.
    stream_index: number of the audio stream; -1 is the best one.
    sample_rate: samples per second of the result, resampled by libswresample; None is the stream's own rate.
    num_channels: channels of the result, mixed by libswresample: 1 is mono, 2 stereo; None is the stream's own.
    dtype: "float32", from -1 to 1, or "int16".
    seek_mode: how to reach a place further than 10 s ahead, or before what is kept. "exact" gives the samples of
        decoding from the start: it seeks in PCM (wav, mov, mp4), and decodes all other codecs up to the place.
        "approximate" seeks in every file. Then codecs that remember the past (AAC with noise, Opus, AC-3) may
        give slightly different samples, and coarse time stamps (mkv) may shift them by a millisecond.
    ignore_edit_list: as in ``decode_video``.
Raises:
    UnsupportedError: if the file has no audio stream, or FFmpeg no decoder for it.
    ValueError: if an option is not accepted, or stream_index is no audio stream.
    CorruptDataError: if no sample can be decoded.
    Error: the other errors of ``FrameReader``.)")
        .def("read", &PyAudioReader::read_any, py::arg("start") = 0, py::arg("count") = -1, py::kw_only(),
             py::arg("start_s") = py::none(), py::arg("end_s") = py::none(), py::arg("pad") = false,
             R"(Samples by number or by time.

Args:
    start: number of the first sample; a negative number counts from the end.
    count: number of samples; -1 is all to the end. What lies past the end is left out.
    start_s: time in seconds, in place of start and count: from the sample nearest to it. None is the first sample.
    end_s: time in seconds, up to the sample before the one nearest to it. None is the end. Ranges that meet share
        no sample and leave none out.
    pad: with start_s and end_s, fill with silence what lies before and after the sound, so that the number of samples
        follows from the times alone. ``start`` of the result may be negative.
Returns:
    AudioSamples.
Raises:
    IndexError: if the start is past the end.
    ValueError: if end_s is before start_s, or numbers and times are mixed.
    RefusedError: for more than ``max_output_bytes`` of `set_limits`.)")
        .def(
            "chunks",
            [](const std::shared_ptr<PyAudioReader>& self, std::int64_t num_samples, std::int64_t start,
               std::int64_t count) { return PyAudioChunks(self, num_samples, start, count); },
            py::arg("num_samples"), py::arg("start") = 0, py::arg("count") = -1,
            R"(Iterate over the samples in chunks; the last one is shorter where they do not divide.

Args:
    num_samples: samples of a chunk.
    start: as in ``read``.
    count: number of samples in all; -1 is all to the end.
Returns:
    An iterator of AudioSamples.)")
        .def("__getitem__", &PyAudioReader::item, py::arg("index"),
             "An array [channels, samples] of a slice without a step, [channels] of one sample.")
        .def(
            "__iter__",
            [](const std::shared_ptr<PyAudioReader>& self) { return PyAudioChunks(self, self->sample_rate(), 0, -1); },
            "Chunks of one second.")
        .def("__len__", &PyAudioReader::num_samples, "num_samples.")
        .def_property_readonly("num_samples", &PyAudioReader::num_samples,
                               "Number of samples of the result. The first use decodes to the end.")
        .def("sample_at", &PyAudioReader::sample_at, py::arg("seconds"),
             "Number of the sample nearest to a time. Jumps of the time stamps are known as far as was decoded.")
        .def_property_readonly("info", &PyAudioReader::info, "What the file holds, a MediaInfo.")
        .def_property_readonly("stream", &PyAudioReader::stream, "The stream as it is in the file, a StreamInfo.")
        .def_property_readonly("sample_rate", &PyAudioReader::sample_rate, "Samples per second of the result.")
        .def_property_readonly("num_channels", &PyAudioReader::num_channels, "Channels of the result.")
        .def_property_readonly("channel_layout", &PyAudioReader::channel_layout,
                               "FFmpeg's name of the result's channels: \"mono\", \"stereo\", \"5.1\", ...")
        .def_property_readonly("dtype", &PyAudioReader::dtype, "numpy's dtype of the result.")
        .def_property_readonly("start_seconds", &PyAudioReader::start_seconds,
                               "Time of the first sample, on the clock of the file.")
        .def_property_readonly("duration_seconds", &PyAudioReader::duration_seconds,
                               "As the headers state it; 0 unknown. num_samples / sample_rate is exact.")
        .def_property_readonly("issues", &PyAudioReader::issues,
                               "Damage met so far, a list of DecodeIssue: a report for each packet that could not be "
                               "decoded. The entry of a file that ends early is the last.")
        .def_property_readonly("num_damaged_packets", &PyAudioReader::num_damaged_packets,
                               "Number of such packets, with those that issues has no room for.")
        .def_property_readonly("closed", &PyAudioReader::closed, "True after close().")
        .def("close", &PyAudioReader::close, "Close the source. A second time does nothing.")
        .def("__enter__", [](const py::object& self) { return self; })
        .def("__exit__", [](PyAudioReader& self, const py::args&) { self.close(); })
        .def("__repr__", [](const PyAudioReader& self) { return to_text(self.describe()); });
}

}  // namespace tricodec::python
