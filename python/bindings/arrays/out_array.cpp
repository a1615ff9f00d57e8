// SPDX-License-Identifier: Apache-2.0
#include "arrays/out_array.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "arrays/import.h"
#include "convert.h"
#include "tricodec/base/gpu.h"

namespace tricodec::python {
namespace {

/// Looks at the place before the memory is asked for: an export would wait for the other device's work.
ArrayView import_out(const py::object& out, const Device* made_on, std::optional<StreamView> stream) {
    const Device place = device_of(out, "out");
    if (place.kind == Device::Kind::cuda) {
        const std::string reason = made_on == nullptr ? "" : gpu_unusable_reason(place.index);
        const bool possible =
            made_on != nullptr && (place == *made_on || (made_on->kind == Device::Kind::cpu && reason.empty()));
        if (!possible) {
            throw py::value_error("out is on " + place.to_string() +
                                  (reason.empty() ? "" : ", which cannot be used: " + reason) +
                                  "; the result is made on " + (made_on == nullptr ? Device{} : *made_on).to_string());
        }
    }
    return import_for_work(out, {.name = "out", .stream = stream});
}

void expect_writable(const ArrayView& array) {
    if (array.read_only) throw py::value_error("out is read-only; pass an array that may be written");
}

/// True if two elements may share bytes. Taken from the smallest stride on, each axis must step over all that the axes
/// before it span.
bool may_overlap(const ArrayView& array) {
    std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // (stride, extent)
    for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
        if (array.shape[axis] == 0) return false;
        if (array.shape[axis] > 1) axes.emplace_back(std::abs(array.strides[axis]), array.shape[axis]);
    }
    std::sort(axes.begin(), axes.end());
    std::int64_t span = array.itemsize;
    for (const auto& [stride, extent] : axes) {
        if (stride < span) return true;
        span += stride * (extent - 1);
    }
    return false;
}

ArrayView checked_out(const py::object& out, DType dtype, const std::vector<std::int64_t>& shape, const Device* made_on,
                      std::optional<StreamView> stream) {
    ArrayView array = import_out(out, made_on, stream);
    if (array.dtype() != dtype) {
        throw py::type_error("out has dtype " + dtype_text(array) + "; the result is " + std::string(to_string(dtype)));
    }
    if (!std::ranges::equal(array.shape, shape)) {
        throw py::value_error("out has shape " + shape_text(array.shape) + "; the result has shape " +
                              shape_text(shape));
    }
    expect_writable(array);
    if (may_overlap(array)) {
        throw py::value_error("out has elements that share memory (strides " + shape_text(array.strides) +
                              " bytes); pass an array with elements that are apart");
    }
    return array;
}

}  // namespace

ArrayView to_out_array(const py::object& out, DType dtype, const std::vector<std::int64_t>& shape) {
    return checked_out(out, dtype, shape, nullptr, std::nullopt);
}

ArrayView to_out_array(const py::object& out, DType dtype, const std::vector<std::int64_t>& shape, const Device& device,
                       std::optional<StreamView> stream) {
    return checked_out(out, dtype, shape, &device, stream);
}

ArrayView to_out_bytes(const py::object& out, std::int64_t size_bytes) {
    ArrayView array = import_out(out, nullptr, std::nullopt);
    if (const auto given = array.size() * array.itemsize; given != size_bytes) {
        throw py::value_error("out has " + std::to_string(given) + " bytes; the result has " +
                              std::to_string(size_bytes));
    }
    expect_writable(array);
    if (!array.is_contiguous()) {
        throw py::value_error("out is not one run of bytes (strides " + shape_text(array.strides) +
                              "); pass a C-contiguous array");
    }
    return array;
}

}  // namespace tricodec::python
