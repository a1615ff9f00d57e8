// SPDX-License-Identifier: Apache-2.0
#include "tricodec/io/packet.h"

#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "arrays/export.h"
#include "bindings.h"
#include "convert.h"
#include "media_io.h"
#include "tricodec/io/stream_info.h"
#include "video/video.h"

namespace tricodec::python {
namespace {

int packet_getbuffer(PyObject* self, Py_buffer* buffer, int flags) {
    const auto& packet = py::cast<const Packet&>(py::handle(self));
    ArrayView bytes;
    bytes.data = const_cast<std::byte*>(packet.data.data());  // exported read-only; the type has no const of its own
    bytes.shape = {static_cast<std::int64_t>(packet.data.size())};
    bytes.strides = {1};
    bytes.read_only = true;
    return fill_buffer(self, buffer, flags, bytes);
}

Packet make_packet(const py::object& data, std::optional<std::int64_t> pts, std::optional<std::int64_t> dts,
                   std::int64_t duration, std::int64_t pos, bool key, const py::object& time_base) {
    Packet packet = to_packet(data);
    packet.pts = from_timestamp(pts);
    packet.dts = from_timestamp(dts);
    packet.duration = duration;
    packet.pos = pos;
    packet.key = key;
    packet.time_base = from_fraction(time_base, "time_base");
    return packet;
}

std::string describe_packet(const Packet& packet) {
    std::string text = "<tricodec.Packet " + std::to_string(packet.data.size()) + " bytes";
    if (packet.pts != kNoTimestamp) text += ", pts " + std::to_string(packet.pts);
    if (packet.dts != kNoTimestamp) text += ", dts " + std::to_string(packet.dts);
    if (packet.key) text += ", key";
    if (packet.discard) text += ", discard";
    if (packet.corrupt) text += ", corrupt";
    return text + ">";
}

std::vector<std::pair<int, py::bytes>> messages_of(const py::object& data, const py::object& what) {
    const Packet packet = to_packet(data);
    std::vector<SeiMessage> messages;
    if (py::isinstance<StreamInfo>(what)) {
        messages = sei_messages(what.cast<const StreamInfo&>(), packet.data);
    } else if (py::isinstance<py::str>(what)) {
        messages = sei_messages(parse_codec(what.cast<std::string>()), packet.data);
    } else {
        throw py::type_error("stream_or_codec must be a StreamInfo (Demuxer.stream) or the name of a codec, not " +
                             shown(what));
    }
    std::vector<std::pair<int, py::bytes>> result;
    for (const SeiMessage& message : messages) {
        result.emplace_back(message.type, to_bytes(std::as_bytes(std::span(message.payload))));
    }
    return result;
}

}  // namespace

Packet to_packet(const py::object& data) {
    if (py::isinstance<Packet>(data)) return data.cast<Packet>();
    if (PyObject_CheckBuffer(data.ptr()) == 0) {
        throw py::type_error("a packet must be a tricodec.Packet or bytes-like, not " + shown(data));
    }
    return Packet::copy(borrow_bytes(data).bytes);
}

void bind_packet(py::module_& module) {
    py::class_<Packet, std::shared_ptr<Packet>> cls(
        module, "Packet", buffer_protocol<packet_getbuffer>(),
        R"(One access unit of a stream: its compressed bytes, and when they are decoded and shown.

    >>> packet = next(tricodec.Demuxer(tricodec.sample_video()))
    >>> packet.key, packet.pts, len(packet) == len(packet.data)
    (True, 0, True)

Thread safety: safe; packets do not change.)");
    publish(cls);
    cls.def(py::init(&make_packet), py::arg("data"), py::kw_only(), py::arg("pts") = py::none(),
            py::arg("dts") = py::none(), py::arg("duration") = 0, py::arg("pos") = -1, py::arg("key") = false,
            py::arg("time_base") = py::none(),
            R"(Make a packet from bytes, which are copied.

Args:
    data: bytes-like; the bytes of a Packet are shared instead.
    pts: when the frame is shown, in time_base units, or None.
    dts: when it is decoded, in time_base units, or None.
    duration: in time_base units, 0 unknown.
    pos: byte position in its file, -1 unknown.
    key: decoding can start here.
    time_base: seconds per unit, a Fraction or (numerator, denominator), or None.)")
        .def_property_readonly(
            "data",
            [](const py::object& self) {
                PyObject* view = PyMemoryView_FromObject(self.ptr());
                if (view == nullptr) throw py::error_already_set();
                return py::reinterpret_steal<py::memoryview>(view);
            },
            "The bytes: a read-only memoryview that keeps the packet alive.")
        .def_property_readonly("pts", field<to_timestamp>(&Packet::pts),
                               "When it is shown, in time_base units, or None.")
        .def_property_readonly("dts", field<to_timestamp>(&Packet::dts),
                               "When it is decoded, in time_base units, or None.")
        .def_readonly("duration", &Packet::duration, "In time_base units; 0 unknown.")
        .def_readonly("pos", &Packet::pos, "Byte position in the file; -1 unknown.")
        .def_readonly("key", &Packet::key, "True if the container says that decoding can start here.")
        .def_readonly("discard", &Packet::discard, "True if it is decoded for its references only, not shown.")
        .def_readonly("corrupt", &Packet::corrupt, "True if the container marks it as damaged.")
        .def_property_readonly("time_base", field<to_fraction>(&Packet::time_base),
                               "Seconds per time stamp unit, a Fraction, or None.")
        .def_readonly("stream_index", &Packet::stream_index, "Number of its stream in the container.")
        .def_property_readonly(
            "address", [](const Packet& self) { return reinterpret_cast<std::uintptr_t>(self.data.data()); },
            "Address of the first byte.")
        .def("__len__", [](const Packet& self) { return self.data.size(); })
        .def("__bool__",
             [](const Packet&) { return true; })  // `while packet := demuxer.read()` must not end at an empty one
        .def("__repr__", describe_packet);
    module.def("sei_messages", &messages_of, py::arg("packet"), py::arg("stream_or_codec"),
               R"(The messages (SEI) that a packet of H.264 or HEVC carries.

Args:
    packet: a Packet, or bytes-like.
    stream_or_codec: its stream (``Demuxer.stream``), or a codec's name for packets with start codes.
Returns:
    (type, payload) pairs in the packet's order, the types of annex D of the standards; none for other codecs. The
    payload is bytes in the standards' layout. Messages that are cut off are left out.

Thread safety: safe.)");
}

}  // namespace tricodec::python
