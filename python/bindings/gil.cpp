// SPDX-License-Identifier: Apache-2.0
#include "gil.h"

#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <vector>

namespace tricodec::python {
namespace {

thread_local int t_unlocked_depth = 0;

struct LeftObjects {
    std::mutex mutex;
    std::vector<PyObject*> objects;
    bool call_pending = false;
};

LeftObjects*& left_slot() noexcept {
    static LeftObjects* left = nullptr;
    return left;
}

// Leaked on purpose: threads may drop references while static objects are being destroyed. A forked child gets a new
// one, because the mutex of its copy may be held by a thread that does not exist there.
LeftObjects& left_objects() {
    static const bool made [[maybe_unused]] = [] {
        left_slot() = new LeftObjects;
        return pthread_atfork(nullptr, nullptr, [] { left_slot() = new LeftObjects; }) == 0;
    }();
    return *left_slot();
}

/// Run by the interpreter's main thread between two instructions.
int release_in_main_thread(void*) {
    {
        std::lock_guard lock(left_objects().mutex);
        left_objects().call_pending = false;
    }
    release_left_objects();
    return 0;
}

}  // namespace

bool interpreter_usable() noexcept {
    if (Py_IsInitialized() == 0) return false;
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() == 0;
#else
    return _Py_IsFinalizing() == 0;
#endif
}

void park_thread() noexcept {
    for (;;) pause();
}

void release_object(PyObject* object) noexcept {
    if (object == nullptr || !interpreter_usable()) return;
    if (PyGILState_Check() != 0) {
        Py_DECREF(object);
        return;
    }
    try {
        LeftObjects& left = left_objects();
        std::lock_guard lock(left.mutex);
        left.objects.push_back(object);
        // Its queue is short; if it is full, the next call that comes back from the core does the work.
        if (!left.call_pending) left.call_pending = Py_AddPendingCall(release_in_main_thread, nullptr) == 0;
    } catch (const std::bad_alloc&) {
        // No memory to remember the object: it leaks.
    }
}

void release_left_objects() {
    std::vector<PyObject*> objects;
    {
        std::lock_guard lock(left_objects().mutex);
        objects.swap(left_objects().objects);
    }
    for (PyObject* object : objects) Py_DECREF(object);
}

Unlocked::Unlocked() {
    follow_python_log_level();
    released_.emplace();
    ++t_unlocked_depth;
}

Unlocked::~Unlocked() {
    --t_unlocked_depth;
    released_.reset();
    or_park([] {
        release_left_objects();
        deliver_log_messages();
    });
}

bool Unlocked::active() noexcept {
    return t_unlocked_depth > 0;
}

}  // namespace tricodec::python
