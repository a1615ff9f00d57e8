// SPDX-License-Identifier: Apache-2.0
/// The core's GpuCodec as the Python classes use it.
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "bindings.h"
#include "compress_io.h"
#include "compress_memory.h"
#include "compressor_options.h"
#include "gil.h"
#include "tricodec/error.h"
#include "tricodec/gpu_codec.h"

namespace tricodec::python {
namespace {

constexpr std::size_t kArenaBytes = 32 << 20;
constexpr std::size_t kLargestInArena = 2 << 20;
constexpr std::size_t kArenaAlignment = 256;

/// A codec with the stream that its work is queued on.
class GpuCompressor {
public:
    GpuCompressor(const CodecOptions& options, int device_index, std::optional<std::uintptr_t> stream)
        : codec_(options, {Device::Kind::cuda, device_index}),
          stream_(stream ? CudaStream::borrow(*stream, *stream <= 2 ? device_index : -1)
                         : CudaStream::make_new(device_index)) {}

    [[nodiscard]] const GpuCodec& codec() const noexcept { return codec_; }
    [[nodiscard]] Device device() const noexcept { return codec_.device(); }
    [[nodiscard]] StreamView stream() const noexcept { return stream_->view(); }

    std::vector<ArrayPtr> encode(const py::sequence& sources, const py::object& outs) const {
        Inputs inputs = to_inputs(sources);
        std::vector<ArrayPtr> outputs = to_outputs(outs, inputs.views.size(), device());
        Unlocked unlocked;
        wait_for(inputs);
        Places places(*this, outputs);
        codec_.compress(inputs.views, [&](std::size_t i, std::size_t size) { return places.give(i, size); }, stream());
        finish(inputs, outputs);
        return outputs;
    }

    std::vector<ArrayPtr> decode(const py::sequence& sources, const std::string& data_type,
                                 const py::object& outs) const {
        Inputs inputs = to_inputs(sources);
        std::vector<ArrayPtr> outputs = to_outputs(outs, inputs.views.size(), device());
        {
            Unlocked unlocked;
            wait_for(inputs);
            Places places(*this, outputs);
            codec_.decompress(
                inputs.views, [&](std::size_t i, std::size_t size) { return places.give(i, size); }, stream());
            finish(inputs, outputs);
        }
        for (const ArrayPtr& output : outputs) set_element_type(*output, data_type);
        return outputs;
    }

    std::size_t decompressed_bytes(const py::object& source) const {
        Inputs inputs = to_inputs(py::make_tuple(source));
        Unlocked unlocked;
        wait_for(inputs);
        return codec_.decompressed_sizes(inputs.views, stream())[0];
    }

private:
    /// Sources of a call in this GPU's memory, and what keeps and orders them.
    struct Inputs {
        std::vector<ArrayPtr> arrays;
        std::vector<DeviceBytes> views;
        std::vector<std::shared_ptr<Buffer>> buffers;
    };

    /// Places for results. Small ones share pieces of memory, as an allocation and an event each would take longer than
    /// their compression.
    class Places {
    public:
        Places(const GpuCompressor& self, std::vector<ArrayPtr>& outputs) : self_(self), outputs_(outputs) {}

        DeviceBytes give(std::size_t index, std::size_t size) {
            ArrayPtr& output = outputs_[index];
            if (output != nullptr || outputs_.size() < 4 || size > kLargestInArena || has_device_allocator()) {
                return {provide(output, size, self_.device(), self_.stream()), size};
            }
            const std::size_t taken =
                std::max(kArenaAlignment, (size + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment);
            if (arena_ == nullptr || arena_->size_bytes() - used_ < taken) {
                arena_ = Buffer::allocate(kArenaBytes, self_.device(), self_.stream());
                used_ = 0;
            }
            output = std::make_shared<CompressArray>();
            output->data = arena_->data() + used_;
            output->shape = {static_cast<std::int64_t>(size)};
            output->strides = {1};
            output->device = self_.device();
            output->stream = self_.stream();
            output->capacity = taken;
            output->owned = true;
            output->memory = arena_;
            output->buffer = arena_;
            used_ += taken;
            return {output->data, size};
        }

    private:
        const GpuCompressor& self_;
        std::vector<ArrayPtr>& outputs_;
        std::shared_ptr<Buffer> arena_;
        std::size_t used_ = 0;
    };

    Inputs to_inputs(const py::sequence& sources) const {
        Inputs inputs;
        for (const auto source : sources) {
            ArrayPtr array = contiguous(to_array(py::reinterpret_borrow<py::object>(source)));
            const auto size = static_cast<std::size_t>(array->size() * array->itemsize);
            if (array->device.kind == Device::Kind::cpu) {
                ArrayPtr copy = new_array(size, device(), stream());
                copy_bytes(copy->data, copy->device, array->data, array->device, size, stream(), true);
                array = std::move(copy);
            } else if (array->device != device()) {
                throw py::value_error("the array is on " + array->device.to_string() + ", the codec on " +
                                      device().to_string());
            }
            inputs.views.push_back({array->data, size});
            inputs.arrays.push_back(std::move(array));
        }
        return inputs;
    }

    /// The codec's stream sees the sources complete.
    void wait_for(Inputs& inputs) const {
        const Buffer* before = nullptr;
        for (const ArrayPtr& array : inputs.arrays) {
            auto buffer = array->buffer;
            if (buffer == nullptr && array->capacity > 0) {
                buffer = Buffer::borrow(array->data, array->capacity, array->memory, array->device, array->stream);
            }
            if (buffer == nullptr || buffer.get() == before) continue;
            before = buffer.get();
            buffer->wait_on(stream());
            inputs.buffers.push_back(std::move(buffer));
        }
    }

    void finish(const Inputs& inputs, const std::vector<ArrayPtr>& outputs) const {
        for (const auto& buffer : inputs.buffers) buffer->used_on(stream());
        const Buffer* before = nullptr;
        for (const ArrayPtr& output : outputs) {
            if (output == nullptr) continue;
            output->stream_owner = stream_;
            if (output->buffer == nullptr && output->capacity > 0) {
                output->buffer = Buffer::borrow(output->data, output->capacity, output->memory, device(), stream());
            }
            if (output->buffer == nullptr || output->buffer.get() == before) continue;
            before = output->buffer.get();
            output->buffer->written_on(stream());
        }
    }

    GpuCodec codec_;
    std::shared_ptr<CudaStream> stream_;
};

}  // namespace

void bind_gpu_compressor(py::module_& module) {
    py::class_<GpuCompressor> cls(module, "GpuCompressor",
                                  "The native part of `tricodec.Codec` on a GPU.\n\n"
                                  "Thread safety: safe.");
    publish(cls);
    cls.def(py::init([](const py::dict& options, int device_index, std::optional<std::uintptr_t> stream) {
                return std::make_unique<GpuCompressor>(to_codec_options(options), device_index, stream);
            }),
            py::kw_only(), py::arg("options"), py::arg("device_index"), py::arg("stream"),
            "Made by `tricodec.Codec`, which documents the arguments.")
        .def("encode", &GpuCompressor::encode, py::arg("sources"), py::arg("outs") = py::none(),
             "Compresses each array.")
        .def("decode", &GpuCompressor::decode, py::arg("sources"), py::arg("data_type") = "",
             py::arg("outs") = py::none(), "Decompresses each array.")
        .def(
            "max_compressed_bytes",
            [](const GpuCompressor& self, std::size_t size_bytes) {
                return self.codec().max_compressed_bytes(size_bytes);
            },
            py::arg("size_bytes"), "The most bytes that compressing so many gives.")
        .def("decompressed_bytes", &GpuCompressor::decompressed_bytes, py::arg("source"),
             "What an array decompresses to.");
    module.def("gpu_compression_unavailable_reason", &gpu_compression_unavailable_reason, py::arg("device_index"),
               "Why a GPU cannot compress here; empty if it can.");
}

}  // namespace tricodec::python
