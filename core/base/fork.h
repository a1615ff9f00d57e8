// SPDX-License-Identifier: Apache-2.0
/// Note [Fork]: a child made by fork() has a copy of the memory, and of the threads only the one that called fork().
/// Two things would hang it.
/// - Locks that another thread held. A ForkSafeMutex protects what the process or several threads share: a fork waits
///   until no other thread holds one, so the child finds it free and its data whole. The same holds for locks inside
///   FFmpeg where a ForkGuard surrounds the call.
/// - Threads of an object: a codec's, or those of the pool at work on a read. The object carries a ForkMark. In a child
///   it is never joined, flushed or freed, because each of these waits for its threads: it is leaked on purpose, and
///   made again where that is possible (FrameReader, decoders), or calls fail with the remedy (encoders, writers).
#pragma once

#include <pthread.h>

#include <atomic>
#include <mutex>

#include "tricodec/base/fork.h"

namespace tricodec {

/// No other thread forks the process in this scope: a fork waits for its end. Scopes nest. The scope must be short and
/// must not wait for a thread that may fork: in Python, not for the interpreter's lock.
class ForkGuard {
public:
    ForkGuard() noexcept { enter(); }
    ~ForkGuard() { leave(); }
    ForkGuard(const ForkGuard&) = delete;
    ForkGuard& operator=(const ForkGuard&) = delete;

private:
    friend class ForkSafeMutex;
    static void enter() noexcept;
    static void leave() noexcept;
};

/// Lets forks happen again inside a ForkGuard's scope: around a call that may wait, as for a reader of the caller's.
class ForkAllowed {
public:
    ForkAllowed() noexcept;
    ~ForkAllowed();
    ForkAllowed(const ForkAllowed&) = delete;
    ForkAllowed& operator=(const ForkAllowed&) = delete;

private:
    int depth_;
};

/// A mutex that is free in a child; held for moments, as a ForkGuard is.
class ForkSafeMutex {
public:
    void lock() {
        ForkGuard::enter();
        mutex_.lock();
    }
    void unlock() {
        mutex_.unlock();
        ForkGuard::leave();
    }

private:
    std::mutex mutex_;
};

/// The one T of this process. A child gets a new one, because what the parent's threads were doing with theirs never
/// ends there. Leaked on purpose: threads may use it while static objects are destroyed.
template <class T>
[[nodiscard]] T& one_per_process() {
    static std::atomic<T*> object{[] {
        pthread_atfork(nullptr, nullptr, [] { object.store(new T); });
        return new T;
    }()};
    return *object.load();
}

}  // namespace tricodec
