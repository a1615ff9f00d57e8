// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "gil.h"
#include "tricodec/base/error.h"
#include "tricodec/base/fork.h"
#include "tricodec/base/interrupt.h"

namespace tricodec::python {

/// An object of the core that may be used by one thread at a time: calls from several Python threads take turns, with
/// the interpreter's lock released while they wait and work.
///
/// In a forked child an object that was in use at the fork, or that works with threads of its own, is lost: it is
/// leaked, because its end would wait for threads that do not exist there. `reopen` makes a new object when the lost
/// one is first used; its argument says whether the lost one was at rest.
template <class T>
class Guarded {
public:
    using Reopen = std::function<std::unique_ptr<T>(T& lost, bool at_rest)>;
    Guarded(std::unique_ptr<T> object, const char* name, Reopen reopen = {})
        : object_(std::move(object)), name_(name), reopen_(std::move(reopen)) {}
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;

    /// Ending an object may join threads that wait for the interpreter's lock, so it is done without it. While the
    /// interpreter shuts down such threads never come back, and the object is left to the end of the process.
    ~Guarded() {
        enter_child();
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

    /// function(T&, arguments...), which can be a method, without the interpreter's lock. The lock must be held before
    /// and is held after. Throws Error(invalid_argument) if the object is closed.
    template <class Function, class... Arguments>
    auto call(Function&& function, Arguments&&... arguments) {
        enter_child();
        Unlocked unlocked;
        const Access access(*this);
        if (lost_ != nullptr) reopen();
        TRICODEC_EXPECT(object_ != nullptr, invalid_argument,
                        "this " + std::string(name_) + " is closed; open a new one");
        return std::invoke(function, *object_, std::forward<Arguments>(arguments)...);
    }

    /// Ends the object after `before_end()`; a second time does nothing.
    template <class Function>
    void close(Function&& before_end) {
        enter_child();
        Unlocked unlocked;
        const Access access(*this);
        if (std::exchange(lost_, nullptr) != nullptr) closed_ = true;
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
    /// The first step in a forked child, by one thread: it has the interpreter's lock, or ends the object.
    void enter_child() noexcept {
        if (!mark_.in_child()) return;
        mark_ = {};
        const bool was_in_use = busy_thread_.load() != std::thread::id();
        busy_thread_ = std::thread::id();
        std::construct_at(&mutex_);  // the thread that may hold it does not exist here
        if (object_ == nullptr || !(reopen_ || was_in_use)) return;
        at_rest_ = !was_in_use;
        lost_ = object_.release();
    }

    void reopen() {
        TRICODEC_EXPECT(reopen_ != nullptr, unsupported,
                        "this " + std::string(name_) +
                            " was in use by another thread when this process was forked; make it in this process");
        object_ = reopen_(*lost_, at_rest_);
        lost_ = nullptr;
    }

    class Access {
    public:
        explicit Access(Guarded& guarded) : guarded_(guarded) {
            // A source with a read() that calls the object that reads it would wait for itself.
            TRICODEC_EXPECT(
                guarded_.busy_thread_ != std::this_thread::get_id(), invalid_argument,
                "this " + std::string(guarded_.name_) + " was called by its own source while it was reading");
            lock_ = lock_interruptibly(guarded_.mutex_);
            guarded_.busy_thread_ = std::this_thread::get_id();
        }
        ~Access() { guarded_.busy_thread_ = std::thread::id(); }
        Access(const Access&) = delete;
        Access& operator=(const Access&) = delete;

    private:
        Guarded& guarded_;
        std::unique_lock<std::timed_mutex> lock_;
    };

    std::timed_mutex mutex_;
    std::atomic<std::thread::id> busy_thread_{};
    std::atomic<bool> closed_{false};
    std::unique_ptr<T> object_;
    const char* name_;
    Reopen reopen_;
    ForkMark mark_;
    T* lost_ = nullptr;  // in a child, until it is opened again
    bool at_rest_ = true;
};

}  // namespace tricodec::python
