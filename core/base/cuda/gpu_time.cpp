// SPDX-License-Identifier: Apache-2.0
#include "base/cuda/gpu_time.h"

#include <cstddef>
#include <mutex>
#include <vector>

#include "base/never_destroyed.h"
#include "base/stage_scope.h"

namespace tricodec::cuda {
namespace {

/// Queued and not asked for yet.
struct Span {
    Stage stage;
    EventHandle begin;
    EventHandle end;
};

// From that many on, those that are over are told before anybody asks: a measurement may take hours. What is under way
// is bounded by how much a stream takes.
constexpr std::size_t kManySpans = 4096;

void collect() noexcept;

struct Spans {
    std::mutex mutex;
    std::vector<Span> all;

    Spans() { set_gpu_time_collector(collect); }
};

Spans& spans() {
    static NeverDestroyed<Spans> instance;
    return *instance;
}

/// Of work that is over. Fails for work of a graph that was captured, which has no time of its own.
void tell(const Api& driver, const Span& span) noexcept {
    float ms = 0;
    if (driver.event_elapsed_ms(&ms, span.begin, span.end) == kSuccess) {
        add_gpu_time(span.stage, static_cast<std::int64_t>(ms * 1e6));
    }
    driver.event_destroy(span.begin);
    driver.event_destroy(span.end);
}

/// Waits for the work, while other threads may queue more.
void collect() noexcept {
    std::vector<Span> all;
    {
        const std::lock_guard lock(spans().mutex);
        all.swap(spans().all);
    }
    const Api* const driver = try_api();
    if (driver == nullptr) return;
    for (const Span& span : all) {
        driver->event_synchronize(span.end);
        tell(*driver, span);
    }
}

/// Null where the driver cannot.
EventHandle record(StreamView stream) noexcept {
    EventHandle event = nullptr;
    const Api* const driver = try_api();
    if (driver == nullptr || driver->event_create(&event, kEventBlockingSync) != kSuccess) return nullptr;
    if (driver->event_record(event, handle_of(stream)) == kSuccess) return event;
    driver->event_destroy(event);
    return nullptr;
}

}  // namespace

GpuTime::GpuTime(const Context& context, Stage stage, StreamView stream) noexcept : stage_(stage), stream_(stream) {
    if (is_profiling() && context.is_primary()) begin_ = record(stream);
}

GpuTime::~GpuTime() {
    if (begin_ == nullptr) return;
    const Api& driver = *try_api();
    const EventHandle end = record(stream_);
    if (end == nullptr) {
        driver.event_destroy(begin_);
        return;
    }
    const std::lock_guard lock(spans().mutex);
    auto& all = spans().all;
    all.push_back({stage_, begin_, end});
    if (all.size() < kManySpans) return;
    std::erase_if(all, [&](const Span& span) {
        const bool over = driver.event_query(span.end) != kNotReady;
        if (over) tell(driver, span);
        return over;
    });
}

}  // namespace tricodec::cuda
