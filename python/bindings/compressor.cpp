// SPDX-License-Identifier: Apache-2.0
/// The core's Codec as the Python classes use it: arrays in, arrays out.
#include <pybind11/stl.h>

#include <optional>
#include <utility>

#include "bindings.h"
#include "compress_array.h"
#include "convert.h"
#include "gil.h"
#include "tricodec/compress.h"
#include "tricodec/error.h"

namespace tricodec::python {
namespace {

/// Sources of a call: contiguous host memory.
struct Inputs {
    std::vector<ArrayPtr> arrays;
    std::vector<ByteView> views;
};

Inputs to_inputs(const py::sequence& sources) {
    Inputs inputs;
    for (const auto source : sources) {
        ArrayPtr array = contiguous(to_array(py::reinterpret_borrow<py::object>(source)));
        if (array->device.kind == Device::Kind::cuda) {
            throw py::value_error("the array is on " + array->device.to_string() +
                                  ", but this codec works on the CPU; use cpu(), or a codec for that GPU");
        }
        inputs.views.emplace_back(array->data, static_cast<std::size_t>(array->size() * array->itemsize));
        inputs.arrays.push_back(std::move(array));
    }
    return inputs;
}

/// Memory of the caller's for results: an Array that a codec made may be given more, other memory has the size it has.
std::vector<ArrayPtr> to_outputs(const py::object& outs, std::size_t count) {
    std::vector<ArrayPtr> outputs;
    if (outs.is_none()) return std::vector<ArrayPtr>(count);
    const auto given = outs.cast<py::sequence>();
    if (given.size() != count) {
        throw py::value_error("out has " + std::to_string(given.size()) + " places for " + std::to_string(count) +
                              " results");
    }
    for (const auto out : given) {
        ArrayPtr array = to_array(py::reinterpret_borrow<py::object>(out));
        if (array->read_only) throw py::value_error("out is read-only; pass memory that may be written");
        if (!array->is_contiguous()) throw py::value_error("out is not C-contiguous");
        if (array->device.kind != Device::Kind::cpu) throw py::value_error("out is on a GPU; the result is on cpu");
        outputs.push_back(std::move(array));
    }
    return outputs;
}

/// Memory of `size` bytes in `output`, which is made if there is none and grown if it may be.
std::span<std::byte> provide(ArrayPtr& output, std::size_t size) {
    if (output == nullptr) {
        output = new_array(size);
    } else if (output->capacity < size) {
        if (!output->owned) {
            fail(ErrorCode::invalid_argument,
                 "out has " + std::to_string(output->capacity) + " bytes; the result has " + std::to_string(size));
        }
        const ArrayPtr larger = new_array(size);
        output->data = larger->data;
        output->capacity = larger->capacity;
        output->memory = larger->memory;
    }
    output->typestr = "|u1";
    output->itemsize = 1;
    output->shape = {static_cast<std::int64_t>(size)};
    output->strides = {1};
    return {output->data, size};
}

std::vector<ArrayPtr> encode(const Codec& codec, const py::sequence& sources, const py::object& outs) {
    const Inputs inputs = to_inputs(sources);
    std::vector<ArrayPtr> outputs = to_outputs(outs, inputs.views.size());
    Unlocked unlocked;
    codec.compress(inputs.views, [&](std::size_t i, std::size_t size) { return provide(outputs[i], size); });
    return outputs;
}

std::vector<ArrayPtr> decode(const Codec& codec, const py::sequence& sources, const std::string& data_type,
                             const py::object& outs, const py::object& sizes) {
    const Inputs inputs = to_inputs(sources);
    std::vector<ArrayPtr> outputs = to_outputs(outs, inputs.views.size());
    std::vector<std::size_t> expected;
    if (!sizes.is_none()) {
        expected = sizes.cast<std::vector<std::size_t>>();
        if (expected.size() != inputs.views.size()) {
            throw py::value_error("sizes has " + std::to_string(expected.size()) + " numbers for " +
                                  std::to_string(inputs.views.size()) + " arrays");
        }
    }
    {
        Unlocked unlocked;
        if (sizes.is_none()) expected = codec.decompressed_sizes(inputs.views);
        std::vector<std::span<std::byte>> places;
        for (std::size_t i = 0; i < expected.size(); ++i) places.push_back(provide(outputs[i], expected[i]));
        codec.decompress(inputs.views, places);
    }
    for (const ArrayPtr& output : outputs) set_element_type(*output, data_type);
    return outputs;
}

ArrayPtr decode_range(const Codec& codec, const py::object& source, std::uint64_t start, std::uint64_t stop) {
    const Inputs inputs = to_inputs(py::make_tuple(source));
    if (stop < start) throw py::value_error("the range ends at " + std::to_string(stop) + ", before its start");
    Unlocked unlocked;
    const std::uint64_t size = codec.inspect(inputs.views[0]).uncompressed_bytes;
    TRICODEC_EXPECT(stop <= size, out_of_range,
                    "the range ends at " + std::to_string(stop) + "; the data have " + std::to_string(size) + " bytes");
    ArrayPtr output = new_array(stop - start);
    codec.decompress_range(inputs.views[0], start, {output->data, output->capacity});
    return output;
}

py::dict inspect(const Codec& codec, const py::object& source) {
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

std::unique_ptr<Codec> make(const std::string& algorithm, std::size_t chunk_bytes, int bitstream, int checksums,
                            const std::string& data_type, std::optional<int> algorithm_type, int num_rles,
                            int num_deltas, bool use_bitpack, std::optional<int> level, bool trusted, int num_threads) {
    CodecOptions options;
    if (!algorithm.empty()) options.algorithm = parse_compression(algorithm);
    options.chunk_bytes = chunk_bytes;
    options.bitstream = static_cast<BitstreamKind>(bitstream);
    options.checksums = static_cast<ChecksumPolicy>(checksums);
    if (!data_type.empty()) options.element_type = parse_element_type(data_type);
    options.algorithm_type = algorithm_type;
    options.num_rles = num_rles;
    options.num_deltas = num_deltas;
    options.use_bitpack = use_bitpack;
    options.level = level;
    options.trusted = trusted;
    options.num_threads = num_threads;
    return std::make_unique<Codec>(options);
}

}  // namespace

void bind_compressor(py::module_& module) {
    py::class_<Codec> cls(module, "Compressor",
                          "The native part of `tricodec.Codec`.\n\n"
                          "Thread safety: safe.");
    publish(cls);
    cls.def(py::init(&make), py::kw_only(), py::arg("algorithm"), py::arg("chunk_bytes"), py::arg("bitstream"),
            py::arg("checksums"), py::arg("data_type"), py::arg("algorithm_type"), py::arg("num_rles"),
            py::arg("num_deltas"), py::arg("use_bitpack"), py::arg("level"), py::arg("trusted"), py::arg("num_threads"),
            "Made by `tricodec.Codec`, which documents the arguments.")
        .def("encode", &encode, py::arg("sources"), py::arg("outs") = py::none(), "Compresses each array.")
        .def("decode", &decode, py::arg("sources"), py::arg("data_type") = "", py::arg("outs") = py::none(),
             py::arg("sizes") = py::none(), "Decompresses each array.")
        .def("decode_range", &decode_range, py::arg("source"), py::arg("start"), py::arg("stop"),
             "Decompresses a part of an array's bytes.")
        .def("max_compressed_bytes", &Codec::max_compressed_bytes, py::arg("size_bytes"),
             "The most bytes that compressing so many gives.")
        .def(
            "decompressed_bytes",
            [](const Codec& codec, const py::object& source) {
                const Inputs inputs = to_inputs(py::make_tuple(source));
                Unlocked unlocked;
                return codec.decompressed_sizes(inputs.views)[0];
            },
            py::arg("source"), "What an array decompresses to.")
        .def("inspect", &inspect, py::arg("source"), "What a compressed array says of itself, a dict.");
    module.def("set_nvcomp_library", &set_nvcomp_library, py::arg("path"),
               "Where NVIDIA's libnvcomp.so.5 lies, if not where the loader looks.");
    module.def(
        "compression_unavailable_reason",
        [](const std::string& algorithm) { return compression_unavailable_reason(parse_compression(algorithm)); },
        py::arg("algorithm"), "Why an algorithm cannot be done on the CPU here; empty if it can.");
}

}  // namespace tricodec::python
