// SPDX-License-Identifier: Apache-2.0
#include "base/cuda/event.h"

#include "base/cuda/memory_report.h"

namespace tricodec::cuda {
namespace {

constexpr unsigned kFlags = kEventBlockingSync | kEventDisableTiming;

/// The context that work on `stream` belongs to; events can only be recorded in their own.
ContextHandle context_of(const Context& ours, StreamView stream) {
    if (stream.handle <= 2) return ours.handle();
    ContextHandle handle = nullptr;
    check(api().stream_get_context(handle_of(stream), &handle), "asking a stream for its context");
    return handle;
}

}  // namespace

bool is_capturing(StreamView stream) {
    if (stream.handle <= 1) return false;  // the legacy default stream cannot be captured, nor asked while others are
    int status = 0;
    return api().stream_is_capturing(handle_of(stream), &status) == kSuccess && status != 0;
}

Event Event::record(Context& context, StreamView stream) {
    const ContextHandle where = context_of(context, stream);
    ContextScope scope(where);
    Event event;
    event.context_ = &context;
    event.stream_ = stream;
    event.pooled_ = where == context.handle();
    if (event.pooled_) {
        event.handle_ = context.event_pool().take();
    } else {
        check_memory(context, api().event_create(&event.handle_, kFlags), "making a CUDA event");
    }
    check(api().event_record(event.handle_, handle_of(stream)), "recording a CUDA event");
    return event;
}

Event Event::record_all(Context& context) {
    const auto& driver = api();
    if (driver.context_record_event != nullptr) {
        const ContextScope scope(context);
        Event event;
        event.context_ = &context;
        event.handle_ = context.event_pool().take();
        if (driver.context_record_event(context.handle(), event.handle_) == kSuccess) return event;
    }
    return record(context, {});
}

Event::~Event() {
    if (handle_ == nullptr) return;
    if (pooled_) {
        context_->event_pool().give_back(handle_);
    } else if (const Api* driver = try_api()) {
        driver->event_destroy(handle_);
    }
}

bool Event::done() const {
    if (handle_ == nullptr || done_.load(std::memory_order_acquire)) return true;
    const Result result = api().event_query(handle_);
    if (result == kNotReady) return false;
    check(result, "work on a CUDA stream");
    done_.store(true, std::memory_order_release);
    return true;
}

void Event::wait() const {
    if (handle_ != nullptr && !done()) check(api().event_synchronize(handle_), "waiting for work on a CUDA stream");
}

void Event::wait_on(StreamView stream) const {
    if (handle_ == nullptr) return;
    ContextScope scope(*context_);  // gives the default streams their meaning
    check(api().stream_wait_event(handle_of(stream), handle_, 0), "making a CUDA stream wait");
}

EventPool::~EventPool() {
    const Api* driver = try_api();
    for (EventHandle event : idle_) {
        if (driver != nullptr) driver->event_destroy(event);
    }
}

EventHandle EventPool::take() {
    {
        std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            EventHandle event = idle_.back();
            idle_.pop_back();
            return event;
        }
    }
    ContextScope scope(context_);
    EventHandle event = nullptr;
    check_memory(context_, api().event_create(&event, kFlags), "making a CUDA event");
    return event;
}

void EventPool::give_back(EventHandle event) noexcept {
    try {
        std::lock_guard lock(mutex_);
        idle_.push_back(event);
    } catch (...) {
        if (const Api* driver = try_api()) driver->event_destroy(event);
    }
}

}  // namespace tricodec::cuda
