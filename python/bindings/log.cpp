// SPDX-License-Identifier: Apache-2.0
#include "tricodec/base/log.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "bindings.h"
#include "errors.h"
#include "gil.h"

namespace tricodec::python {
namespace {

// Messages come from codec threads. A Python thread that holds the lock may be waiting for such a thread, as DALI does
// when it joins its workers. So the sink never takes the lock: it queues messages. The next call that returns from the
// core delivers them, or, without one, a thread of the queue after this pause.
constexpr auto kPatience = std::chrono::milliseconds(100);
constexpr std::size_t kMaxQueued = 4096;

struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::pair<LogLevel, std::string>> messages;
    std::size_t num_dropped = 0;
    bool closed = false;
    std::thread courier;
};

// Leaked on purpose: codec threads may log while static objects are being destroyed. A forked child gets a new one,
// because the courier of its copy does not exist there, nor a thread that may hold its mutex.
Queue* g_queue = nullptr;
PyObject* g_logger = nullptr;

// Python's levels are the tens from 10 on, in the same order. A level between two counts as the higher one.
int python_level(LogLevel level) noexcept {
    return (static_cast<int>(level) + 1) * 10;
}

LogLevel core_level(long python) noexcept {
    return static_cast<LogLevel>(std::clamp((python - 1) / 10, 0L, 4L));
}

/// Raises the current exception later, in the main thread. A signal's handler raised it while a message was
/// logged. False if that is not possible.
bool raise_later() {
    py::error_already_set raised;
    auto* kept = new PythonError(raised);
    const auto restore = [](void* error) {
        const std::unique_ptr<PythonError> owned(static_cast<PythonError*>(error));
        owned->restore();
        return -1;
    };
    if (Py_AddPendingCall(restore, kept) == 0) return true;
    kept->restore();
    delete kept;
    return false;
}

void hand_over(LogLevel level, const std::string& message) {
    // Bytes of a damaged file may be in the text; a message with replacement characters is better than none.
    PyObject* text = PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace");
    PyObject* result =
        text == nullptr ? nullptr : PyObject_CallMethod(g_logger, "log", "iO", python_level(level), text);
    Py_XDECREF(text);
    if (result == nullptr) {
        if (PyErr_ExceptionMatches(PyExc_Exception) != 0 || !raise_later()) PyErr_WriteUnraisable(g_logger);
        return;
    }
    Py_DECREF(result);
}

void courier_loop(Queue* queue) {
    std::unique_lock lock(queue->mutex);
    for (;;) {
        queue->changed.wait(lock, [queue] { return queue->closed || !queue->messages.empty(); });
        if (queue->closed) return;
        queue->changed.wait_for(lock, kPatience, [queue] { return queue->closed; });
        if (queue->closed) return;
        if (queue->messages.empty()) continue;
        lock.unlock();
        if (!interpreter_usable()) return;
        with_lock(deliver_log_messages);
        lock.lock();
    }
}

void enqueue(LogLevel level, std::string_view message) {
    Queue* queue = g_queue;
    std::lock_guard lock(queue->mutex);
    if (queue->closed) return;
    if (queue->messages.size() >= kMaxQueued) {
        ++queue->num_dropped;
        return;
    }
    queue->messages.emplace_back(level, std::string(message));
    // A call from Python delivers its own messages, so most processes never need the thread and can fork safely.
    if (!queue->courier.joinable() && !Unlocked::active()) queue->courier = std::thread(courier_loop, queue);
    queue->changed.notify_one();
}

/// Run by atexit, while the interpreter is still whole: the courier ends, and later messages go nowhere.
void close_log() {
    Queue* queue = g_queue;
    deliver_log_messages();
    {
        const Released released;
        {
            std::lock_guard lock(queue->mutex);
            queue->closed = true;
        }
        queue->changed.notify_all();
        if (queue->courier.joinable()) queue->courier.join();
    }
    set_log_sink([](LogLevel, std::string_view) {});
}

}  // namespace

void follow_python_log_level() {
    if (g_logger == nullptr) return;
    PyObject* level = PyObject_CallMethod(g_logger, "getEffectiveLevel", nullptr);
    const long value = level == nullptr ? -1 : PyLong_AsLong(level);
    Py_XDECREF(level);
    if (value == -1 && PyErr_Occurred() != nullptr) return clear_error();  // a signal's handler may have run
    set_log_level(core_level(value));
}

void deliver_log_messages() {
    if (g_logger == nullptr) return;
    std::deque<std::pair<LogLevel, std::string>> messages;
    std::size_t num_dropped = 0;
    {
        std::lock_guard lock(g_queue->mutex);  // held for a few instructions only, never while waiting for the GIL
        messages.swap(g_queue->messages);
        std::swap(num_dropped, g_queue->num_dropped);
    }
    for (const auto& [level, message] : messages) hand_over(level, message);
    if (num_dropped > 0) {
        hand_over(LogLevel::warning, std::to_string(num_dropped) +
                                         " messages were dropped: they came faster than "
                                         "they could be logged");
    }
}

void bind_log(py::module_& module) {
    g_queue = new Queue;
    pthread_atfork(nullptr, nullptr, [] { g_queue = new Queue; });
    g_logger = py::module_::import("logging").attr("getLogger")("tricodec").release().ptr();
    set_log_sink(enqueue);
    follow_python_log_level();
    py::module_::import("atexit").attr("register")(py::cpp_function(close_log));
    module.def(
        "log",
        [](const std::string& level, const std::string& message) {
            Unlocked unlocked;
            tricodec::log(parse_log_level(level), message);
        },
        py::arg("level"), py::arg("message"),
        R"(Send a message the way the core does: to ``logging.getLogger("tricodec")``.

Args:
    level: "debug", "info", "warning" or "error".
    message: the text.
Raises:
    ValueError: if the level is none of these.)");
}

}  // namespace tricodec::python
