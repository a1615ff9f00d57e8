// SPDX-License-Identifier: Apache-2.0
/// Who holds the interpreter's lock, and how objects of Python are let go from any thread.
#pragma once

#include <cxxabi.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <utility>

namespace tricodec::python {

namespace py = pybind11;

/// False before the interpreter starts and from the moment it shuts down.
[[nodiscard]] bool interpreter_usable() noexcept;

/// Never returns.
[[noreturn]] void park_thread() noexcept;

/// Runs code that may wait for the interpreter's lock. Until 3.13, Python ends a thread that waits while the
/// interpreter shuts down by pthread_exit, which unwinds through C++ frames and is std::terminate at the first
/// destructor. Such a thread is parked instead, as Python does itself from 3.14 on; the process ends without it.
template <class Function>
auto or_park(Function&& function) {
#ifdef __GLIBCXX__
    try {
        return function();
    } catch (const abi::__forced_unwind&) {
        park_thread();
    }
#else
    return function();
#endif
}

/// Drops a reference from any thread. One that does not hold the lock leaves it to a thread that does: whoever drops
/// the last frame of a source (a codec's thread, a thread of DALI's) must not wait for the lock. Leaks when the
/// interpreter is shutting down.
void release_object(PyObject* object) noexcept;
/// Drops what was left. The lock must be held.
void release_left_objects();

/// A reference that core objects can own, copy and drop on any thread.
[[nodiscard]] inline std::shared_ptr<PyObject> share_object(py::object object) {
    return {object.release().ptr(), [](PyObject* held) { release_object(held); }};
}

/// The interpreter's lock let go and taken again.
class Released {
public:
    Released() : state_(PyEval_SaveThread()) {}
    ~Released() {
        or_park([this] { PyEval_RestoreThread(state_); });
    }
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;

private:
    PyThreadState* state_;
};

/// function() with the interpreter's lock, on a thread that may be unknown to Python.
template <class Function>
auto with_lock(Function&& function) {
    struct Held {
        PyGILState_STATE state = or_park([] { return PyGILState_Ensure(); });
        ~Held() { PyGILState_Release(state); }
    } held;
    return or_park(std::forward<Function>(function));
}

/// A stretch of work of the core: the lock is released, and messages logged meanwhile are handed to Python afterwards.
class Unlocked {
public:
    Unlocked();
    ~Unlocked();
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

    /// True while the calling thread is in such a stretch.
    [[nodiscard]] static bool active() noexcept;

private:
    std::optional<Released> released_;
};

}  // namespace tricodec::python
