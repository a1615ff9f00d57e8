// SPDX-License-Identifier: Apache-2.0
#include "compress_results.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "tricodec/base/error.h"
#include "tricodec/base/limits.h"

namespace tricodec::python {
namespace {

constexpr std::size_t kArenaBytes = 32 << 20;
constexpr std::size_t kLargestInArena = 2 << 20;
constexpr std::size_t kArenaAlignment = 256;

/// An array on the codec's GPU that a call will fill in.
ArrayPtr new_result(const ResultTarget& target) {
    auto array = std::make_shared<CompressArray>();
    array->shape.push_back(0);
    array->strides.push_back(1);
    array->device = target.device;
    array->stream = target.stream->view();
    array->stream_owner = target.stream;
    array->owned = true;
    return array;
}

}  // namespace

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
            throw py::value_error("out shares memory with a source or with another out; pass separate memory");
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
                        "decompression_config has " + std::to_string(size) +
                            " bytes for an array, past limits.max_output_bytes = " + std::to_string(most) +
                            "; raise it with set_limits() if the data have so many");
    }
    return expected;
}

std::vector<MutableBytes> ResultPlaces::operator()(std::span<const std::size_t> sizes) {
    std::vector<MutableBytes> places;
    places.reserve(sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) places.push_back(give(i, sizes[i]));
    return places;
}

MutableBytes ResultPlaces::give(std::size_t index, std::size_t size) {
    ArrayPtr& output = outputs_[index];
    const bool small = target_.device.kind == Device::Kind::cuda && size <= kLargestInArena && outputs_.size() >= 4;
    if (!small || (output != nullptr && output->data != nullptr) || has_device_allocator()) {
        return {provide(output, size, target_.device, target_.view()), size};
    }
    const std::size_t taken =
        std::max(kArenaAlignment, (size + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment);
    if (arena_ == nullptr || arena_->size_bytes() - used_ < taken) {
        arena_ = Buffer::allocate(kArenaBytes, target_.device, target_.view());
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

void mark_written(const ResultTarget& target, const Arrays& outputs) {
    if (!target.stream) return;
    const StreamView stream = target.stream->view();
    const Buffer* before = nullptr;
    for (const ArrayPtr& output : outputs) {
        if (output == nullptr) continue;
        if (output->stream_owner != target.stream) output->stream_owner = target.stream;
        if (output->buffer == nullptr && output->capacity > 0) {
            output->buffer = Buffer::borrow(output->data, output->capacity, output->memory, target.device, stream);
        }
        if (output->buffer == nullptr || output->buffer.get() == before) continue;
        before = output->buffer.get();
        output->buffer->written_on(stream);
    }
}

Arrays pending_results(const ResultTarget& target, std::size_t count,
                       std::unique_ptr<compress::PendingCompression> work) {
    Arrays outputs(count);
    for (ArrayPtr& output : outputs) output = new_result(target);
    // Some of the arrays may not exist any more when the first one is used.
    const auto complete = [target, work = std::shared_ptr<compress::PendingCompression>(std::move(work)),
                           weak = std::vector<std::weak_ptr<CompressArray>>(outputs.begin(), outputs.end())] {
        Arrays left;
        left.reserve(weak.size());
        for (const auto& output : weak) left.push_back(output.lock());
        ResultPlaces places(target, left);
        work->finish(std::ref(places));
        mark_written(target, left);
    };
    const auto pending = std::make_shared<PendingResults>(complete);
    for (const ArrayPtr& output : outputs) output->pending = pending;
    return outputs;
}

void set_pending(const Arrays& outputs, std::unique_ptr<compress::PendingDecompression> work) {
    const auto pending = std::make_shared<PendingResults>(
        [work = std::shared_ptr<compress::PendingDecompression>(std::move(work))] { work->finish(); });
    for (const ArrayPtr& output : outputs) output->pending = pending;
}

}  // namespace tricodec::python
