// SPDX-License-Identifier: Apache-2.0
/// The core's Compressor (not Codec: that is video's enumeration) as the Python classes use it: arrays in, arrays out.
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "bindings.h"
#include "compress_array.h"
#include "compress_io.h"
#include "compress_memory.h"
#include "compressor_options.h"
#include "convert.h"
#include "gil.h"
#include "tricodec/compress.h"
#include "tricodec/error.h"
#include "tricodec/npy_header.h"
#include "tricodec/parallel_copy.h"

namespace tricodec::python {
namespace {

/// Sources of a call: contiguous host memory.
struct Inputs {
    std::vector<ArrayPtr> arrays;
    std::vector<ByteView> views;
};

Inputs to_inputs(const py::sequence& sources) {
    Inputs inputs;
    for (ArrayPtr& given : to_arrays(sources)) {
        ArrayPtr array = contiguous(given);
        if (array->device.kind == Device::Kind::cuda) {
            throw py::value_error("the array is on " + array->device.to_string() +
                                  ", but this codec works on the CPU; use cpu(), or a codec for that GPU");
        }
        inputs.views.emplace_back(array->data, static_cast<std::size_t>(array->size() * array->itemsize));
        inputs.arrays.push_back(std::move(array));
    }
    return inputs;
}

/// Memory for the worst case. False if a caller's is smaller, which may do all the same, or comes from his allocator,
/// which is asked for what results take.
bool provide_worst_case(const Compressor& codec, const Inputs& inputs, std::vector<ArrayPtr>& outputs) {
    if (has_host_allocator()) return false;
    bool enough = true;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const std::size_t bound = codec.max_compressed_bytes(inputs.views[i].size());
        if (outputs[i] == nullptr || outputs[i]->owned) {
            static_cast<void>(provide(outputs[i], bound));
        } else {
            enough = enough && outputs[i]->capacity >= bound;
        }
    }
    return enough;
}

/// Each result is the first bytes of its memory for the worst case where no more than a quarter of that then lies idle,
/// else a copy. One thread that copies while the others wait would be felt on many cores.
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

std::vector<ArrayPtr> encode(const Compressor& codec, const py::sequence& sources, const py::object& outs) {
    const Inputs inputs = to_inputs(sources);
    std::vector<ArrayPtr> outputs = to_outputs(outs, inputs.views.size(), {});
    if (!outs.is_none()) expect_apart(inputs.arrays, outputs);
    Unlocked unlocked;
    if (!provide_worst_case(codec, inputs, outputs)) {
        codec.compress(inputs.views, [&](std::size_t i, std::size_t size) {
            return std::span<std::byte>(provide(outputs[i], size), size);
        });
        return outputs;
    }
    std::vector<std::span<std::byte>> rooms;
    for (const ArrayPtr& output : outputs) rooms.emplace_back(output->data, output->capacity);
    const std::vector<std::size_t> sizes = codec.compress_to(inputs.views, rooms);
    if (outs.is_none()) {
        trim(outputs, sizes, codec.options().num_threads);
    } else {
        for (std::size_t i = 0; i < outputs.size(); ++i) static_cast<void>(provide(outputs[i], sizes[i]));
    }
    return outputs;
}

std::vector<ArrayPtr> decode(const Compressor& codec, const py::sequence& sources, const std::string& data_type,
                             const py::object& outs, const py::object& sizes) {
    const Inputs inputs = to_inputs(sources);
    std::vector<ArrayPtr> outputs = to_outputs(outs, inputs.views.size(), {});
    if (!outs.is_none()) expect_apart(inputs.arrays, outputs);
    std::vector<std::size_t> expected = to_sizes(sizes, inputs.views.size());
    {
        Unlocked unlocked;
        if (sizes.is_none()) expected = codec.decompressed_sizes(inputs.views);
        std::vector<std::span<std::byte>> places;
        for (std::size_t i = 0; i < expected.size(); ++i)
            places.emplace_back(provide(outputs[i], expected[i]), expected[i]);
        codec.decompress(inputs.views, places);
    }
    set_element_type(outputs, data_type);
    return outputs;
}

ArrayPtr decode_range(const Compressor& codec, const py::object& source, std::uint64_t start, std::uint64_t stop) {
    const Inputs inputs = to_inputs(py::make_tuple(source));
    if (stop < start)
        throw py::value_error("the range from " + std::to_string(start) + " to " + std::to_string(stop) +
                              " ends before it starts");
    Unlocked unlocked;
    ArrayPtr output;
    codec.decompress_range(inputs.views[0], start, stop, [&](std::size_t, std::size_t size) {
        output = new_array(size);
        return std::span<std::byte>(output->data, output->capacity);
    });
    return output;
}

py::dict inspect(const Compressor& codec, const py::object& source) {
    const Inputs inputs = to_inputs(py::make_tuple(source));
    const CompressedInfo info = codec.inspect(inputs.views[0]);
    py::dict result;
    result["algorithm"] = std::string(to_string(info.algorithm));
    result["uncompressed_bytes"] = info.uncompressed_bytes;
    result["compressed_bytes"] = info.compressed_bytes;
    result["chunk_bytes"] = info.chunk_bytes;
    result["num_chunks"] = info.num_chunks;
    result["container_version"] = info.container_version;
    result["has_checksums"] = info.has_checksums;
    result["data_type"] =
        info.element_type ? py::object(py::str(std::string(to_typestr(*info.element_type)))) : py::none();
    return result;
}

}  // namespace

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

void bind_compressor(py::module_& module) {
    py::class_<Compressor> cls(module, "Compressor",
                               "The native part of `tricodec.Codec`.\n\n"
                               "Thread safety: safe.");
    publish(cls);
    cls.def(py::init([](const py::dict& options) { return std::make_unique<Compressor>(to_codec_options(options)); }),
            py::kw_only(), py::arg("options"), "Made by `tricodec.Codec`, which documents the arguments.")
        .def("encode", &encode, py::arg("sources"), py::arg("outs") = py::none(), "Compresses each array.")
        .def("decode", &decode, py::arg("sources"), py::arg("data_type") = "", py::arg("outs") = py::none(),
             py::arg("sizes") = py::none(), "Decompresses each array.")
        .def("decode_range", &decode_range, py::arg("source"), py::arg("start"), py::arg("stop"),
             "Decompresses a part of an array's bytes.")
        .def("max_compressed_bytes", &Compressor::max_compressed_bytes, py::arg("size_bytes"),
             "The most bytes that compressing so many gives.")
        .def(
            "decompressed_bytes",
            [](const Compressor& codec, const py::object& source) {
                const Inputs inputs = to_inputs(py::make_tuple(source));
                Unlocked unlocked;
                return codec.decompressed_sizes(inputs.views)[0];
            },
            py::arg("source"), "What an array decompresses to.")
        .def("inspect", &inspect, py::arg("source"), "What a compressed array says of itself, a dict.");
    module.def(
        "make_npy_header",
        [](const std::string& typestr, const std::vector<std::int64_t>& shape) {
            const auto header = make_npy_header(typestr, shape);
            return py::bytes(reinterpret_cast<const char*>(header.data()), header.size());
        },
        py::arg("typestr"), py::arg("shape"), "What numpy.save writes before the elements of an array in C order.");
    module.def(
        "read_npy_header",
        [](const py::object& source) {
            const Inputs inputs = to_inputs(py::make_tuple(source));
            const ByteView bytes = inputs.views[0];
            const NpyHeader header =
                read_npy_header(bytes.first(std::min(bytes.size(), kLargestNpyHeader)), bytes.size());
            return py::make_tuple(header.typestr, py::tuple(py::cast(header.shape)), header.header_bytes);
        },
        py::arg("source"),
        "Typestr and shape of the array that the bytes of a .npy file hold, and where its elements begin.");
    module.def("set_nvcomp_library", &set_nvcomp_library, py::arg("path"),
               "Where NVIDIA's libnvcomp.so.5 lies, if not where the loader looks.");
    module.def(
        "compression_unavailable_reason",
        [](const std::string& algorithm) { return compression_unavailable_reason(parse_compression(algorithm)); },
        py::arg("algorithm"), "Why an algorithm cannot be done on the CPU here; empty if it can.");
}

}  // namespace tricodec::python
