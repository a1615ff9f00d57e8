// SPDX-License-Identifier: Apache-2.0
#include "tricodec/decode/decoder.h"

#include <pybind11/stl.h>

#include <string>

#include "arrays/cuda_streams.h"
#include "bindings.h"
#include "convert.h"
#include "gil.h"
#include "guarded.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

class PyDecoder {
public:
    PyDecoder(std::unique_ptr<Decoder> decoder, std::optional<StreamView> stream)
        : stream_(stream), decoder_(std::move(decoder), "Decoder") {}

    static std::unique_ptr<PyDecoder> create(const py::object& what, const DeviceWord& device, int num_threads,
                                             const py::object& context, const py::object& stream,
                                             bool block_statistics) {
        const DecoderOptions options{.device = device,
                                     .num_threads = num_threads,
                                     .context = to_context(context),
                                     .block_statistics = block_statistics};
        const auto on = to_stream(stream);
        if (py::isinstance<StreamInfo>(what)) {
            const auto source = what.cast<StreamInfo>();
            Unlocked unlocked;
            return std::make_unique<PyDecoder>(Decoder::create(source, options), on);
        }
        if (!py::isinstance<py::str>(what)) {
            throw py::type_error("stream_or_codec must be a StreamInfo (Demuxer.stream) or the name of a codec, not " +
                                 shown(what));
        }
        const CodecId codec = parse_codec(what.cast<std::string>());
        Unlocked unlocked;
        return std::make_unique<PyDecoder>(Decoder::create(codec, options), on);
    }

    std::vector<Frame> decode(const py::object& data, std::int64_t tag) {
        const Packet packet = to_packet(data);
        return decoder_.call([&](Decoder& decoder) { return given(decoder.decode(packet, tag)); });
    }
    std::vector<Frame> flush() {
        return decoder_.call([&](Decoder& decoder) { return given(decoder.flush()); });
    }
    void reset() {
        decoder_.call([](Decoder& decoder) { decoder.reset(); });
    }
    std::vector<DecodeIssue> issues() {
        return decoder_.call([](Decoder& decoder) {
            return std::vector<DecodeIssue>(decoder.issues().begin(), decoder.issues().end());
        });
    }
    std::int64_t num_issues() { return decoder_.call(&Decoder::num_issues); }
    // Read each time: a GPU that meets a stream it cannot decode is replaced by the CPU.
    std::string engine() { return decoder_.call(&Decoder::engine); }
    std::string device() {
        return decoder_.call([](Decoder& decoder) { return decoder.device().to_string(); });
    }

private:
    std::vector<Frame> given(std::vector<Frame> frames) const {
        for (Frame& frame : frames) frame = complete_on(std::move(frame), stream_);
        return frames;
    }

    std::optional<StreamView> stream_;
    Guarded<Decoder> decoder_;
};

void bind_issue(py::module_& module) {
    py::class_<DecodeIssue> cls(module, "DecodeIssue",
                                "A packet that could not be decoded, or was decoded with damage; of a FrameReader "
                                "also the packets\nthat are missing because the source was cut short. Read-only.");
    publish(cls, "tricodec.video");
    cls.def_readonly("packet_number", &DecodeIssue::packet_number, "Counted from 0; -1 unknown.")
        .def_property_readonly("pts", field<to_timestamp>(&DecodeIssue::pts),
                               "The packet's time stamp in time_base units, or None.")
        .def_readonly("pos", &DecodeIssue::pos, "The packet's byte position in the file; -1 unknown.")
        .def_property_readonly("message", field<to_text>(&DecodeIssue::message),
                               "The message of the codec, or what shows that the source was cut short.")
        .def("__repr__", [](const DecodeIssue& self) {
            return "<tricodec.video.DecodeIssue packet " + std::to_string(self.packet_number) + ": " + self.message +
                   ">";
        });
}

py::dict caps_of_gpu(const std::string& codec, const std::string& pixel_format, int gpu) {
    HardwareCaps caps;
    {
        const Unlocked unlocked;  // the first call opens the driver
        caps = hardware_caps(parse_codec(codec), parse_pixel_format(pixel_format), gpu);
    }
    using namespace py::literals;
    return py::dict("supported"_a = int(caps.supported), "num_decoder_engines"_a = caps.num_engines,
                    "width_max"_a = caps.max_width, "height_max"_a = caps.max_height,
                    "mb_num_max"_a = caps.max_macroblocks, "width_min"_a = caps.min_width,
                    "height_min"_a = caps.min_height);
}

}  // namespace

void bind_decoder(py::module_& module) {
    bind_issue(module);
    module.def("hardware_caps", &caps_of_gpu, py::arg("codec"), py::arg("pixel_format"), py::arg("gpu"),
               "What a GPU decodes of a codec, as PyNvVideoCodec.GetDecoderCaps names it; all 0 without the engine.");
    module.def(
        "gpu_refusal",
        [](const StreamInfo& stream, std::optional<int> gpu) {
            const Unlocked unlocked;
            return gpu_refusal(stream, gpu);
        },
        py::arg("stream"), py::arg("gpu") = py::none(),
        "Why a GPU does not give the CPU's frames of a stream, as far as its headers tell; None is any GPU.");
    py::class_<PyDecoder> cls(module, "Decoder",
                              R"(Decodes packets to frames, in presentation order.

    >>> with tricodec.Demuxer(tricodec.sample_video()) as demuxer:
    ...     decoder = tricodec.Decoder(demuxer.stream)
    ...     frames = [frame for packet in demuxer for frame in decoder.decode(packet)]
    >>> len(frames + decoder.flush())
    132

Thread safety: safe; calls run one after another.)");
    publish(cls);
    cls.def(py::init(&PyDecoder::create), py::arg("stream_or_codec"), py::kw_only(), py::arg("device") = "auto",
            py::arg("num_threads") = 0, py::arg("context") = py::none(), py::arg("stream") = py::none(),
            py::arg("block_statistics") = false,
            R"(Make a decoder.

Args:
    stream_or_codec: ``Demuxer.stream``, or a name ("h264", "hevc", "av1", ...) for packets that carry their own
        headers (Annex B, OBU).
    device, context, stream: as in ``FrameReader``.
    num_threads: threads of the codec; 0 is one for each core that this process may use, at most 16.
    block_statistics: whether frames of H.264 and HEVC have ``Frame.block_statistics``. With device "auto" the CPU
        decodes H.264 if the GPU's driver does not give them.
Raises:
    UnsupportedError: if no engine here decodes the codec, or the named GPU does not.
    DeviceError: if the named device cannot be used.)")
        .def("decode", &PyDecoder::decode, py::arg("packet"), py::kw_only(), py::arg("tag") = -1,
             R"(Feed one access unit. ``issues`` lists damage, which costs that packet's frames only.

Args:
    packet: a Packet, or bytes-like.
    tag: becomes the ``index`` of the packet's frames.
Returns:
    The frames that are ready, in presentation order; often none at first.)")
        .def("flush", &PyDecoder::flush, "The frames that are still held back. The decoder can then start again.")
        .def("reset", &PyDecoder::reset, "Forget everything but the headers: for use after a seek.")
        .def_property_readonly("issues", &PyDecoder::issues,
                               "Damage met so far, a list of DecodeIssue: the latest 10,000.")
        .def_property_readonly("num_issues", &PyDecoder::num_issues,
                               "Number of issues so far, with those that ``issues`` has dropped.")
        .def_property_readonly("engine", &PyDecoder::engine,
                               "Name of the decoder, for people to read: \"libavcodec h264\".")
        .def_property_readonly("device", &PyDecoder::device, "\"cpu\" or \"cuda:N\".")
        .def("__repr__",
             [](PyDecoder& self) { return "<tricodec.Decoder " + self.engine() + " on " + self.device() + ">"; });
}

}  // namespace tricodec::python
