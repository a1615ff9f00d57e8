// SPDX-License-Identifier: Apache-2.0
/// How memory on a GPU looks to other libraries.
#include <optional>
#include <string>
#include <utility>

#include "convert.h"
#include "gil.h"
#include "interop.h"
#include "streams.h"
#include "tricodec/dlpack.h"
#include "tricodec/gpu.h"

namespace tricodec::python {
namespace {

/// The consumer's stream as the array API standard numbers them for CUDA; nothing for -1, which asks for no order.
std::optional<StreamView> consumer_stream(const py::object& stream) {
    if (stream.is_none()) return kLegacyStream;
    const bool number = PyBool_Check(stream.ptr()) == 0 && PyIndex_Check(stream.ptr()) != 0;
    if (number && py::int_(stream).equal(py::int_(-1))) return std::nullopt;
    const auto handle = number ? to_stream(stream) : std::nullopt;
    if (!handle || handle->handle == 0) {
        throw py::value_error("stream " + shown(stream) +
                              " is not accepted for memory on a GPU; use None or 1 (the legacy default stream), 2 (the "
                              "per-thread one), a stream's handle, or -1 for no order");
    }
    return handle;
}

/// True for the host, false for where the memory is. Raises BufferError for anywhere else.
bool asks_for_host(const py::object& dl_device, const TensorView& view, const py::object& copy) {
    if (dl_device.is_none()) return false;
    const auto wanted = to_ints(py::tuple(dl_device), 2, "dl_device", "(device_type, device_id)");
    const auto own = dlpack::to_dlpack(view.device);
    if (wanted[0] == own.device_type && wanted[1] == own.device_id) return false;
    const bool may_copy = copy.is_none() || copy.cast<bool>();
    if (wanted[0] == dlpack::kCpu && may_copy) return true;
    throw py::buffer_error("dl_device " + shown(dl_device) + " is not where these elements are, which is (" +
                           std::to_string(own.device_type) + ", " + std::to_string(own.device_id) + ")" +
                           (wanted[0] == dlpack::kCpu ? ", and copy=False forbids a copy"
                                                      : "; copy them with the array library after the import"));
}

const char* typestr(DType dtype) noexcept {
    switch (dtype) {
        case DType::uint8:
            return "|u1";
        case DType::uint16:
            return "<u2";
        case DType::int16:
            return "<i2";
        case DType::int32:
            return "<i4";
        case DType::int64:
            return "<i8";
        case DType::float16:
            return "<f2";
        case DType::float32:
            return "<f4";
        case DType::float64:
            return "<f8";
        case DType::bfloat16:
            return nullptr;
    }
    return nullptr;
}

}  // namespace

py::dict cuda_array_interface(const ArrayView& array) {
    if (!array.on_gpu()) throw py::attribute_error("the array is in host memory: it has __array_interface__");
    const char* type = typestr(array.view.dtype);
    if (type == nullptr) {
        throw py::attribute_error("__cuda_array_interface__ knows no bfloat16; use DLPack (torch.from_dlpack)");
    }
    if (array.buffer) {
        const Released released;
        array.buffer->lend_to(kLegacyStream);
    }
    py::dict result;
    result["version"] = 3;
    result["shape"] = to_tuple(array.view.shape);
    result["typestr"] = type;
    result["data"] = py::make_tuple(reinterpret_cast<std::uintptr_t>(array.view.data), false);
    result["strides"] = to_tuple(array.view.strides_bytes);
    result["stream"] = kLegacyStream.handle;
    return result;
}

py::capsule export_gpu_dlpack(const ArrayView& array, const py::object& stream, bool versioned,
                              const py::object& dl_device, const py::object& copy) {
    const bool copied = !copy.is_none() && copy.cast<bool>();
    if (asks_for_host(dl_device, array.view, copy)) {
        Tensor host;
        {
            const Unlocked unlocked;
            host = to_host(array.view, array.buffer.get());
        }
        return make_dlpack_capsule({std::move(host.view), std::move(host.owner)}, versioned, dlpack::kFlagIsCopied);
    }
    const auto consumer = consumer_stream(stream);
    ArrayView exported = array;
    {
        const Unlocked unlocked;
        if (copied) {
            const auto own = thread_stream(array.view.device, array.buffer.get());
            Tensor tensor = copy_on_device(array.view, array.buffer.get(), own);
            exported = {std::move(tensor.view), std::move(tensor.owner), std::move(tensor.buffer)};
        }
        if (exported.buffer && consumer) exported.buffer->lend_to(*consumer);
    }
    return make_dlpack_capsule(exported, versioned, copied ? dlpack::kFlagIsCopied : 0);
}

}  // namespace tricodec::python
