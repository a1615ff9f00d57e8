// SPDX-License-Identifier: Apache-2.0
/// Integers of Python on their way into C++. CMake includes this header first in every file of the extension, because
/// all of them must see the same casters.
#pragma once

#include <pybind11/cast.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "errors.h"

namespace tricodec::python {

/// The value of a Python int, or nothing where it does not fit.
template <class T>
[[nodiscard]] std::optional<T> fitting(pybind11::handle number) {
    int overflow = 0;
    const long long wide = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow == 0) return std::in_range<T>(wide) ? std::optional(static_cast<T>(wide)) : std::nullopt;
    if (overflow < 0 || std::numeric_limits<T>::is_signed) return std::nullopt;
    const unsigned long long all = PyLong_AsUnsignedLongLong(number.ptr());
    if (PyErr_Occurred() == nullptr) return std::in_range<T>(all) ? std::optional(static_cast<T>(all)) : std::nullopt;
    PyErr_Clear();
    return std::nullopt;
}

/// The value of a Python int. Raises ValueError where it does not fit: "size holds 4294967296, which is out of range;
/// it must be from -2147483648 to 2147483647" where `subject` is "size holds".
template <class T>
[[nodiscard]] T fit(pybind11::handle number, const std::string& subject) {
    if (const auto value = fitting<T>(number)) return *value;
    throw pybind11::value_error(
        subject + " " + pybind11::str(number).cast<std::string>() + ", which is out of range; it must be from " +
        std::to_string(std::numeric_limits<T>::min()) + " to " + std::to_string(std::numeric_limits<T>::max()));
}

/// What pybind11 takes for an integer, but one that does not fit `T` is a ValueError that names it. pybind11 calls it a
/// TypeError ("incompatible function arguments") in a call, and a RuntimeError in a cast.
template <class T>
class IntegerCaster {
public:
    bool load(pybind11::handle source, bool convert) {
        if (!source || PyFloat_Check(source.ptr())) return false;
        const auto number = integer_of(source, convert);
        if (!number) {
            clear_error();
            return false;
        }
        value = fit<T>(number, "an integer argument is");
        return true;
    }

    static pybind11::handle cast(T source, pybind11::return_value_policy, pybind11::handle) {
        return std::numeric_limits<T>::is_signed ? PyLong_FromLongLong(static_cast<long long>(source))
                                                 : PyLong_FromUnsignedLongLong(static_cast<unsigned long long>(source));
    }

    PYBIND11_TYPE_CASTER(T, pybind11::detail::const_name("int"));

private:
    static pybind11::object integer_of(pybind11::handle source, bool convert) {
        PyObject* const object = source.ptr();
        if (PyIndex_Check(object) != 0) return pybind11::reinterpret_steal<pybind11::object>(PyNumber_Index(object));
        if (!convert || PyNumber_Check(object) == 0) return {};
        return pybind11::reinterpret_steal<pybind11::object>(PyNumber_Long(object));
    }
};

}  // namespace tricodec::python

namespace pybind11::detail {

template <>
class type_caster<int> : public tricodec::python::IntegerCaster<int> {};
template <>
class type_caster<unsigned> : public tricodec::python::IntegerCaster<unsigned> {};
template <>
class type_caster<long> : public tricodec::python::IntegerCaster<long> {};
template <>
class type_caster<unsigned long> : public tricodec::python::IntegerCaster<unsigned long> {};
template <>
class type_caster<long long> : public tricodec::python::IntegerCaster<long long> {};
template <>
class type_caster<unsigned long long> : public tricodec::python::IntegerCaster<unsigned long long> {};

}  // namespace pybind11::detail
