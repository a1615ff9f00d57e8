// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "guarded.h"
#include "tricodec/frame_reader.h"

namespace tricodec::python {

namespace py = pybind11;

/// The core's reader with its iterators, which borrow it and must end before it.
struct ReaderState {
    explicit ReaderState(std::unique_ptr<FrameReader> object) : reader(std::move(object), "FrameReader") {}

    struct Slot {
        std::unique_ptr<FrameReader::Iterator> frames;
        std::unique_ptr<FrameReader::BatchIterator> batches;

        void end() {
            frames.reset();
            batches.reset();
        }
    };
    Guarded<FrameReader> reader;
    std::vector<std::weak_ptr<Slot>> slots;  // used while it is the caller's turn on `reader`

    void close() {
        reader.close([this] {
            for (const auto& weak : slots) {
                if (const auto slot = weak.lock()) slot->end();
            }
            slots.clear();
        });
    }
};

/// An iterator's slot in its reader.
class PyIterator {
public:
    /// `fill` makes the core's iterator in the slot.
    PyIterator(std::shared_ptr<ReaderState> state, const std::function<void(FrameReader&, ReaderState::Slot&)>& fill);
    PyIterator(const PyIterator&) = delete;
    PyIterator& operator=(const PyIterator&) = delete;
    ~PyIterator();

    /// What `next` takes from the slot, without the interpreter's lock.
    template <class Next>
    auto call(Next next) {
        return state_->reader.call([&](FrameReader&) { return next(*slot_); });
    }

private:
    std::shared_ptr<ReaderState> state_;
    std::shared_ptr<ReaderState::Slot> slot_;
};

class PyFrameIterator {
public:
    PyFrameIterator(std::shared_ptr<ReaderState> state, const FrameSelection& selection,
                    std::optional<StreamView> stream)
        : stream_(stream), iterator_(std::move(state), [&](FrameReader& reader, ReaderState::Slot& slot) {
              slot.frames = reader.iterate(selection);
          }) {}

    Frame next();

private:
    std::optional<StreamView> stream_;
    PyIterator iterator_;
};

class PyBatchIterator {
public:
    PyBatchIterator(std::shared_ptr<ReaderState> state, const FrameSelection& selection, std::int64_t batch_size,
                    bool drop_last, const Transform& transform, std::optional<StreamView> stream, bool pinned)
        : stream_(stream),
          pinned_(pinned),
          iterator_(std::move(state),
                    [&](FrameReader& reader, ReaderState::Slot& slot) {
                        slot.batches = reader.batches(selection, batch_size, transform);
                    }),
          least_(drop_last ? batch_size : 1) {}

    py::object next();

private:
    std::optional<StreamView> stream_;
    bool pinned_;
    PyIterator iterator_;
    std::int64_t least_;
};

void bind_frame_iterators(py::module_& module);

}  // namespace tricodec::python
