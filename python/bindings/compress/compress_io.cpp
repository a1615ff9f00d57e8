// SPDX-License-Identifier: Apache-2.0
#include "compress_io.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "tricodec/error.h"
#include "tricodec/limits.h"

namespace tricodec::python {

std::vector<ArrayPtr> to_outputs(const py::object& outs, std::size_t count, Device device) {
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
        if (array->device != device) {
            throw py::value_error("out is on " + array->device.to_string() + "; the result is on " +
                                  device.to_string());
        }
        outputs.push_back(std::move(array));
    }
    return outputs;
}

void expect_apart(std::span<const ArrayPtr> sources, std::span<const ArrayPtr> outputs) {
    struct Piece {
        const std::byte* begin;
        const std::byte* end;
        bool is_output;
    };
    std::vector<Piece> pieces;
    pieces.reserve(sources.size() + outputs.size());
    for (const ArrayPtr& source : sources) pieces.push_back({source->data, source->data + source->span_bytes(), false});
    for (const ArrayPtr& output : outputs) pieces.push_back({output->data, output->data + output->capacity, true});
    std::erase_if(pieces, [](const Piece& piece) { return piece.begin == piece.end; });
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
    const std::byte* read_to = nullptr;
    const std::byte* written_to = nullptr;
    for (const Piece& piece : pieces) {
        if (piece.begin < written_to || (piece.is_output && piece.begin < read_to)) {
            throw py::value_error("out shares memory with a source or with another out; pass memory of its own");
        }
        const std::byte*& to = piece.is_output ? written_to : read_to;
        to = std::max(to, piece.end);
    }
}

std::byte* provide(ArrayPtr& output, std::size_t size, Device device, StreamView stream) {
    if (output == nullptr) {
        output = new_array(size, device, stream);
    } else if (output->capacity < size) {
        TRICODEC_EXPECT(
            output->owned, invalid_argument,
            "out has " + std::to_string(output->capacity) + " bytes; the result has " + std::to_string(size));
        const ArrayPtr larger = new_array(size, device, stream);
        output->data = larger->data;
        output->capacity = larger->capacity;
        output->memory = larger->memory;
        output->buffer = larger->buffer;
    }
    output->stream = stream;
    output->typestr = "|u1";
    output->itemsize = 1;
    output->shape = {static_cast<std::int64_t>(size)};
    output->strides = {1};
    return output->data;
}

std::vector<std::size_t> to_sizes(const py::object& sizes, std::size_t count) {
    if (sizes.is_none()) return {};
    auto expected = sizes.cast<std::vector<std::size_t>>();
    if (expected.size() != count) {
        throw py::value_error("sizes has " + std::to_string(expected.size()) + " numbers for " + std::to_string(count) +
                              " arrays");
    }
    const auto most = static_cast<std::uint64_t>(limits().max_output_bytes);
    for (const std::size_t size : expected) {
        TRICODEC_EXPECT(size <= most, refused,
                        "decompression_config tells of " + std::to_string(size) +
                            " bytes, past limits.max_output_bytes = " + std::to_string(most) +
                            "; raise it with set_limits() if the data have so many");
    }
    return expected;
}

}  // namespace tricodec::python
