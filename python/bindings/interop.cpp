// SPDX-License-Identifier: Apache-2.0
#include "interop.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "convert.h"
#include "gil.h"
#include "tricodec/dlpack.h"

namespace tricodec::python {
namespace {

const char* buffer_format(DType dtype) noexcept {
    switch (dtype) {
        case DType::uint8:
            return "B";
        case DType::uint16:
            return "H";
        case DType::int16:
            return "h";
        case DType::int32:
            return "i";
        case DType::int64:
            return "q";
        case DType::float16:
            return "e";
        case DType::float32:
            return "f";
        case DType::float64:
            return "d";
        case DType::bfloat16:
            return "H";  // the buffer protocol has no bfloat16: its bits
    }
    return "B";
}

struct ShapeAndStrides {
    std::vector<Py_ssize_t> shape;
    std::vector<Py_ssize_t> strides;
};

/// Copies along the first axis until rows are contiguous.
void copy_strided(const TensorView& from, std::byte*& to) {
    if (from.is_contiguous()) {
        const auto size = static_cast<std::size_t>(from.num_elements()) * size_of(from.dtype);
        std::memcpy(to, from.data, size);
        to += size;
        return;
    }
    if (from.shape.empty()) return;
    if (from.shape.size() == 1) {  // elements apart from one another
        const auto size = size_of(from.dtype);
        const auto* element = static_cast<const std::byte*>(from.data);
        for (std::int64_t i = 0; i < from.shape[0]; ++i, to += size) {
            std::memcpy(to, element + i * from.strides_bytes[0], size);
        }
        return;
    }
    for (std::int64_t i = 0; i < from.shape[0]; ++i) copy_strided(from[i], to);
}

template <class Managed>
py::capsule make_capsule(Managed* managed, const char* name) {
    // A consumer renames the capsule and takes over the deleter; one that is dropped unconsumed frees here.
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

bool wants_versioned(const py::object& max_version) {
    if (max_version.is_none()) return false;
    return to_ints(py::tuple(max_version), 2, "max_version", "(major, minor) or None")[0] >= 1;
}

void check_stream(const py::object& stream) {
    if (stream.is_none()) return;
    if (PyLong_Check(stream.ptr()) && stream.cast<long long>() == -1) return;
    throw py::value_error("stream " + shown(stream) + " is not accepted for memory on the CPU; use None");
}

void check_device(const py::object& dl_device, const TensorView& view) {
    if (dl_device.is_none()) return;
    const auto wanted = to_ints(py::tuple(dl_device), 2, "dl_device", "(device_type, device_id)");
    const auto own = dlpack::to_dlpack(view.device);
    if (wanted[0] == own.device_type && wanted[1] == own.device_id) return;
    throw py::buffer_error("dl_device " + shown(dl_device) + " is not where these pixels are, which is (" +
                           std::to_string(own.device_type) + ", " + std::to_string(own.device_id) +
                           "); copy them with the array library after the import");
}

}  // namespace

py::tuple to_tuple(const std::vector<std::int64_t>& values) {
    py::tuple result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) result[i] = values[i];
    return result;
}

std::string not_in_host_memory(const TensorView& view) {
    return "the array is on " + view.device.to_string() +
           ", not in host memory; copy it by cpu(), numpy() or to_ndarray(), or use it there (DLPack, "
           "__cuda_array_interface__)";
}

int fill_buffer(PyObject* exporter, Py_buffer* buffer, int flags, const TensorView& view) noexcept {
    buffer->obj = nullptr;
    const auto refuse = [](const char* why) {
        PyErr_SetString(PyExc_BufferError, why);
        return -1;
    };
    if (view.device.kind == Device::Kind::cuda) return refuse(not_in_host_memory(view).c_str());
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE)
        return refuse("the pixels and packets of tricodec are read-only; copy them");
    const bool contiguous = view.is_contiguous();
    const bool strides_accepted = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    const bool must_be_c =
        (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS || (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS;
    if (!contiguous && (!strides_accepted || must_be_c)) {
        return refuse("the rows are padded, so the bytes are not contiguous; use np.asarray() or pack()");
    }
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && view.shape.size() > 1) {
        return refuse("the array is not in Fortran order");
    }
    try {
        auto held = std::make_unique<ShapeAndStrides>();
        held->shape.assign(view.shape.begin(), view.shape.end());
        held->strides.assign(view.strides_bytes.begin(), view.strides_bytes.end());
        const bool with_shape = (flags & PyBUF_ND) == PyBUF_ND;
        buffer->buf = view.data;
        buffer->itemsize = static_cast<Py_ssize_t>(size_of(view.dtype));
        buffer->len = view.num_elements() * buffer->itemsize;
        buffer->readonly = 1;
        buffer->ndim = with_shape ? static_cast<int>(view.shape.size()) : 1;
        buffer->format =
            (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? const_cast<char*>(buffer_format(view.dtype)) : nullptr;
        buffer->shape = with_shape ? held->shape.data() : nullptr;
        buffer->strides = strides_accepted ? held->strides.data() : nullptr;
        buffer->suboffsets = nullptr;
        buffer->internal = held.release();
    } catch (const std::exception& error) {
        return refuse(error.what());
    }
    Py_INCREF(exporter);
    buffer->obj = exporter;
    return 0;
}

void free_buffer(PyObject*, Py_buffer* buffer) noexcept {
    delete static_cast<ShapeAndStrides*>(buffer->internal);
    buffer->internal = nullptr;
}

py::dict array_interface(const TensorView& view) {
    // An AttributeError makes hasattr() false.
    if (view.device.kind == Device::Kind::cuda) throw py::attribute_error(not_in_host_memory(view));
    py::dict result;
    result["version"] = 3;
    result["shape"] = to_tuple(view.shape);
    result["typestr"] = to_numpy_dtype(view.dtype).attr("str");
    result["data"] = py::make_tuple(reinterpret_cast<std::uintptr_t>(view.data), true);
    result["strides"] = to_tuple(view.strides_bytes);
    return result;
}

py::capsule export_dlpack(const ArrayView& array, const py::object& stream, const py::object& max_version,
                          const py::object& dl_device, const py::object& copy) {
    const bool versioned = wants_versioned(max_version);
    if (array.on_gpu()) return export_gpu_dlpack(array, stream, versioned, dl_device, copy);
    check_stream(stream);
    check_device(dl_device, array.view);
    const bool copied = !copy.is_none() && copy.cast<bool>();
    ArrayView exported = array;
    if (copied) {
        Unlocked unlocked;
        Tensor tensor = copy_of(array.view);
        exported = {std::move(tensor.view), std::move(tensor.owner)};
    }
    return make_dlpack_capsule(exported, versioned, copied ? dlpack::kFlagIsCopied : dlpack::kFlagReadOnly);
}

py::capsule make_dlpack_capsule(const ArrayView& array, bool versioned, std::uint64_t flags) {
    if (!versioned) return make_capsule(dlpack::export_tensor(array.view, array.owner), "dltensor");
    return make_capsule(dlpack::export_tensor_versioned(array.view, array.owner, flags), "dltensor_versioned");
}

py::tuple dlpack_device(const TensorView& view) {
    const auto device = dlpack::to_dlpack(view.device);
    return py::make_tuple(device.device_type, device.device_id);
}

py::capsule export_bfloat16(const py::array& bits) {
    if (find_numpy_dtype(bits.dtype()) != DType::uint16) {
        throw py::type_error("the bits of bfloat16 numbers are uint16, not " +
                             py::str(bits.dtype()).cast<std::string>());
    }
    TensorView view;
    view.data = const_cast<void*>(bits.data());
    view.dtype = DType::bfloat16;
    view.shape.assign(bits.shape(), bits.shape() + bits.ndim());
    view.strides_bytes.assign(bits.strides(), bits.strides() + bits.ndim());
    return make_capsule(dlpack::export_tensor(view, share_object(bits)), "dltensor");
}

Tensor copy_of(const TensorView& view) {
    Tensor result = Tensor::empty(view.shape, view.dtype);
    auto* to = static_cast<std::byte*>(result.view.data);
    copy_strided(view, to);
    return result;
}

py::array to_numpy(const Tensor& tensor) {
    auto owner = std::make_unique<std::shared_ptr<const void>>(tensor.owner);
    const py::capsule base(owner.get(), [](void* held) { delete static_cast<std::shared_ptr<const void>*>(held); });
    owner.release();  // NOLINT(bugprone-unused-return-value): the capsule deletes it
    return {to_numpy_dtype(tensor.view.dtype), tensor.view.shape, tensor.view.strides_bytes, tensor.view.data, base};
}

py::array view_as_numpy(const TensorView& view, const py::object& base) {
    py::array result(to_numpy_dtype(view.dtype), view.shape, view.strides_bytes, view.data, base);
    result.attr("flags").attr("writeable") = false;
    return result;
}

}  // namespace tricodec::python
