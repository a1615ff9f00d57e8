// SPDX-License-Identifier: Apache-2.0
/// Small values between Python and the core: fractions, time stamps, dtypes, texts.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tricodec/base/rational.h"
#include "tricodec/tensor/color.h"
#include "tricodec/tensor/dtype.h"

namespace tricodec::python {

namespace py = pybind11;

/// A device: a str, or an object with `type` and `index`, such as a torch.device.
struct DeviceWord {
    std::string text;

    // NOLINTNEXTLINE(google-explicit-constructor): the core takes the text
    operator const std::string&() const noexcept { return text; }
};
/// False for other objects.
[[nodiscard]] bool to_device_word(const py::handle& value, DeviceWord& word);

/// fractions.Fraction, or None for an unknown value.
[[nodiscard]] py::object to_fraction(Rational value);
/// The same for rates and ratios, which are never zero: containers write 0 for "unknown".
[[nodiscard]] py::object to_positive_fraction(Rational value);
/// Accepts None, int, Fraction and (numerator, denominator). Raises TypeError or ValueError naming `what`.
[[nodiscard]] Rational from_fraction(const py::object& value, const char* what);

/// int, or None for kNoTimestamp.
[[nodiscard]] py::object to_timestamp(std::int64_t value);
/// Raises ValueError for -2^63, which means "none" in the core.
[[nodiscard]] std::int64_t from_timestamp(const std::optional<std::int64_t>& value);

/// Raises ImportError for bfloat16 if the package ml_dtypes, which has the type, is not installed.
[[nodiscard]] py::dtype to_numpy_dtype(DType dtype);
/// The name of an element type: a str, torch's, and what numpy takes for a dtype.
[[nodiscard]] std::string to_dtype_name(const py::object& value);

/// An object with __index__. Raises ValueError beyond 32 bits; its text begins with `subject`: "gop_size is".
[[nodiscard]] int to_int(const py::object& value, const std::string& subject);
/// Exactly `count` integers from a sequence. Raises TypeError or ValueError: "size must be (height, width), not 5".
[[nodiscard]] std::vector<int> to_ints(const py::object& value, std::size_t count, const char* what, const char* shape);

/// True if an array of this shape has `num_elements` elements.
[[nodiscard]] bool holds(std::span<const std::int64_t> shape, std::int64_t num_elements) noexcept;

/// "(4, 6)", as Python writes a shape.
[[nodiscard]] std::string shape_text(std::span<const std::int64_t> shape);

/// repr(value), shortened, for messages.
[[nodiscard]] std::string shown(const py::handle& value);

/// The value of a keyword argument. Raises TypeError: "bit_rate must be an int, not (16,)" where `accepted` is "an
/// int".
template <class T>
[[nodiscard]] T keyword(const std::string& name, const py::handle& value, const char* accepted) {
    try {
        return value.cast<T>();
    } catch (const py::cast_error&) {
        throw py::type_error(name + " must be " + accepted + ", not " + shown(value));
    }
}

/// A getter of a field that `Convert` makes an object of Python.
template <auto Convert, class T, class Value>
[[nodiscard]] auto field(Value T::* member) {
    return [member](const T& self) { return Convert(self.*member); };
}
/// The name of a value of the core's.
inline constexpr auto word_of = [](auto value) { return to_string(value); };

/// From a dict of names (keys as ColorDescription's attributes) or a ColorDescription; None is all unspecified.
[[nodiscard]] ColorDescription parse_color(const py::object& value);

/// From a dict of str to str, or None. Raises TypeError naming `what` for anything else.
[[nodiscard]] std::map<std::string, std::string> to_strings(const py::object& options, const char* what);
/// Tags of files need not be UTF-8.
[[nodiscard]] py::str to_text(const std::string& text);
[[nodiscard]] py::bytes to_bytes(std::span<const std::byte> bytes);
[[nodiscard]] py::dict to_dict(const std::map<std::string, std::string>& entries);

}  // namespace tricodec::python

namespace pybind11::detail {

template <>
struct type_caster<tricodec::python::DeviceWord> {
    PYBIND11_TYPE_CASTER(tricodec::python::DeviceWord, const_name("str"));
    bool load(handle source, bool /*convert*/) { return tricodec::python::to_device_word(source, value); }
};

}  // namespace pybind11::detail
