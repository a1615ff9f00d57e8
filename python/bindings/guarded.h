// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "gil.h"
#include "tricodec/error.h"

namespace tricodec::python {

/// An object of the core that may be used by one thread at a time: calls from several Python threads take turns, with
/// the interpreter's lock released while they wait and work.
template <class T>
class Guarded {
public:
    Guarded(std::unique_ptr<T> object, const char* name) : object_(std::move(object)), name_(name) {}
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;

    /// Ending an object may join threads that wait for the interpreter's lock, so it is done without it. While the
    /// interpreter shuts down such threads never come back, and the object is left to the end of the process.
    ~Guarded() {
        if (object_ == nullptr) return;
        if (!interpreter_usable()) {
            static_cast<void>(object_.release());
        } else if (PyGILState_Check() != 0) {
            const Released released;
            object_.reset();
        } else {
            object_.reset();
        }
    }

    /// function(T&) without the interpreter's lock. The lock must be held before and is held after.
    /// Throws Error(invalid_argument) if the object is closed.
    template <class Function>
    auto call(Function&& function) {
        Unlocked unlocked;
        const Turn turn(*this);
        TRICODEC_EXPECT(object_ != nullptr, invalid_argument,
                        "this " + std::string(name_) + " is closed; open a new one");
        return function(*object_);
    }

    /// Ends the object after `before_end()`; a second time does nothing.
    template <class Function>
    void close(Function&& before_end) {
        Unlocked unlocked;
        const Turn turn(*this);
        if (object_ == nullptr) return;
        closed_ = true;
        before_end();
        object_.reset();
    }
    void close() {
        close([] {});
    }

    [[nodiscard]] bool closed() const noexcept { return closed_; }

private:
    class Turn {
    public:
        explicit Turn(Guarded& guarded) : guarded_(guarded) {
            // A source whose read() calls the object that is reading it would wait for itself.
            TRICODEC_EXPECT(
                guarded_.busy_thread_ != std::this_thread::get_id(), invalid_argument,
                "this " + std::string(guarded_.name_) + " was called by its own source while it was reading");
            guarded_.mutex_.lock();
            guarded_.busy_thread_ = std::this_thread::get_id();
        }
        ~Turn() {
            guarded_.busy_thread_ = std::thread::id();
            guarded_.mutex_.unlock();
        }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

    private:
        Guarded& guarded_;
    };

    std::mutex mutex_;
    std::atomic<std::thread::id> busy_thread_{};
    std::atomic<bool> closed_{false};
    std::unique_ptr<T> object_;
    const char* name_;
};

}  // namespace tricodec::python
