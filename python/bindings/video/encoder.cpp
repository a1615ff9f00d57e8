// SPDX-License-Identifier: Apache-2.0
#include "tricodec/encode/encoder.h"

#include <pybind11/stl.h>

#include <string>

#include "arrays/cuda_streams.h"
#include "arrays/import.h"
#include "bindings.h"
#include "convert.h"
#include "errors.h"
#include "guarded.h"
#include "tricodec/base/cuda_stream.h"
#include "tricodec/base/gpu.h"
#include "tricodec/base/text.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

class PyEncoder {
public:
    PyEncoder(std::unique_ptr<Encoder> encoder, const EncoderOptions& options)
        : options_(options),
          stream_(std::make_shared<StreamInfo>(encoder->stream())),
          headers_(encoder->headers()),
          reorder_depth_(encoder->reorder_depth()),
          engine_(encoder->engine()),
          device_(encoder->device().to_string()),
          encoder_(std::move(encoder), "Encoder") {}
    /// Packets that the encoder holds back are lost with it.
    ~PyEncoder() {
        if (!holds_back_ || !warns_) return;
        warn_dropped("an Encoder was dropped without flush(): its last packets are lost; write those of flush() too");
    }
    PyEncoder(const PyEncoder&) = delete;
    PyEncoder& operator=(const PyEncoder&) = delete;

    static std::unique_ptr<PyEncoder> create(int width, int height, const std::string& codec, const DeviceWord& device,
                                             const std::string& format, const py::object& frame_rate,
                                             const py::object& time_base, std::int64_t bit_rate, int gop_size,
                                             int num_b_frames, const py::object& color, int rotation, int num_threads,
                                             bool global_header, bool repeat_headers,
                                             const std::string& bitstream_filter,
                                             const std::optional<py::dict>& given) {
        using namespace py::literals;
        EncoderOptions options;
        options.width = width;
        options.height = height;
        read_encoder_options(
            py::dict("codec"_a = codec, "device"_a = device.text, "format"_a = format, "frame_rate"_a = frame_rate,
                     "time_base"_a = time_base, "bit_rate"_a = bit_rate, "gop_size"_a = gop_size,
                     "num_b_frames"_a = num_b_frames, "color"_a = color, "rotation"_a = rotation,
                     "num_threads"_a = num_threads, "global_header"_a = global_header,
                     "repeat_headers"_a = repeat_headers, "bitstream_filter"_a = bitstream_filter,
                     "options"_a = given.value_or(py::dict())),
            options);
        Unlocked unlocked;
        return std::make_unique<PyEncoder>(Encoder::create(options), options);
    }

    std::vector<Packet> encode(const py::object& picture, std::optional<std::int64_t> pts, const std::string& format,
                               bool force_key, const py::object& input_consumed) {
        const Device input = py::isinstance<Frame>(picture) ? picture.cast<const Frame&>().device
                             : input_consumed.is_none()     ? Device{}
                                                            : device_of(picture, "picture");
        const auto consumed = to_consumed_event(input_consumed, input);
        Frame frame = to_encoder_input(picture, format, options_);
        const bool stays = frame.device == input && input.to_string() == device_;
        if (consumed && stays) frame = copied(frame, input, *consumed);
        if (pts) {
            frame.pts = from_timestamp(pts);
            frame.time_base = stream_->time_base;
        }
        auto packets = encoder_.call([&](Encoder& encoder) { return encoder.encode(frame, {.force_key = force_key}); });
        holds_back_ = true;
        if (consumed && !stays) record_event(*consumed, thread_stream(input), input.index);
        return packets;
    }
    std::vector<Packet> flush() {
        holds_back_ = false;
        return encoder_.call(&Encoder::flush);
    }
    void reconfigure(std::optional<std::int64_t> bit_rate, std::optional<std::int64_t> max_bit_rate,
                     std::optional<std::int64_t> buffer_size) {
        encoder_.call([&](Encoder& encoder) { encoder.reconfigure({bit_rate, max_bit_rate, buffer_size}); });
    }
    void do_not_warn() { warns_ = false; }
    [[nodiscard]] const std::shared_ptr<StreamInfo>& stream() const { return stream_; }
    [[nodiscard]] py::bytes headers() const { return to_bytes(headers_); }
    [[nodiscard]] int reorder_depth() const { return reorder_depth_; }
    [[nodiscard]] const std::string& engine() const { return engine_; }
    [[nodiscard]] const std::string& device() const { return device_; }

private:
    /// A copy of a picture on the GPU of NVENC, which may read a picture long after encode() has returned. The event is
    /// recorded behind the copy.
    [[nodiscard]] Frame copied(const Frame& picture, const Device& input, EventView consumed) const {
        const Unlocked unlocked;
        const StreamView stream = thread_stream(input, picture.buffer.get());
        Frame copy = copy_on_device(picture, stream);
        record_event(consumed, stream, input.index);
        return copy;
    }

    EncoderOptions options_;
    std::shared_ptr<StreamInfo> stream_;
    std::vector<std::byte> headers_;
    int reorder_depth_;
    std::string engine_;
    std::string device_;
    bool warns_ = true;
    bool holds_back_ = false;  // frames were sent, and flush() was not called
    Guarded<Encoder> encoder_;
};

}  // namespace

void bind_encoder(py::module_& module) {
    module.def(
        "encoder_names",
        [] {
            const auto names = encoder_names();
            return py::tuple(py::cast(names));
        },
        "libavcodec's encoders of video that encode 4:2:0 pictures into Matroska here, a tuple of str. The first call "
        "tries each. Others (certain sizes, palettes) still work by name.");
    module.def("unknown_encoder_options", &unknown_encoder_options, py::arg("encoder"), py::arg("options"),
               "The options that an encoder does not know (\"\") or refuses the value of (why).");
    module.def("picture_bytes", &picture_bytes, py::arg("format"), py::arg("width"), py::arg("height"),
               "Bytes of one picture in a layout that Encoder.encode() takes.");
    module.def(
        "encoder_for",
        [](const std::string& codec, const DeviceWord& device) { return encoder_for(codec, device.text); },
        py::arg("codec"), py::arg("device") = "auto",
        "The encoder of libavcodec that Encoder takes for these arguments: \"libx264\", \"h264_nvenc\".");
    module.def(
        "picture_type", [](const Packet& packet) { return std::string(1, picture_type_of(packet)); }, py::arg("packet"),
        "\"I\", \"P\" or \"B\" as the encoder reported for its packet, else \"?\".");
    py::class_<PyEncoder> cls(module, "Encoder",
                              R"(Encodes frames to packets, in decoding order.

    >>> encoder = tricodec.Encoder(64, 48, codec="h264", device="cpu")
    >>> packets = encoder.encode(np.zeros((48, 64, 3), np.uint8)) + encoder.flush()
    >>> len(packets), packets[0].key
    (1, True)

Thread safety: safe; calls run one after another.)");
    publish(cls);
    cls.def(py::init(&PyEncoder::create), py::arg("width"), py::arg("height"), py::kw_only(), py::arg("codec") = "h264",
            py::arg("device") = "auto", py::arg("format") = "yuv420p", py::arg("frame_rate") = 30,
            py::arg("time_base") = py::none(), py::arg("bit_rate") = 0, py::arg("gop_size") = -1,
            py::arg("num_b_frames") = -1, py::arg("color") = py::none(), py::arg("rotation") = 0,
            py::arg("num_threads") = 0, py::arg("global_header") = false, py::arg("repeat_headers") = true,
            py::arg("bitstream_filter") = "", py::arg("options") = py::none(),
            R"(Make an encoder.

Args:
    width, height: size of the pictures in pixels.
    codec, device: as in ``encode_video``.
    format: FFmpeg's name of the layout that is encoded; frames of other layouts are converted.
    frame_rate: frames per second: an int, a float, a Fraction or (numerator, denominator).
    time_base: seconds per unit of the packets' time stamps; None is 1 / frame_rate.
    bit_rate, gop_size, num_b_frames: as in ``encode_video``.
    color: a ColorDescription, or a dict with any of its attributes. The stream states these colors, and RGB frames
        are converted to them.
    rotation: as in ``encode_video``.
    num_threads: threads of the codec; 0 is the codec's own choice.
    global_header: put the headers only beside the packets. Set it if ``Muxer.wants_global_headers`` is true.
    repeat_headers: put the headers before every key frame, not only before the first.
    bitstream_filter: filters of libavcodec for packets and headers: "h264_metadata=level=4.1".
    options: options of the encoder, by FFmpeg's names: {"preset": "veryfast", "crf": 23}.
Raises:
    ValueError: for sizes, formats and options that the encoder does not accept.
    UnsupportedError: if no engine here encodes the codec, or the named device does not.)")
        .def("encode", &PyEncoder::encode, py::arg("picture"), py::kw_only(), py::arg("pts") = py::none(),
             py::arg("format") = "", py::arg("force_key") = false, py::arg("input_consumed") = py::none(),
             R"(Feed one picture.

Args:
    picture: a Frame, or an array (numpy, torch, anything with DLPack, the buffer protocol or the CUDA array
        interface) in a layout that ``format`` names.
    pts: in stream.time_base units; None takes a Frame's own time, or adds 1 / frame_rate to the last.
    format: of an array: FFmpeg's name or "NV12", "YUV420", "YV12", "YUV444", "P010", "YUV444_16bit", "ARGB", "ABGR",
        ...; "" is rgb24 for [H, W, 3], gray for [H, W] of the picture's size, else the encoder's own format.
    force_key: encode it as a key frame.
    input_consumed: as in `Transform`, for a picture on a GPU. The event is recorded on a stream of this thread
        when an encoder on the CPU has read the picture. For NVENC the picture is copied within the GPU, and the event is
        recorded after the copy; without an event NVENC reads the picture itself until its packet is received.
Returns:
    The packets that are ready, in decoding order; often none at first.
Raises:
    ValueError: for another size, a time that is not after the previous one, or ``input_consumed`` with a picture on
        the CPU.
    TypeError: for another element type.)")
        .def("_do_not_warn", &PyEncoder::do_not_warn, "For front ends that drop encoders as their originals do.")
        .def("flush", &PyEncoder::flush, "The packets that are still held back. Nothing can be encoded afterwards.")
        .def("reconfigure", &PyEncoder::reconfigure, py::kw_only(), py::arg("bit_rate") = py::none(),
             py::arg("max_bit_rate") = py::none(), py::arg("buffer_size") = py::none(),
             R"(Change the rate of the running stream. None keeps a value.

Args:
    bit_rate: bits per second.
    max_bit_rate: bits per second, where the encoder was made with one (option "maxrate").
    buffer_size: bits, where the encoder was made with one (option "bufsize").
Raises:
    UnsupportedError: if the engine cannot do it.)")
        .def_property_readonly("stream", &PyEncoder::stream, "The stream that is made, for Muxer.add_stream().")
        .def_property_readonly("headers", &PyEncoder::headers,
                               "The codec's headers (SPS, PPS, VPS; AV1's sequence header), bytes.")
        .def_property_readonly("reorder_depth", &PyEncoder::reorder_depth,
                               "By how many frames decoding order and presentation order can differ.")
        .def_property_readonly("engine", &PyEncoder::engine,
                               "Name of the encoder, for people to read: \"libavcodec libx264\".")
        .def_property_readonly("device", &PyEncoder::device, "\"cpu\" or \"cuda:N\".")
        .def("__repr__", [](const PyEncoder& self) {
            return "<tricodec.Encoder " + self.stream()->codec_name + " " +
                   size_text(self.stream()->width, self.stream()->height) + " by " + self.engine() + " on " +
                   self.device() + ">";
        });
}

}  // namespace tricodec::python
