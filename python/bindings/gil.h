// SPDX-License-Identifier: Apache-2.0
/// The interpreter's lock, and references to objects of Python that any thread can drop.
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

/// Drops a reference from any thread. A thread without the lock leaves it to a thread that has it: a codec's or
/// DALI's thread that drops the last frame of a source must not wait for the lock. Leaks when the
/// interpreter is shutting down.
void release_object(PyObject* object) noexcept;
/// Drops the references that threads without the lock left. The lock must be held.
void release_left_objects();

/// A reference that core objects can own, copy and drop on any thread.
[[nodiscard]] inline std::shared_ptr<PyObject> share_object(py::object object) {
    return {object.release().ptr(), [](PyObject* held) { release_object(held); }};
}

/// Releases the interpreter's lock and acquires it again.
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

/// Work of the core: the lock is released, and messages that are logged meanwhile go to Python afterwards.
class Unlocked {
public:
    Unlocked();
    ~Unlocked();
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

    /// True while the calling thread does such work.
    [[nodiscard]] static bool active() noexcept;

private:
    std::optional<Released> released_;
};

/// Sets the core's level to the effective level of logging.getLogger("tricodec"). The lock must be held.
void follow_python_log_level();

/// Hands the messages that waited for the lock to Python's logger. The lock must be held.
void deliver_log_messages();

}  // namespace tricodec::python
