// SPDX-License-Identifier: Apache-2.0
#include "convert.h"

#include <pybind11/gil_safe_call_once.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "errors.h"
#include "tricodec/base/error.h"
#include "tricodec/base/text.h"

namespace tricodec::python {
namespace {

py::dtype make_numpy_dtype(DType dtype) {
    if (dtype != DType::bfloat16) return py::dtype(std::string(to_string(dtype)));
    try {
        return py::dtype::from_args(py::module_::import("ml_dtypes").attr("bfloat16"));
    } catch (const py::error_already_set& error) {
        if (!error.matches(PyExc_ImportError)) throw;
        throw py::import_error(
            "numpy has no bfloat16 of its own, and the package ml_dtypes, which adds it, is not installed: pip install "
            "ml_dtypes, or pass out= a torch.bfloat16 tensor, or ask for float16 or float32");
    }
}

const py::object& fraction_class() {
    // A static py::object would be released after the interpreter is gone.
    PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<py::object> cls;
    return cls.call_once_and_store_result([] { return py::module_::import("fractions").attr("Fraction"); })
        .get_stored();
}

}  // namespace

bool to_device_word(const py::handle& value, DeviceWord& word) {
    if (py::isinstance<py::str>(value)) {
        word.text = value.cast<std::string>();
        return true;
    }
    if (!has_attribute(value, "type") || !has_attribute(value, "index")) return false;
    const py::object type = value.attr("type");
    if (!py::isinstance<py::str>(type)) return false;
    word.text = type.cast<std::string>();
    const py::object index = value.attr("index");
    if (py::isinstance<py::int_>(index) && word.text != "cpu") word.text += ":" + py::str(index).cast<std::string>();
    return true;
}

py::object to_fraction(Rational value) {
    if (!value.known()) return py::none();
    return fraction_class()(value.num, value.den);
}

py::object to_positive_fraction(Rational value) {
    if (value.num == 0) return py::none();
    return to_fraction(value);
}

Rational from_fraction(const py::object& value, const char* what) {
    if (value.is_none()) return {};
    py::object fraction;
    if (py::isinstance<py::tuple>(value) || py::isinstance<py::list>(value)) {
        const auto parts = to_ints(value, 2, what, "(numerator, denominator)");
        if (parts[1] == 0)
            throw py::value_error(std::string(what) + " has the denominator 0; pass None for an unknown one");
        fraction = fraction_class()(parts[0], parts[1]);
    } else if (py::isinstance<py::str>(value) ||
               !(has_attribute(value, "numerator") && has_attribute(value, "denominator"))) {
        throw py::type_error(std::string(what) +
                             " must be a fractions.Fraction, an int or (numerator, denominator), not " + shown(value));
    } else {
        fraction = value;
    }
    // FFmpeg's fractions have 32 bits.
    const auto part = [&](const char* name) { return to_int(fraction.attr(name), what + std::string(" holds")); };
    return {part("numerator"), part("denominator")};
}

py::object to_timestamp(std::int64_t value) {
    if (value == kNoTimestamp) return py::none();
    return py::int_(value);
}

std::int64_t from_timestamp(const std::optional<std::int64_t>& value) {
    if (value == kNoTimestamp) {
        throw py::value_error("a time stamp is " + std::to_string(*value) +
                              ", which FFmpeg uses for a missing one; pass None, or a number from -2^63 + 1 on");
    }
    return value.value_or(kNoTimestamp);
}

py::dtype to_numpy_dtype(DType dtype) {
    // Made once, and leaked like the class above: finding a dtype by its name takes longer than a small transform.
    static std::array<py::dtype*, kNumDTypes> made{};
    auto& slot = made.at(static_cast<std::size_t>(dtype));
    if (slot == nullptr) slot = new py::dtype(make_numpy_dtype(dtype));
    return *slot;
}

std::string to_dtype_name(const py::object& value) {
    const bool is_torchs = std::string_view(Py_TYPE(value.ptr())->tp_name) == "torch.dtype";
    if (is_torchs || py::isinstance<py::str>(value)) {
        const auto name = py::str(value).cast<std::string>();
        constexpr std::string_view kPackage = "torch.";
        return name.starts_with(kPackage) ? name.substr(kPackage.size()) : name;
    }
    // np.uint8, np.dtype("float32") and others that numpy takes.
    return py::dtype::from_args(value).attr("name").cast<std::string>();
}

int to_int(const py::object& value, const std::string& subject) {
    const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    if (!number) throw py::error_already_set();
    return fit<int>(number, subject);
}

std::vector<int> to_ints(const py::object& value, std::size_t count, const char* what, const char* shape) {
    const auto complain = [&]() -> py::type_error {
        return py::type_error(std::string(what) + " must be " + shape + ", not " + shown(value));
    };
    // torch's tensors are no sequences.
    const bool is_tensor = !py::isinstance<py::sequence>(value) && has_attribute(value, "tolist");
    const py::object listed = is_tensor ? value.attr("tolist")() : value;
    if (!py::isinstance<py::sequence>(listed) || py::isinstance<py::str>(value) || py::isinstance<py::bytes>(value)) {
        throw complain();
    }
    const auto items = py::reinterpret_borrow<py::sequence>(listed);
    if (items.size() != count) throw py::value_error(complain().what());
    std::vector<int> result;
    // Not handles: a sequence such as an array makes each item when it is asked for.
    for (const py::object item : items) {
        if (PyBool_Check(item.ptr()) || PyIndex_Check(item.ptr()) == 0) throw complain();
        result.push_back(to_int(py::reinterpret_borrow<py::object>(item), what + std::string(" holds")));
    }
    return result;
}

bool holds(std::span<const std::int64_t> shape, std::int64_t num_elements) noexcept {
    std::int64_t total = 1;
    for (const std::int64_t extent : shape) {
        if (extent < 0 || __builtin_mul_overflow(total, extent, &total)) return false;
    }
    return total == num_elements;
}

std::string shape_text(std::span<const std::int64_t> shape) {
    return "(" + listed_numbers(shape) + (shape.size() == 1 ? ",)" : ")");
}

std::string shown(const py::handle& value) {
    constexpr std::size_t kLongest = 120;
    auto text = py::repr(value).cast<std::string>();
    if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
    return text;
}

ColorDescription parse_color(const py::object& value) {
    ColorDescription color;
    if (value.is_none()) return color;
    if (py::isinstance<ColorDescription>(value)) return value.cast<ColorDescription>();
    if (!py::isinstance<py::dict>(value)) {
        throw py::type_error("color must be a dict or a ColorDescription, not " + shown(value));
    }
    for (const auto& [key, value_of_key] : py::reinterpret_borrow<py::dict>(value)) {
        const auto name = py::str(key).cast<std::string>();
        if (!py::isinstance<py::str>(value_of_key))
            throw py::type_error("color['" + name + "'] must be a str, not " + shown(value_of_key));
        const auto text = value_of_key.cast<std::string>();
        constexpr std::array kKeys = {"matrix", "primaries", "transfer", "range", "chroma_location"};
        if (std::ranges::find(kKeys, name) == kKeys.end())
            throw py::value_error("color has the key '" + name +
                                  "'; use matrix, primaries, transfer, range or chroma_location");
        if (name == "matrix") color.matrix = parse_color_matrix(text);
        if (name == "primaries") color.primaries = parse_color_primaries(text);
        if (name == "transfer") color.transfer = parse_color_transfer(text);
        if (name == "range") color.range = parse_color_range(text);
        if (name == "chroma_location") color.chroma_location = parse_chroma_location(text);
    }
    return color;
}

std::map<std::string, std::string> to_strings(const py::object& options, const char* what) {
    std::map<std::string, std::string> result;
    if (options.is_none()) return result;
    if (!py::isinstance<py::dict>(options)) {
        throw py::type_error(std::string(what) + " must be a dict of str to str, not " + shown(options));
    }
    for (const auto& [key, value] : options.cast<py::dict>()) {
        if (!py::isinstance<py::str>(key) || !py::isinstance<py::str>(value)) {
            throw py::type_error(std::string(what) + " must be a dict of str to str; found " + shown(key) + ": " +
                                 shown(value));
        }
        result[key.cast<std::string>()] = value.cast<std::string>();
    }
    return result;
}

py::str to_text(const std::string& text) {
    PyObject* decoded = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
    if (decoded == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::str>(decoded);
}

py::bytes to_bytes(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

py::dict to_dict(const std::map<std::string, std::string>& entries) {
    py::dict result;
    for (const auto& [key, value] : entries) result[to_text(key)] = to_text(value);
    return result;
}

}  // namespace tricodec::python
