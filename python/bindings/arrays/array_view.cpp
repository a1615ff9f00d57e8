// SPDX-License-Identifier: Apache-2.0
#include "arrays/array_view.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "convert.h"
#include "gil.h"

namespace tricodec::python {
namespace {

/// By DType.
constexpr std::array<const char*, kNumDTypes> kTypestrs = {"|u1", "<u2", "<i2", "<i4",    "<i8",
                                                           "<f2", "<f4", "<f8", kBfloat16};

constexpr std::int64_t kFreedUnlockedBytes = 16 << 20;  // the kernel takes milliseconds, and a GPU's driver may wait

/// numpy's dtype of the bits of elements that numpy lacks.
py::dtype dtype_of_bits(const ArrayView& array) {
    if (array.typestr == kBfloat16) return to_numpy_dtype(DType::uint16);
    return numpy_dtype(array);
}

}  // namespace

bool is_struct(const std::string& typestr) noexcept {
    return typestr.starts_with('[') || typestr.starts_with('{');
}

py::tuple to_tuple(const Extents& values) {
    py::tuple result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) result[i] = values[i];
    return result;
}

ArrayView::ArrayView(const TensorView& view, std::shared_ptr<const void> owner, std::shared_ptr<Buffer> gpu_memory)
    : data(static_cast<std::byte*>(view.data)),
      typestr(typestr_of(view.dtype)),
      itemsize(static_cast<std::int64_t>(size_of(view.dtype))),
      shape(view.shape.begin(), view.shape.end()),
      strides(view.strides_bytes.begin(), view.strides_bytes.end()),
      device(view.device),
      read_only(view.device.kind == Device::Kind::cpu),
      memory(std::move(owner)),
      buffer(std::move(gpu_memory)) {}

ArrayView::ArrayView(Tensor tensor) : ArrayView(tensor.view, std::move(tensor.owner), std::move(tensor.buffer)) {
    read_only = false;
    if (span_bytes() < kFreedUnlockedBytes) return;
    auto* const kept = new std::pair(std::move(memory), std::move(buffer));
    memory = std::shared_ptr<const void>(kept, [kept](const void*) {
        std::optional<Released> released;
        // PyGILState_Check() alone says yes everywhere once there was a second interpreter.
        const bool here = PyGILState_GetThisThreadState() != nullptr && !Unlocked::active();
        if (interpreter_usable() && here && PyGILState_Check() != 0) released.emplace();
        delete kept;
    });
    if (kept->second != nullptr) buffer = {memory, kept->second.get()};
}

void PendingResults::finish() {
    const std::lock_guard lock(mutex_);
    if (const auto complete = std::exchange(complete_, nullptr)) {
        try {
            complete();
        } catch (...) {
            error_ = std::current_exception();
        }
    }
    if (error_) std::rethrow_exception(error_);
    finished_.store(true, std::memory_order_release);
}

void ArrayView::touch() const {
    if (pending == nullptr || pending->is_finished()) return;
    const auto held = pending;  // the thread that finishes first may drop it
    Unlocked unlocked;
    held->finish();
}

std::int64_t ArrayView::size() const noexcept {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return count;
}

std::int64_t ArrayView::span_bytes() const noexcept {
    if (size() == 0) return 0;
    std::int64_t last = itemsize;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) last += (shape[axis] - 1) * strides[axis];
    return last;
}

bool ArrayView::is_contiguous() const noexcept {
    if (size() == 0) return true;
    std::int64_t step = itemsize;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        if (shape[axis] > 1 && strides[axis] != step) return false;
        step *= shape[axis];
    }
    return true;
}

std::optional<DType> ArrayView::dtype() const noexcept {
    const auto found = std::ranges::find(kTypestrs, std::string_view(typestr));
    if (found == kTypestrs.end()) return std::nullopt;
    return static_cast<DType>(found - kTypestrs.begin());
}

TensorView ArrayView::tensor_view() const {
    const auto type = dtype();
    if (!type) throw py::type_error("an array of dtype " + dtype_text(*this) + " is not accepted here");
    return {data, *type, device, shape, strides};
}

Tensor ArrayView::tensor() const {
    return {tensor_view(), memory, on_gpu() ? ordered_buffer() : buffer};
}

std::shared_ptr<Buffer> ArrayView::ordered_buffer() const {
    if (buffer != nullptr || span_bytes() == 0) return buffer;
    return Buffer::borrow(data, static_cast<std::size_t>(span_bytes()), memory, device, stream);
}

Extents contiguous_extents(const Extents& shape, std::int64_t itemsize) {
    Extents strides = shape;
    auto step = static_cast<std::uint64_t>(itemsize);  // unsigned: a product that is too large wraps and is found later
    for (std::size_t axis = shape.size(); axis-- > 0; step *= static_cast<std::uint64_t>(shape[axis])) {
        strides[axis] = static_cast<std::int64_t>(step);
    }
    return strides;
}

const char* typestr_of(DType dtype) noexcept {
    return kTypestrs[static_cast<std::size_t>(dtype)];
}

std::string typestr_of(const py::dtype& dtype) {
    const auto size = dtype.itemsize();
    if (dtype.attr("hasobject").cast<bool>()) {
        throw py::type_error("dtype " + py::str(dtype).cast<std::string>() +
                             " holds references to Python objects, which mean nothing outside this process; convert "
                             "the array to numbers, or to bytes with pickle.dumps()");
    }
    if (std::string_view("iufcb").find(dtype.kind()) != std::string_view::npos && dtype.byteorder() != '>') {
        return std::string{size > 1 ? '<' : '|', dtype.kind()} + std::to_string(size);
    }
    if (dtype.kind() == 'V' && size == 2 && dtype.attr("name").cast<std::string>() == kBfloat16) {
        return kBfloat16;  // of ml_dtypes
    }
    if (!dtype.attr("names").is_none()) {
        // numpy's text of a struct is a literal of Python, unless a field has a type of another package.
        auto text = py::str(dtype).cast<std::string>();
        constexpr std::string_view kRecord = "(numpy.record, ";
        if (text.starts_with(kRecord)) text = text.substr(kRecord.size(), text.size() - kRecord.size() - 1);
        try {
            static_cast<void>(py::object(dtype.attr("descr")));  // the array interfaces need it
            if (dtype_of(text).equal(dtype)) return text;
        } catch (const py::error_already_set& error) {
            if (!error.matches(PyExc_Exception)) throw;
        }
        throw py::type_error("dtype " + text +
                             " is not accepted, because its fields overlap or have types that numpy lacks; pass "
                             "array.view(np.uint8)");
    }
    if (dtype.kind() == 'V' && size == 1 && dtype.char_() != 'V') return "|u1";  // the bits of a type of ml_dtypes
    return dtype.attr("str").cast<std::string>();
}

py::dtype dtype_of(const std::string& typestr) {
    if (!is_struct(typestr)) return py::dtype::from_args(py::str(typestr));
    return py::dtype::from_args(py::module_::import("ast").attr("literal_eval")(typestr));
}

py::dtype numpy_dtype(const ArrayView& array) {
    if (const auto type = array.dtype()) return to_numpy_dtype(*type);
    return dtype_of(array.typestr == kFloat8 ? "|u1" : array.typestr);
}

std::string dtype_text(const ArrayView& array) {
    if (const auto type = array.dtype()) return std::string(to_string(*type));
    const auto name = py::str(numpy_dtype(array)).cast<std::string>();
    return name == array.typestr ? name : name + " ('" + array.typestr + "')";
}

py::array view_as_numpy(const ArrayView& array, const py::object& base) {
    py::array result(dtype_of_bits(array), array.shape, array.strides, array.data, base);
    if (array.read_only) result.attr("flags").attr("writeable") = false;
    return result;
}

}  // namespace tricodec::python
