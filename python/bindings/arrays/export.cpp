// SPDX-License-Identifier: Apache-2.0
#include "arrays/export.h"

#include <optional>
#include <string>
#include <utility>

#include "arrays/cuda_streams.h"
#include "arrays/import.h"
#include "convert.h"
#include "gil.h"
#include "tricodec/base/gpu.h"
#include "tricodec/tensor/dlpack.h"

namespace tricodec::python {
namespace {

/// The memory of a Py_buffer's pointers.
struct BufferFields {
    std::vector<Py_ssize_t> shape;
    std::vector<Py_ssize_t> strides;
    std::string format;
    ArrayView array;
};

std::string not_in_host_memory(const ArrayView& array) {
    return "the array is on " + array.device.to_string() +
           ", not in host memory; copy it by tricodec.asnumpy(), or use it there (DLPack, "
           "__cuda_array_interface__)";
}

/// The struct format of an array's elements, bfloat16 and 8-bit floats as their bits.
std::string buffer_format(const ArrayView& array) {
    const auto sized = [&](std::string_view formats) {
        return std::string(1, formats.at(static_cast<std::size_t>(array.itemsize)));
    };
    if (array.typestr == kBfloat16) return "H";
    if (array.typestr == kFloat8) return "B";
    switch (array.typestr[0] == '>' ? '>' : array.typestr[1]) {
        case 'u':
            return sized(" BH I   Q");
        case 'i':
            return sized(" bh i   q");
        case 'f':
        case 'b':
            return numpy_dtype(array).attr("char").cast<std::string>();
        default: {
            // numpy knows the formats of strings and structs. Of times it has none, and of bytes without a type one
            // that it does not read: consumers then use the interfaces.
            if (array.typestr.starts_with("|V"))
                throw py::buffer_error("elements of " + array.typestr + " have no format");
            const auto one = py::module_::import("numpy").attr("empty")(1, numpy_dtype(array));
            return py::module_::import("builtins").attr("memoryview")(one).attr("format").cast<std::string>();
        }
    }
}

/// Whether a consumer's flags accept the array's order in memory. Only an array of one axis is in Fortran's order.
bool has_order(const ArrayView& array, int flags) {
    const auto wants = [&](int order) { return (flags & order) == order; };
    if (wants(PyBUF_F_CONTIGUOUS) && array.shape.size() > 1) return false;
    const bool any = wants(PyBUF_STRIDES) && !wants(PyBUF_C_CONTIGUOUS) && !wants(PyBUF_F_CONTIGUOUS) &&
                     !wants(PyBUF_ANY_CONTIGUOUS);
    return any || array.is_contiguous();
}

void fill(Py_buffer* buffer, int flags, const ArrayView& array) {
    if (array.on_gpu()) throw py::buffer_error(not_in_host_memory(array));
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && array.read_only) {
        throw py::buffer_error("the array is read-only; copy it");
    }
    if (!has_order(array, flags)) {
        throw py::buffer_error("the array, with strides " + shape_text(array.strides) +
                               ", is not contiguous in the order that was asked for; use np.asarray() or copy it");
    }
    auto fields = std::make_unique<BufferFields>();
    fields->shape.assign(array.shape.begin(), array.shape.end());
    fields->strides.assign(array.strides.begin(), array.strides.end());
    if ((flags & PyBUF_FORMAT) == PyBUF_FORMAT) fields->format = buffer_format(array);
    fields->array = array;
    const bool with_shape = (flags & PyBUF_ND) == PyBUF_ND;
    buffer->buf = array.data;
    buffer->itemsize = array.itemsize;
    buffer->len = array.size() * array.itemsize;
    buffer->readonly = array.read_only ? 1 : 0;
    buffer->ndim = with_shape ? static_cast<int>(array.shape.size()) : 1;
    buffer->format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? fields->format.data() : nullptr;
    buffer->shape = with_shape ? fields->shape.data() : nullptr;
    buffer->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? fields->strides.data() : nullptr;
    buffer->suboffsets = nullptr;
    buffer->internal = fields.release();
}

dlpack::DLDataType dlpack_type(const ArrayView& array) {
    const auto bits = static_cast<std::uint8_t>(array.itemsize * 8);
    if (array.typestr == kBfloat16) return {4, 16, 1};
    if (array.typestr == kFloat8) return {10, 8, 1};
    const auto code =
        array.typestr[0] == '>' ? std::string_view::npos : std::string_view("iuf??cb").find(array.typestr[1]);
    if (code == std::string_view::npos) {
        throw py::buffer_error("elements of type " + array.typestr + " have no DLPack type");
    }
    return {static_cast<std::uint8_t>(code), bits, 1};
}

/// The core exports element types of its own: the array's is written into what it exported for bytes.
template <class Managed>
py::capsule make_capsule(Managed* managed, const ArrayView& array, dlpack::DLDataType type, const char* name) {
    managed->dl_tensor.dtype = type;
    for (std::size_t axis = 0; axis < array.shape.size(); ++axis) managed->dl_tensor.strides[axis] /= array.itemsize;
    // A consumer renames the capsule and takes over the deleter. A capsule that is dropped with its name frees here.
    PyObject* capsule = PyCapsule_New(managed, name, [](PyObject* object) {
        constexpr const char* kName =
            std::is_same_v<Managed, dlpack::DLManagedTensorVersioned> ? "dltensor_versioned" : "dltensor";
        if (PyCapsule_IsValid(object, kName) == 0) return;
        auto* held = static_cast<Managed*>(PyCapsule_GetPointer(object, kName));
        if (held->deleter != nullptr) held->deleter(held);
    });
    if (capsule == nullptr) {
        managed->deleter(managed);
        throw py::error_already_set();
    }
    return py::reinterpret_steal<py::capsule>(capsule);
}

/// The consumer's stream as the array API standard numbers them for CUDA; nothing for -1, which asks for no order.
std::optional<StreamView> consumer_stream(const py::object& stream, bool on_gpu) {
    const bool number = PyBool_Check(stream.ptr()) == 0 && PyIndex_Check(stream.ptr()) != 0;
    if (number && py::int_(stream).equal(py::int_(-1))) return std::nullopt;
    if (stream.is_none()) return on_gpu ? std::optional(kLegacyStream) : std::nullopt;
    if (!on_gpu) throw py::value_error("stream " + shown(stream) + " is not accepted for memory on the CPU; use None");
    const auto handle = number ? to_stream(stream) : std::nullopt;
    if (!handle || handle->handle == 0) {
        throw py::value_error("stream " + shown(stream) +
                              " is not accepted for memory on a GPU; use None or 1 (the legacy default stream), 2 (the "
                              "per-thread one), a stream's handle, or -1 for no order");
    }
    return handle;
}

/// True for a copy to the host, false for the array's own device. Raises BufferError for any other.
bool asks_for_host(const ArrayView& array, const py::object& dl_device, const py::object& copy) {
    if (dl_device.is_none()) return false;
    const auto wanted = to_ints(py::tuple(dl_device), 2, "dl_device", "(device_type, device_id)");
    const auto own = dlpack::to_dlpack(array.device);
    if (wanted[0] == own.device_type && wanted[1] == own.device_id) return false;
    const bool to_cpu = array.on_gpu() && wanted[0] == dlpack::kCpu;
    if (to_cpu && (copy.is_none() || copy.cast<bool>())) return true;
    throw py::buffer_error(
        "dl_device " + shown(dl_device) + " is not where these elements are, which is (" +
        std::to_string(own.device_type) + ", " + std::to_string(own.device_id) + ")" +
        (to_cpu ? ", and copy=False forbids a copy" : "; copy them with the array library after the import"));
}

ArrayView copied_for_export(const ArrayView& array, bool to_cpu) {
    if (!array.on_gpu()) return copied(array);
    const TensorView view = array.tensor_view();
    const Unlocked unlocked;
    if (to_cpu) return ArrayView(to_host(view, array.buffer.get()));
    return ArrayView(copy_on_device(view, array.buffer.get(), thread_stream(array.device, array.buffer.get())));
}

void make_complete_for(const ArrayView& array, StreamView consumer) {
    const Unlocked unlocked;
    if (array.buffer) {
        array.buffer->lend_to(consumer);
    } else if (const auto borrowed = array.ordered_buffer()) {
        borrowed->wait_on(consumer);
    }
}

}  // namespace

int fill_buffer(PyObject* exporter, Py_buffer* buffer, int flags, const ArrayView& array) noexcept {
    buffer->obj = nullptr;
    try {
        fill(buffer, flags, array);
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_BufferError, error.what());
        return -1;
    }
    Py_INCREF(exporter);
    buffer->obj = exporter;
    return 0;
}

void free_buffer(PyObject*, Py_buffer* buffer) noexcept {
    delete static_cast<BufferFields*>(buffer->internal);
    buffer->internal = nullptr;
}

py::dict describe_interface(const ArrayView& array) {
    if (array.typestr == kBfloat16) {
        throw py::attribute_error("the array interfaces have no bfloat16; use DLPack (torch.from_dlpack)");
    }
    py::dict result;
    result["version"] = 3;
    result["shape"] = to_tuple(array.shape);
    if (is_struct(array.typestr)) {
        const auto dtype = numpy_dtype(array);
        result["typestr"] = dtype.attr("str");
        result["descr"] = dtype.attr("descr");
    } else {
        result["typestr"] = array.typestr == kFloat8 ? "|u1" : array.typestr;
    }
    result["data"] = py::make_tuple(reinterpret_cast<std::uintptr_t>(array.data), array.read_only);
    result["strides"] = to_tuple(array.strides);
    return result;
}

py::dict array_interface(const ArrayView& array) {
    if (array.on_gpu()) throw py::attribute_error(not_in_host_memory(array));
    return describe_interface(array);
}

py::dict cuda_array_interface(const ArrayView& array) {
    if (!array.on_gpu()) throw py::attribute_error("the array is in host memory: it has __array_interface__");
    py::dict result = describe_interface(array);
    if (array.stream.handle == 0 && array.buffer) {
        const Released released;
        array.buffer->lend_to(kLegacyStream);
    }
    result["stream"] = array.stream.handle == 0 ? kLegacyStream.handle : array.stream.handle;  // the interface has no 0
    return result;
}

py::capsule to_dlpack(const ArrayView& array, const py::object& stream, const py::object& max_version,
                      const py::object& dl_device, const py::object& copy) {
    const bool versioned =
        !max_version.is_none() && to_ints(py::tuple(max_version), 2, "max_version", "(major, minor) or None")[0] >= 1;
    const auto type = dlpack_type(array);
    const auto consumer = consumer_stream(stream, array.on_gpu());
    const bool to_cpu = asks_for_host(array, dl_device, copy);
    const bool copies = to_cpu || (!copy.is_none() && copy.cast<bool>());
    const ArrayView exported = copies ? copied_for_export(array, to_cpu) : array;
    if (consumer && exported.on_gpu()) make_complete_for(exported, *consumer);
    const TensorView bytes{exported.data, DType::uint8, exported.device, exported.shape, exported.strides};
    const std::shared_ptr<const void> owner = std::make_shared<ArrayView>(exported);
    if (!versioned) return make_capsule(dlpack::export_tensor(bytes, owner), exported, type, "dltensor");
    const auto flags = (copies ? dlpack::kFlagIsCopied : 0) | (exported.read_only ? dlpack::kFlagReadOnly : 0);
    return make_capsule(dlpack::export_tensor_versioned(bytes, owner, flags), exported, type, "dltensor_versioned");
}

py::tuple dlpack_device(const Device& device) {
    const auto named = dlpack::to_dlpack(device);
    return py::make_tuple(named.device_type, named.device_id);
}

py::object to_numpy_array(const ArrayView& array, const py::object& self, const py::object& dtype,
                          const py::object& copy) {
    using namespace py::literals;
    if (array.on_gpu()) throw py::type_error(not_in_host_memory(array));
    const auto shared = view_as_numpy(array, self);
    const bool never_copy = !copy.is_none() && !copy.cast<bool>();
    if (never_copy && !dtype.is_none() && !shared.dtype().equal(py::dtype::from_args(dtype))) {
        throw py::value_error("the elements are " + dtype_text(array) + "; another dtype needs a copy");
    }
    if (!copy.is_none() && copy.cast<bool>())
        return py::module_::import("numpy").attr("array")(shared, "dtype"_a = dtype);
    return py::module_::import("numpy").attr("asarray")(shared, "dtype"_a = dtype);
}

py::array to_numpy(ArrayView array) {
    auto owner = std::make_unique<ArrayView>(std::move(array));
    const ArrayView& view = *owner;
    const py::capsule base(owner.get(), [](void* held) { delete static_cast<ArrayView*>(held); });
    owner.release();  // NOLINT(bugprone-unused-return-value): the capsule deletes it
    return {numpy_dtype(view), view.shape, view.strides, view.data, base};
}

py::array to_numpy(Tensor tensor) {
    return to_numpy(ArrayView(std::move(tensor)));
}

py::object to_array(Tensor tensor) {
    if (tensor.view.device.kind == Device::Kind::cpu) return to_numpy(std::move(tensor));
    return to_device_array(ArrayView(std::move(tensor)));
}

}  // namespace tricodec::python
