// SPDX-License-Identifier: Apache-2.0
#include "compress_array_export.h"

#include <memory>
#include <string>
#include <vector>

#include "tricodec/dlpack.h"

namespace tricodec::python {
namespace {

dlpack::DLDataType dlpack_type(const CompressArray& array) {
    const auto bits = static_cast<std::uint8_t>(array.itemsize * 8);
    switch (array.typestr[1]) {
        case 'i':
            return {0, bits, 1};
        case 'u':
            return {1, bits, 1};
        case 'f':
            return array.itemsize == 1 ? dlpack::DLDataType{10, 8, 1} : dlpack::DLDataType{2, bits, 1};
        case 'c':
            return {5, bits, 1};
        case 'b':
            return {6, 8, 1};
        default:
            throw py::buffer_error("elements of type " + array.typestr + " have no DLPack type");
    }
}

/// The first axis' elements lie next to each other, then the second's, and so on.
bool is_column_major(const CompressArray& array) {
    if (array.size() == 0) return true;
    std::int64_t step = array.itemsize;
    for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
        if (array.shape[axis] > 1 && array.strides[axis] != step) return false;
        step *= array.shape[axis];
    }
    return true;
}

/// What a Py_buffer points to.
struct Shape {
    std::vector<Py_ssize_t> shape;
    std::vector<Py_ssize_t> strides;
    std::string format;
    ArrayPtr array;
};

/// What a DLPack capsule points to.
struct Exported {
    dlpack::DLManagedTensor managed{};
    ArrayPtr array;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
};

}  // namespace

int get_buffer(PyObject* self, Py_buffer* buffer, int flags) {
    buffer->obj = nullptr;
    try {
        const auto array = py::cast<ArrayPtr>(py::handle(self));
        array->touch();
        const auto refuse_buffer = [](const char* why) {
            PyErr_SetString(PyExc_BufferError, why);
            return -1;
        };
        if (array->device.kind != Device::Kind::cpu) return refuse_buffer("the array is on a GPU; use cpu() first");
        if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && array->read_only)
            return refuse_buffer("the array is read-only");
        const bool strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
        const auto wants = [&](int order) { return (flags & order) == order; };
        const bool contiguous = array->is_contiguous();
        const bool as_columns = is_column_major(*array);
        const bool given = wants(PyBUF_C_CONTIGUOUS)     ? contiguous
                           : wants(PyBUF_F_CONTIGUOUS)   ? as_columns
                           : wants(PyBUF_ANY_CONTIGUOUS) ? contiguous || as_columns
                                                         : contiguous || strided;
        if (!given) return refuse_buffer("the array is not contiguous in the order that was asked for");
        auto held = std::make_unique<Shape>();
        held->shape.assign(array->shape.begin(), array->shape.end());
        held->strides.assign(array->strides.begin(), array->strides.end());
        held->format = numpy_dtype(*array).attr("char").cast<std::string>();
        held->array = array;
        buffer->buf = array->data;
        buffer->itemsize = array->itemsize;
        buffer->len = array->size() * array->itemsize;
        buffer->readonly = array->read_only ? 1 : 0;
        const bool with_shape = (flags & PyBUF_ND) == PyBUF_ND;
        buffer->ndim = with_shape ? static_cast<int>(held->shape.size()) : 1;
        buffer->format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? held->format.data() : nullptr;
        buffer->shape = with_shape ? held->shape.data() : nullptr;
        buffer->strides = strided ? held->strides.data() : nullptr;
        buffer->suboffsets = nullptr;
        buffer->internal = held.release();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_BufferError, error.what());
        return -1;
    }
    Py_INCREF(self);
    buffer->obj = self;
    return 0;
}

void release_buffer(PyObject*, Py_buffer* buffer) {
    delete static_cast<Shape*>(buffer->internal);
    buffer->internal = nullptr;
}

py::tuple to_tuple(const Extents& values) {
    py::tuple result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) result[i] = values[i];
    return result;
}

py::dict interface_of(const CompressArray& array, bool cuda) {
    py::dict result;
    result["shape"] = to_tuple(array.shape);
    result["typestr"] = array.typestr == "|f1" ? "|u1" : array.typestr;
    result["data"] = py::make_tuple(reinterpret_cast<std::uintptr_t>(array.data), array.read_only);
    result["strides"] = array.is_contiguous() ? py::object(py::none()) : py::object(to_tuple(array.strides));
    result["version"] = 3;
    // 0 is not allowed there: the default stream is 1.
    if (cuda) result["stream"] = array.stream.handle == 0 ? std::uintptr_t{1} : array.stream.handle;
    return result;
}

py::capsule to_capsule(const ArrayPtr& array) {
    auto exported = std::make_unique<Exported>();
    exported->array = array;
    exported->shape.assign(array->shape.begin(), array->shape.end());
    for (const std::int64_t step : array->strides) exported->strides.push_back(step / array->itemsize);
    dlpack::DLTensor& tensor = exported->managed.dl_tensor;
    tensor.data = array->data;
    tensor.device = dlpack::to_dlpack(array->device);
    tensor.ndim = static_cast<std::int32_t>(exported->shape.size());
    tensor.dtype = dlpack_type(*array);
    tensor.shape = exported->shape.data();
    tensor.strides = exported->strides.data();
    tensor.byte_offset = 0;
    exported->managed.manager_ctx = exported.get();
    exported->managed.deleter = [](dlpack::DLManagedTensor* self) { delete static_cast<Exported*>(self->manager_ctx); };
    PyObject* capsule = PyCapsule_New(&exported->managed, "dltensor", [](PyObject* object) {
        if (PyCapsule_IsValid(object, "dltensor") == 0) return;
        auto* managed = static_cast<dlpack::DLManagedTensor*>(PyCapsule_GetPointer(object, "dltensor"));
        managed->deleter(managed);
    });
    if (capsule == nullptr) throw py::error_already_set();
    static_cast<void>(exported.release());
    return py::reinterpret_steal<py::capsule>(capsule);
}

void order_for(const CompressArray& array, const py::object& stream) {
    if (array.device.kind == Device::Kind::cpu || array.capacity == 0) return;
    const auto handle = stream.is_none() ? 0 : stream.cast<std::int64_t>();
    if (handle == -1) return;
    // Memory of others' has no buffer that knows its work: there it is what is queued on the array's stream.
    const auto buffer = array.buffer != nullptr
                            ? array.buffer
                            : Buffer::borrow(array.data, array.capacity, array.memory, array.device, array.stream);
    buffer->wait_on({static_cast<std::uintptr_t>(handle)});
}

}  // namespace tricodec::python
