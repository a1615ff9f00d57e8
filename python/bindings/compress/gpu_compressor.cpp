// SPDX-License-Identifier: Apache-2.0
/// The core's GpuCodec as the Python classes use it.
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
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

using Arrays = std::vector<ArrayPtr>;

/// The codec's part that its results outlive.
struct Target {
    Device device;
    std::shared_ptr<CudaStream> stream;
};

/// An array on the codec's GPU that a call will fill in.
ArrayPtr new_result(const Target& target) {
    auto array = std::make_shared<CompressArray>();
    array->shape = {0};
    array->strides = {1};
    array->device = target.device;
    array->stream = target.stream->view();
    array->stream_owner = target.stream;
    array->owned = true;
    return array;
}

/// Places for results. Small ones share pieces of memory, as an allocation and an event each would take longer than
/// their compression.
class Places {
public:
    Places(const Target& target, Arrays& outputs) : target_(target), outputs_(outputs) {}

    /// For all outputs.
    std::vector<DeviceBytes> operator()(std::span<const std::size_t> sizes) {
        std::vector<DeviceBytes> places;
        places.reserve(sizes.size());
        for (std::size_t i = 0; i < sizes.size(); ++i) places.push_back(give(i, sizes[i]));
        return places;
    }

private:
    DeviceBytes give(std::size_t index, std::size_t size) {
        ArrayPtr& output = outputs_[index];
        const bool small = size <= kLargestInArena && outputs_.size() >= 4;
        if (!small || (output != nullptr && output->data != nullptr) || has_device_allocator()) {
            return {provide(output, size, target_.device, target_.stream->view()), size};
        }
        const std::size_t taken =
            std::max(kArenaAlignment, (size + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment);
        if (arena_ == nullptr || arena_->size_bytes() - used_ < taken) {
            arena_ = Buffer::allocate(kArenaBytes, target_.device, target_.stream->view());
            used_ = 0;
        }
        if (output == nullptr) output = new_result(target_);
        output->data = arena_->data() + used_;
        output->shape[0] = static_cast<std::int64_t>(size);
        output->capacity = taken;
        output->buffer = arena_;
        used_ += taken;
        return {output->data, size};
    }

    const Target& target_;
    Arrays& outputs_;
    std::shared_ptr<Buffer> arena_;
    std::size_t used_ = 0;
};

/// Throws the Error that the CPU's codec throws if a stream expands to another size than its caller says.
void expect_size(std::size_t found, std::size_t expected, std::size_t index, std::size_t count) {
    if (found == expected) return;
    const Error error(ErrorCode::invalid_argument, "the output has " + std::to_string(expected) +
                                                       " bytes; the stream expands to " + std::to_string(found));
    throw BatchError(error, "stream", index, count);
}

/// The outputs are complete once what is queued on the codec's stream so far is done.
void mark_written(const Target& target, const Arrays& outputs) {
    const StreamView stream = target.stream->view();
    const Buffer* before = nullptr;
    for (const ArrayPtr& output : outputs) {
        if (output == nullptr) continue;
        output->stream_owner = target.stream;
        if (output->buffer == nullptr && output->capacity > 0) {
            output->buffer = Buffer::borrow(output->data, output->capacity, output->memory, target.device, stream);
        }
        if (output->buffer == nullptr || output->buffer.get() == before) continue;
        before = output->buffer.get();
        output->buffer->written_on(stream);
    }
}

/// What the arrays of one call wait for, whichever is touched first.
class PendingBatch : public PendingResults {
public:
    void finish() final {
        const std::lock_guard lock(mutex_);
        if (!done_) {
            done_ = true;
            try {
                complete();
            } catch (...) {
                error_ = std::current_exception();
            }
        }
        if (error_) std::rethrow_exception(error_);
        finished_.store(true, std::memory_order_release);
    }
    [[nodiscard]] bool is_finished() const noexcept final { return finished_.load(std::memory_order_acquire); }

protected:
    virtual void complete() = 0;

private:
    std::mutex mutex_;
    std::atomic<bool> finished_{false};
    bool done_ = false;
    std::exception_ptr error_;
};

class PendingCompression final : public PendingBatch {
public:
    PendingCompression(Target target, std::unique_ptr<GpuCompression> work)
        : target_(std::move(target)), work_(std::move(work)) {}

    /// The arrays to fill in. Some may be gone by the time they are.
    void expect(const Arrays& outputs) { outputs_.assign(outputs.begin(), outputs.end()); }

private:
    void complete() override {
        Arrays outputs;
        outputs.reserve(outputs_.size());
        for (const auto& output : outputs_) outputs.push_back(output.lock());
        Places places(target_, outputs);
        const auto work = std::move(work_);
        work->finish(std::ref(places));
        mark_written(target_, outputs);
    }

    Target target_;
    std::unique_ptr<GpuCompression> work_;
    std::vector<std::weak_ptr<CompressArray>> outputs_;
};

class PendingDecompression final : public PendingBatch {
public:
    explicit PendingDecompression(std::unique_ptr<GpuDecompression> work) : work_(std::move(work)) {}

private:
    void complete() override {
        const auto work = std::move(work_);
        work->finish();
    }
    std::unique_ptr<GpuDecompression> work_;
};

/// A codec with the stream that its work is queued on.
class GpuCompressor {
public:
    GpuCompressor(const CodecOptions& options, int device_index, std::optional<std::uintptr_t> stream)
        : codec_(options, {Device::Kind::cuda, device_index}, staging(device_index)),
          target_{codec_.device(), stream ? CudaStream::borrow(*stream, *stream <= 2 ? device_index : -1)
                                          : CudaStream::make_new(device_index)} {}

    [[nodiscard]] const GpuCodec& codec() const noexcept { return codec_; }
    [[nodiscard]] Device device() const noexcept { return target_.device; }
    [[nodiscard]] StreamView stream() const noexcept { return target_.stream->view(); }

    Arrays encode(const py::sequence& sources, const py::object& outs) const {
        Inputs inputs = to_inputs(sources);
        Arrays outputs = to_outputs(outs, inputs.views.size(), device());
        if (!outs.is_none()) expect_apart(inputs.arrays, outputs);
        Unlocked unlocked;
        wait_for(inputs);
        auto work = codec_.start_compress(inputs.views, stream());
        Buffer::used_on(inputs.buffers, stream());
        if (!outs.is_none()) {
            // The caller may look at memory of his own without asking the arrays.
            Places places(target_, outputs);
            work->finish(std::ref(places));
            mark_written(target_, outputs);
            return outputs;
        }
        const auto pending = std::make_shared<PendingCompression>(target_, std::move(work));
        for (ArrayPtr& output : outputs) {
            output = new_result(target_);
            output->pending = pending;
        }
        pending->expect(outputs);
        return outputs;
    }

    Arrays decode(const py::sequence& sources, const std::string& data_type, const py::object& outs,
                  const py::object& sizes) const {
        Inputs inputs = to_inputs(sources);
        Arrays outputs = to_outputs(outs, inputs.views.size(), device());
        if (!outs.is_none()) expect_apart(inputs.arrays, outputs);
        const std::vector<std::size_t> expected = to_sizes(sizes, inputs.views.size());
        std::shared_ptr<PendingDecompression> pending;
        {
            Unlocked unlocked;
            wait_for(inputs);
            Places places(target_, outputs);
            const auto place = [&](std::span<const std::size_t> found) {
                for (std::size_t i = 0; i < expected.size(); ++i) expect_size(found[i], expected[i], i, found.size());
                return places(found);
            };
            auto work = codec_.start_decompress(inputs.views, place, stream());
            Buffer::used_on(inputs.buffers, stream());
            mark_written(target_, outputs);
            if (outs.is_none()) {
                pending = std::make_shared<PendingDecompression>(std::move(work));
            } else {
                work->finish();
            }
        }
        set_element_type(outputs, data_type);
        for (const ArrayPtr& output : outputs) output->pending = pending;
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
        Arrays arrays;
        std::vector<DeviceBytes> views;
        std::vector<std::shared_ptr<Buffer>> buffers;
    };

    static StagingAllocator staging(int device_index) {
        return [device_index](std::size_t size, StreamView stream) {
            ForeignMemory memory = allocate_pinned_by_caller(size, device_index, stream);
            return HostMemory{memory.data, std::move(memory.owner)};
        };
    }

    Inputs to_inputs(const py::sequence& sources) const {
        Inputs inputs;
        inputs.views.reserve(sources.size());
        for (ArrayPtr& given : to_arrays(sources)) {
            ArrayPtr array = contiguous(given);
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

    GpuCodec codec_;
    Target target_;
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
             py::arg("outs") = py::none(), py::arg("sizes") = py::none(), "Decompresses each array.")
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
