// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "guarded.h"
#include "tricodec/fork.h"
#include "tricodec/frame_reader.h"

namespace tricodec::python {

namespace py = pybind11;

/// The core's reader with its iterators, which borrow it and must end before it.
struct ReaderState {
    explicit ReaderState(std::unique_ptr<FrameReader> object)
        : reader(std::move(object), "FrameReader", [this](FrameReader& lost, bool at_rest) {
              std::construct_at(&slots);  // a thread of the parent's may have been changing it
              return lost.reopen_in_child(at_rest);
          }) {}

    struct Slot {
        ForkMark mark;
        std::unique_ptr<FrameReader::Iterator> frames;
        std::unique_ptr<FrameReader::BatchIterator> batches;

        Slot() = default;
        ~Slot() { end(); }
        Slot(const Slot&) = delete;
        Slot& operator=(const Slot&) = delete;

        /// While the interpreter shuts down and in a forked child, the end would wait for threads that never come back.
        void end() {
            if (!interpreter_usable() || mark.in_child()) {
                static_cast<void>(frames.release());
                static_cast<void>(batches.release());
            }
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

/// An iterator's slot in its reader. In a forked child the iterator goes on after the last frame that it gave.
class PyIterator {
public:
    /// Makes the core's iterator in the slot.
    using Fill = std::function<void(FrameReader&, const FrameSelection&, ReaderState::Slot&)>;
    PyIterator(std::shared_ptr<ReaderState> state, const FrameSelection& selection, Fill fill);
    PyIterator(const PyIterator&) = delete;
    PyIterator& operator=(const PyIterator&) = delete;
    ~PyIterator();

    /// What `next` takes from the slot, without the interpreter's lock.
    template <class Next>
    auto call(Next next) {
        return state_->reader.call([&](FrameReader& reader) {
            if (slot_->mark.in_child()) slot_ = make_slot(reader);
            return next(*slot_);
        });
    }
    /// Of `next`: so many frames were taken.
    void note_given(std::int64_t num_frames) noexcept { num_given_ += num_frames; }

private:
    [[nodiscard]] std::shared_ptr<ReaderState::Slot> make_slot(FrameReader& reader);

    std::shared_ptr<ReaderState> state_;
    FrameSelection selection_;
    Fill fill_;
    std::int64_t num_given_ = 0;
    std::shared_ptr<ReaderState::Slot> slot_;
};

class PyFrameIterator {
public:
    PyFrameIterator(std::shared_ptr<ReaderState> state, const FrameSelection& selection,
                    std::optional<StreamView> stream)
        : stream_(stream),
          iterator_(std::move(state), selection,
                    [](FrameReader& reader, const FrameSelection& rest, ReaderState::Slot& slot) {
                        slot.frames = reader.iterate(rest);
                    }) {}

    Frame next();

private:
    std::optional<StreamView> stream_;
    PyIterator iterator_;
};

/// What batches() was asked for.
struct BatchRequest {
    std::int64_t batch_size = 1;
    std::int64_t least = 1;  ///< frames of a batch that is still given
    Transform transform;
    std::optional<StreamView> stream{};
    bool pinned = false;
    std::vector<py::object> outs{};  ///< used in turn; none for new arrays
    bool outs_on_gpu = false;
    Device made_on{};
};

class PyBatchIterator {
public:
    PyBatchIterator(std::shared_ptr<ReaderState> state, const FrameSelection& selection, BatchRequest request);

    py::object next();

private:
    [[nodiscard]] py::object next_new();
    [[nodiscard]] py::object next_on_gpu();
    [[nodiscard]] py::object next_on_host();
    [[nodiscard]] std::optional<Tensor> take(ReaderState::Slot& slot);
    /// The caller's array whose turn it is, or its first places.
    [[nodiscard]] py::object take_out(std::int64_t num_frames);

    BatchRequest request_;
    std::size_t turn_ = 0;
    PyIterator iterator_;
};

void bind_frame_iterators(py::module_& module);

}  // namespace tricodec::python
