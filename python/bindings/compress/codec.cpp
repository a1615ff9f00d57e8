// SPDX-License-Identifier: Apache-2.0
/// The codec of the core as `tricodec.Codec` uses it: arrays in, arrays out.
#include <pybind11/stl.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "arrays/cuda_streams.h"
#include "bindings.h"
#include "compress_results.h"
#include "convert.h"
#include "gil.h"
#include "tricodec/base/cuda_stream.h"
#include "tricodec/base/error.h"
#include "tricodec/base/gpu.h"
#include "tricodec/base/thread_pool.h"
#include "tricodec/compress/compress.h"
#include "tricodec/tensor/npy_header.h"

namespace tricodec::python {
namespace {

/// The options of a codec from those of tricodec.compress._options, under the names of the core.
CodecOptions to_codec_options(const py::dict& options) {
    CodecOptions result;
    const auto get = [&](const char* name) -> py::object { return options[name]; };
    if (const auto name = get("algorithm").cast<std::string>(); !name.empty())
        result.algorithm = parse_compression(name);
    if (const auto type = get("data_type").cast<std::string>(); !type.empty())
        result.element_type = parse_element_type(type);
    result.chunk_bytes = fit<std::size_t>(get("chunk_bytes"), "uncomp_chunk_size is");
    result.bitstream = static_cast<BitstreamKind>(get("bitstream").cast<int>());
    result.checksums = static_cast<ChecksumPolicy>(get("checksums").cast<int>());
    if (!get("algorithm_type").is_none()) result.algorithm_type = to_int(get("algorithm_type"), "algorithm_type is");
    result.num_rles = to_int(get("num_rles"), "num_rles is");
    result.num_deltas = to_int(get("num_deltas"), "num_deltas is");
    result.use_bitpack = get("use_bitpack").cast<bool>();
    if (!get("level").is_none()) result.level = to_int(get("level"), "level is");
    result.bit_shuffle = static_cast<BitShuffle>(get("bit_shuffle").cast<int>());
    result.trusted = get("trusted").cast<bool>();
    result.decompress_backend = static_cast<DecompressBackend>(get("decompress_backend").cast<int>());
    result.num_threads = to_int(get("num_threads"), "num_threads is");
    return result;
}

/// A C-contiguous array in host memory: itself, or a copy. Throws Error(device) if that could not be made.
ArrayPtr on_host(const ArrayPtr& given) {
    if (!given->on_gpu()) return contiguous(given);
    ArrayPtr copy = copied_to(given, {}, given->stream, true);
    TRICODEC_EXPECT(copy != nullptr, device,
                    "the array on " + given->device.to_string() + " could not be copied to the CPU; the log says why");
    return copy;
}

ByteView bytes_of(const CompressArray& array) {
    return {array.data, static_cast<std::size_t>(array.size() * array.itemsize)};
}

/// Gives each output memory for the worst case. False if memory of the caller is smaller, which may suffice, or if the
/// caller has an allocator, which is asked for the size of the result.
bool provide_worst_case(const compress::Codec& codec, std::span<const ByteView> inputs,
                        std::vector<ArrayPtr>& outputs) {
    if (has_host_allocator()) return false;
    bool enough = true;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const std::size_t bound = codec.max_compressed_bytes(inputs[i].size());
        if (outputs[i] == nullptr || outputs[i]->owned) {
            static_cast<void>(provide(outputs[i], bound));
        } else {
            enough = enough && outputs[i]->capacity >= bound;
        }
    }
    return enough;
}

/// A result keeps its worst-case memory if it fills three quarters of it or can give up the rest, else it is copied.
/// The copies use all threads.
void trim(std::vector<ArrayPtr>& outputs, std::span<const std::size_t> sizes, int num_threads) {
    std::vector<ArrayPtr> whole;
    std::vector<ByteCopy> copies;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        ArrayPtr& array = outputs[i];
        if (sizes[i] >= array->capacity / 4 * 3 || give_up_tail(*array, sizes[i])) {
            static_cast<void>(provide(array, sizes[i]));
            continue;
        }
        whole.push_back(std::move(array));
        array = new_array(sizes[i]);
        copies.push_back({whole.back()->data, array->data, sizes[i]});
    }
    copy_parallel(copies, num_threads);
}

/// A codec, and on a GPU the stream that its work is queued on.
class ArrayCodec {
public:
    ArrayCodec(const CodecOptions& options, std::optional<int> gpu, std::optional<std::uintptr_t> stream)
        : codec_(options, gpu ? Device{Device::Kind::cuda, *gpu} : Device{}, gpu ? staging(*gpu) : StagingAllocator()),
          target_{codec_.device(), gpu ? stream_of(*gpu, stream) : nullptr} {}

    [[nodiscard]] const compress::Codec& codec() const noexcept { return codec_; }
    [[nodiscard]] Device device() const noexcept { return target_.device; }
    [[nodiscard]] StreamView stream() const noexcept { return target_.view(); }
    [[nodiscard]] bool on_cpu() const noexcept { return device().kind == Device::Kind::cpu; }

    Arrays encode(const py::sequence& sources, const py::object& outs, const py::object& input_consumed) const {
        Inputs inputs = to_inputs(sources);
        const auto consumed = to_consumed(input_consumed, inputs);
        Arrays outputs = to_outputs(outs, inputs.views.size(), device());
        if (!outs.is_none()) expect_apart(inputs.arrays, outputs);
        if (on_cpu()) {
            encode_on_cpu(inputs.views, outputs, outs.is_none());
            if (outs.is_none()) move_back(inputs, outputs);
            return outputs;
        }
        const Unlocked unlocked;
        wait_for(inputs);
        auto work = codec_.start_compress(inputs.views, stream());
        release(inputs, consumed);
        if (outs.is_none()) return pending_results(target_, outputs.size(), std::move(work));
        // The caller can read memory of its own without the arrays, so it must be complete.
        ResultPlaces places(target_, outputs);
        work->finish(std::ref(places));
        mark_written(target_, outputs);
        return outputs;
    }

    Arrays decode(const py::sequence& sources, const py::object& data_type, const py::object& outs,
                  const py::object& sizes, const py::object& input_consumed) const {
        const std::string typestr = to_element_type(data_type);
        Inputs inputs = to_inputs(sources);
        const auto consumed = to_consumed(input_consumed, inputs);
        Arrays outputs = to_outputs(outs, inputs.views.size(), device());
        if (!outs.is_none()) expect_apart(inputs.arrays, outputs);
        const std::vector<std::size_t> expected = to_sizes(sizes, inputs.views.size());
        std::unique_ptr<compress::PendingDecompression> work;
        {
            Unlocked unlocked;
            wait_for(inputs);
            ResultPlaces places(target_, outputs);
            work = codec_.start_decompress(inputs.views, std::ref(places), stream(), expected);
            release(inputs, consumed);
            mark_written(target_, outputs);
            if (on_cpu() || !outs.is_none()) work->finish();
        }
        set_element_type(outputs, typestr);
        if (!on_cpu() && outs.is_none()) set_pending(outputs, std::move(work));
        if (outs.is_none()) move_back(inputs, outputs);
        return outputs;
    }

    std::size_t decompressed_bytes(const py::object& source) const {
        Inputs inputs = to_inputs(py::make_tuple(source));
        Unlocked unlocked;
        wait_for(inputs);
        return codec_.decompressed_sizes(inputs.views, stream())[0];
    }

    ArrayPtr decode_range(const py::object& source, std::uint64_t start, std::uint64_t stop) const {
        const ArrayPtr input = on_host(to_array(source));
        if (stop < start)
            throw py::value_error("the range from " + std::to_string(start) + " to " + std::to_string(stop) +
                                  " ends before it starts");
        Unlocked unlocked;
        ArrayPtr output;
        codec_.decompress_range(bytes_of(*input), start, stop, [&](std::size_t, std::size_t size) {
            output = new_array(size);
            return MutableBytes(output->data, output->capacity);
        });
        return output;
    }

    py::dict inspect(const py::object& source) const {
        const ArrayPtr input = on_host(to_array(source));
        const CompressedInfo info = codec_.inspect(bytes_of(*input));
        const auto type = [&] { return py::str(to_typestr(*info.element_type)); };
        using namespace py::literals;
        return py::dict("algorithm"_a = to_string(info.algorithm), "uncompressed_bytes"_a = info.uncompressed_bytes,
                        "compressed_bytes"_a = info.compressed_bytes, "chunk_bytes"_a = info.chunk_bytes,
                        "num_chunks"_a = info.num_chunks, "container_version"_a = info.container_version,
                        "has_checksums"_a = info.has_checksums,
                        "data_type"_a = info.element_type ? py::object(type()) : py::none());
    }

private:
    /// Sources of a call in the codec's memory; on a GPU also what orders them.
    struct Inputs {
        Arrays arrays;
        std::vector<ByteView> views;
        std::vector<std::shared_ptr<Buffer>> buffers;
        Device origin{};             ///< where the sources are; if some are on the GPU, that
        std::vector<Device> places;  ///< of a codec on the CPU: where each is, if one is on a GPU
    };

    static StagingAllocator staging(int gpu) {
        return [gpu](std::size_t size, StreamView stream) {
            ForeignMemory memory = allocate_pinned_by_caller(size, gpu, stream);
            return HostMemory{memory.data, std::move(memory.owner)};
        };
    }
    static std::shared_ptr<CudaStream> stream_of(int gpu, std::optional<std::uintptr_t> handle) {
        return handle ? CudaStream::borrow(*handle, *handle <= 2 ? gpu : -1) : CudaStream::make_new(gpu);
    }

    void encode_on_cpu(std::span<const ByteView> inputs, Arrays& outputs, bool may_trim) const {
        const Unlocked unlocked;
        if (!provide_worst_case(codec_, inputs, outputs)) {
            ResultPlaces places(target_, outputs);
            return codec_.compress(inputs, BatchPlacer(std::ref(places)));
        }
        std::vector<MutableBytes> rooms;
        for (const ArrayPtr& output : outputs) rooms.emplace_back(output->data, output->capacity);
        const std::vector<std::size_t> sizes = codec_.compress_to(inputs, rooms);
        if (may_trim) return trim(outputs, sizes, codec_.options().num_threads);
        for (std::size_t i = 0; i < outputs.size(); ++i) static_cast<void>(provide(outputs[i], sizes[i]));
    }

    Inputs to_inputs(const py::sequence& sources) const {
        Inputs inputs;
        inputs.arrays = to_arrays(sources);
        inputs.views.reserve(inputs.arrays.size());
        for (ArrayPtr& array : inputs.arrays) {
            if (array->on_gpu()) {
                inputs.origin = array->device;
                if (on_cpu()) inputs.places.resize(inputs.arrays.size());
            }
            if (!inputs.places.empty()) inputs.places[inputs.views.size()] = array->device;
            array = on_cpu() ? on_host(array) : on_this_gpu(std::move(array));
            inputs.views.push_back(bytes_of(*array));
        }
        return inputs;
    }

    ArrayPtr on_this_gpu(ArrayPtr array) const {
        if (!array->is_contiguous()) array = contiguous(array);
        if (!array->on_gpu()) {
            ArrayPtr copy = new_array(bytes_of(*array).size(), device(), stream());
            copy_bytes(copy->data, copy->device, array->data, array->device, copy->capacity, stream(), true);
            return copy;
        }
        if (array->device != device()) {
            throw py::value_error("the array is on " + array->device.to_string() + ", the codec on " +
                                  device().to_string() + "; use cpu(), or a codec for that device");
        }
        return array;
    }

    /// The event of `input_consumed`. On the CPU it is recorded here, after the copies to the host.
    std::optional<EventView> to_consumed(const py::object& input_consumed, const Inputs& inputs) const {
        const auto consumed = to_consumed_event(input_consumed, inputs.origin);
        if (!consumed || !on_cpu()) return consumed;
        const Unlocked unlocked;
        record_event(*consumed, thread_stream(inputs.origin), inputs.origin.index);
        return std::nullopt;
    }

    /// The results of sources that were on a GPU go there, if they can be copied.
    static void move_back(const Inputs& inputs, Arrays& outputs) {
        for (std::size_t i = 0; i < inputs.places.size(); ++i) {
            if (inputs.places[i].kind == Device::Kind::cpu) continue;
            if (ArrayPtr copy = copied_to(outputs[i], inputs.places[i], {}, true)) outputs[i] = std::move(copy);
        }
    }

    /// Work on the codec's stream waits until the sources are complete.
    void wait_for(Inputs& inputs) const {
        if (on_cpu()) return;
        const Buffer* before = nullptr;
        inputs.buffers.reserve(inputs.arrays.size());
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

    /// What is queued so far has read the sources.
    void release(const Inputs& inputs, std::optional<EventView> consumed) const {
        Buffer::used_on(inputs.buffers, stream());
        if (consumed) record_event(*consumed, stream(), device().index);
    }

    compress::Codec codec_;
    ResultTarget target_;
};

}  // namespace

void bind_codec(py::module_& module) {
    py::class_<ArrayCodec> cls(module, "Codec",
                               "The native part of `tricodec.Codec`.\n\n"
                               "Thread safety: safe.");
    publish(cls);
    cls.def(
           py::init([](const py::dict& options, std::optional<int> device_index, std::optional<std::uintptr_t> stream) {
               return std::make_unique<ArrayCodec>(to_codec_options(options), device_index, stream);
           }),
           py::kw_only(), py::arg("options"), py::arg("device_index") = py::none(), py::arg("stream") = py::none(),
           "Made by `tricodec.Codec`, which documents the options. No device_index is the CPU.")
        .def("encode", &ArrayCodec::encode, py::arg("sources"), py::arg("outs") = py::none(),
             py::arg("input_consumed") = py::none(), "Compresses each array.")
        .def("decode", &ArrayCodec::decode, py::arg("sources"), py::arg("data_type") = "", py::arg("outs") = py::none(),
             py::arg("sizes") = py::none(), py::arg("input_consumed") = py::none(), "Decompresses each array.")
        .def("decode_range", &ArrayCodec::decode_range, py::arg("source"), py::arg("start"), py::arg("stop"),
             "Decompresses a part of the bytes of an array in host memory.")
        .def(
            "max_compressed_bytes",
            [](const ArrayCodec& self, std::size_t size_bytes) {
                return self.codec().max_compressed_bytes(size_bytes);
            },
            py::arg("size_bytes"), "The most bytes that an array of this size compresses to.")
        .def("decompressed_bytes", &ArrayCodec::decompressed_bytes, py::arg("source"),
             "The size that an array decompresses to.")
        .def("inspect", &ArrayCodec::inspect, py::arg("source"),
             "The properties of a compressed array in host memory, a dict.");
    module.def(
        "make_npy_header",
        [](const std::string& typestr, const std::vector<std::int64_t>& shape) {
            return to_bytes(make_npy_header(typestr, shape));
        },
        py::arg("typestr"), py::arg("shape"), "What numpy.save writes before the elements of an array in C order.");
    module.def(
        "read_npy_header",
        [](const py::object& source) {
            const ArrayPtr array = on_host(to_array(source));
            const ByteView file = bytes_of(*array);
            const NpyHeader header = read_npy_header(file.first(std::min(file.size(), kLargestNpyHeader)), file.size());
            return py::make_tuple(header.typestr, py::tuple(py::cast(header.shape)), header.header_bytes);
        },
        py::arg("source"),
        "Typestr and shape of the array in the bytes of a .npy file, and the offset of its elements.");
    module.def("set_nvcomp_library", &set_nvcomp_library, py::arg("path"),
               "Set the path of NVIDIA's libnvcomp, if the loader does not find it.");
    module.def(
        "compression_unavailable_reason",
        [](const std::string& algorithm) { return compression_unavailable_reason(parse_compression(algorithm)); },
        py::arg("algorithm"), "Why the CPU cannot do an algorithm here; empty if it can.");
    module.def(
        "gpu_compression_unavailable_reason",
        [](int device_index, const std::string& algorithm) {
            const Device gpu{Device::Kind::cuda, device_index};
            return algorithm.empty() ? compression_unavailable_reason(gpu)
                                     : compression_unavailable_reason(gpu, parse_compression(algorithm));
        },
        py::arg("device_index"), py::arg("algorithm") = "",
        "Why a GPU cannot compress here, or not by an algorithm; empty if it can.");
}

}  // namespace tricodec::python
