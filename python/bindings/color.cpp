// SPDX-License-Identifier: Apache-2.0
#include "tricodec/color.h"

#include <string>

#include "bindings.h"

namespace tricodec::python {
namespace {

template <auto Field>
std::string word(const ColorDescription& self) {
    return std::string(to_string(self.*Field));
}

}  // namespace

void bind_color(py::module_& module) {
    py::class_<ColorDescription> cls(
        module, "ColorDescription",
        "How samples mean colors, in the words of FFmpeg and ITU-T H.273; \"unspecified\" where the stream is silent.");
    publish(cls);
    cls.def_property_readonly("matrix", word<&ColorDescription::matrix>,
                              "YCbCr matrix: \"bt709\", \"smpte170m\" (BT.601), \"bt2020nc\", \"rgb\", ...")
        .def_property_readonly("primaries", word<&ColorDescription::primaries>, "Chromaticities of the primaries.")
        .def_property_readonly("transfer", word<&ColorDescription::transfer>, "Transfer characteristic.")
        .def_property_readonly("range", word<&ColorDescription::range>, "\"limited\", \"full\" or \"unspecified\".")
        .def_property_readonly("chroma_location", word<&ColorDescription::chroma_location>,
                               "Where a chroma sample sits: \"left\", \"center\", \"topleft\", ...")
        .def(
            "to_dict",
            [](const ColorDescription& self) {
                py::dict result;
                result["matrix"] = word<&ColorDescription::matrix>(self);
                result["primaries"] = word<&ColorDescription::primaries>(self);
                result["transfer"] = word<&ColorDescription::transfer>(self);
                result["range"] = word<&ColorDescription::range>(self);
                result["chroma_location"] = word<&ColorDescription::chroma_location>(self);
                return result;
            },
            "The attributes as a dict of str.")
        .def(
            "__eq__",
            [](const ColorDescription& self, const py::object& other) -> py::object {
                if (!py::isinstance<ColorDescription>(other))
                    return py::reinterpret_borrow<py::object>(Py_NotImplemented);
                return py::bool_(self == other.cast<ColorDescription>());
            },
            py::arg("other"))
        .def("__hash__",
             [](const ColorDescription& self) {
                 return py::hash(py::make_tuple(static_cast<int>(self.matrix), static_cast<int>(self.primaries),
                                                static_cast<int>(self.transfer), static_cast<int>(self.range),
                                                static_cast<int>(self.chroma_location)));
             })
        .def("__repr__", [](const ColorDescription& self) {
            return "ColorDescription(matrix='" + word<&ColorDescription::matrix>(self) + "', primaries='" +
                   word<&ColorDescription::primaries>(self) + "', transfer='" +
                   word<&ColorDescription::transfer>(self) + "', range='" + word<&ColorDescription::range>(self) +
                   "', chroma_location='" + word<&ColorDescription::chroma_location>(self) + "')";
        });
}

}  // namespace tricodec::python
