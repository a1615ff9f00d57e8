// SPDX-License-Identifier: Apache-2.0
#include <pybind11/numpy.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "arrays/export.h"
#include "arrays/out_array.h"
#include "bindings.h"
#include "convert.h"
#include "gil.h"
#include "video/frame_reader.h"
#include "video/video.h"

namespace tricodec::python {

PyIterator::PyIterator(std::shared_ptr<ReaderState> state, const FrameSelection& selection, Fill fill)
    : state_(std::move(state)), selection_(selection), fill_(std::move(fill)) {
    slot_ = state_->reader.call([&](FrameReader& reader) { return make_slot(reader); });
}

std::shared_ptr<ReaderState::Slot> PyIterator::make_slot(FrameReader& reader) {
    auto slot = std::make_shared<ReaderState::Slot>();
    FrameSelection rest = selection_;
    bool any = true;
    if (num_given_ > 0 && !is_range(rest)) {
        auto numbers = reader.select(selection_);
        numbers.erase(numbers.begin(), numbers.begin() + std::min<std::ptrdiff_t>(num_given_, std::ssize(numbers)));
        any = !numbers.empty();
        rest = {.indices = std::move(numbers)};
    } else if (num_given_ > 0) {
        if (rest.start < 0) rest.start += reader.num_frames();
        rest.start += num_given_ * rest.stride;
        if (rest.count >= 0) rest.count -= num_given_;
        any = rest.count != 0 && rest.start < reader.num_frames();
    }
    if (any) fill_(reader, rest, *slot);
    std::erase_if(state_->slots, [](const auto& weak) { return weak.expired(); });
    state_->slots.push_back(slot);
    return slot;
}

PyIterator::~PyIterator() {
    // It may join decoders that wait for the interpreter's lock, and it borrows a reader that others may be using.
    if (state_ == nullptr || state_->reader.closed()) return;
    if (!interpreter_usable() || slot_->mark.in_child()) return;  // Slot::end() leaks them
    try {
        state_->reader.call([this](FrameReader&) { slot_->end(); });
    } catch (const std::exception&) {
        // The reader was closed meanwhile, which ended the iterator too, or the read that it serves dropped it.
    }
}

Frame PyFrameIterator::next() {
    auto frame = iterator_.call([&](ReaderState::Slot& slot) {
        auto next = slot.frames ? slot.frames->next() : std::optional<Frame>();
        if (next) next = complete_on(*std::move(next), stream_);
        iterator_.note_given(next ? 1 : 0);
        return next;
    });
    if (!frame) throw py::stop_iteration();
    return *std::move(frame);
}

PyBatchIterator::PyBatchIterator(std::shared_ptr<ReaderState> state, const FrameSelection& selection,
                                 BatchRequest request)
    : request_(std::move(request)),
      iterator_(std::move(state), selection,
                [this](FrameReader& reader, const FrameSelection& rest, ReaderState::Slot& slot) {
                    if (request_.outs_on_gpu) {  // each batch is one launch, directly into its array
                        slot.frames = reader.iterate(rest);
                    } else {
                        slot.batches = reader.batches(rest, request_.batch_size, request_.transform);
                    }
                }) {}

std::optional<Tensor> PyBatchIterator::take(ReaderState::Slot& slot) {
    auto next = slot.batches ? slot.batches->next() : std::optional<Tensor>();
    if (next) iterator_.note_given(next->view.shape[0]);
    return next;
}

py::object PyBatchIterator::next() {
    if (request_.outs.empty()) return next_new();
    return request_.outs_on_gpu ? next_on_gpu() : next_on_host();
}

py::object PyBatchIterator::next_new() {
    auto batch = iterator_.call([&](ReaderState::Slot& slot) {
        auto next = take(slot);
        if (!next) return next;
        if (next->buffer && request_.stream) next->buffer->lend_to(*request_.stream);
        if (request_.pinned) next = in_pinned_memory(*std::move(next));
        return next;
    });
    if (!batch || batch->view.shape[0] < request_.least) throw py::stop_iteration();
    return to_array(*std::move(batch));
}

py::object PyBatchIterator::next_on_gpu() {
    const auto frames = iterator_.call([&](ReaderState::Slot& slot) {
        std::vector<Frame> taken;
        while (slot.frames && static_cast<std::int64_t>(taken.size()) < request_.batch_size) {
            auto frame = slot.frames->next();
            if (!frame) break;
            taken.push_back(*std::move(frame));
        }
        return taken;
    });
    const auto num_frames = static_cast<std::int64_t>(frames.size());
    if (num_frames < request_.least) throw py::stop_iteration();
    return transform_frames(request_.transform, frames, false, take_out(num_frames), request_.stream, false);
}

py::object PyBatchIterator::next_on_host() {
    auto batch = iterator_.call([&](ReaderState::Slot& slot) {
        auto next = take(slot);
        if (next && next->buffer) next = to_host(next->view, next->buffer.get());
        return next;
    });
    if (!batch || batch->view.shape[0] < request_.least) throw py::stop_iteration();
    const py::object out = take_out(batch->view.shape[0]);
    copy_to(batch->view, to_out_array(out, batch->view.dtype, batch->view.shape));
    return out;
}

py::object PyBatchIterator::take_out(std::int64_t num_frames) {
    const py::object out = request_.outs[next_out_++ % request_.outs.size()];
    if (num_frames == request_.batch_size) return out;
    return out[py::slice(0, static_cast<py::ssize_t>(num_frames), 1)];
}

void bind_frame_iterators(py::module_& module) {
    py::class_<PyFrameIterator> cls(
        module, "FrameIterator",
        "Frames of a FrameReader one after another, decoded ahead; it keeps the reader alive.\n\n"
        "Thread safety: safe; calls run one after another, also with those of the reader.");
    publish(cls, "tricodec.video");
    cls.def("__iter__", [](const py::object& self) { return self; }).def("__next__", &PyFrameIterator::next);

    py::class_<PyBatchIterator> batches(
        module, "BatchIterator",
        "Batches of a FrameReader one after another, decoded ahead; it keeps the reader alive.\n\n"
        "Thread safety: safe; calls run one after another, also with those of the reader.");
    publish(batches, "tricodec.video");
    batches.def("__iter__", [](const py::object& self) { return self; }).def("__next__", &PyBatchIterator::next);
}

}  // namespace tricodec::python
