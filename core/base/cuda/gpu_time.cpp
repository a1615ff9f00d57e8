// SPDX-License-Identifier: Apache-2.0
#include "base/cuda/gpu_time.h"

#include <cstddef>
#include <mutex>
#include <vector>

#include "base/stage_scope.h"

namespace tricodec::cuda {
namespace {

/// Queued and not asked for yet.
struct Span {
    Stage stage;
    EventHandle begin;
    EventHandle end;
};

struct Spans {
    std::mutex mutex;
    std::vector<Span> all;
};

constexpr std::size_t kMostSpans = 4096;  // a driver's events are small; a measurement may take hours

Spans& spans() {
    static auto* const instance = new Spans;  // leaked: work may be queued until the very end
    return *instance;
}

void tell(const Span& span) noexcept {
    const Api* const driver = try_api();
    if (driver == nullptr) return;
    float ms = 0;
    // Fails for work of a graph that was captured, which has no time of its own.
    if (driver->event_synchronize(span.end) == kSuccess &&
        driver->event_elapsed_ms(&ms, span.begin, span.end) == kSuccess) {
        add_gpu_time(span.stage, static_cast<std::int64_t>(ms * 1e6));
    }
    driver->event_destroy(span.begin);
    driver->event_destroy(span.end);
}

void collect() noexcept {
    const std::lock_guard lock(spans().mutex);
    for (const Span& span : spans().all) tell(span);
    spans().all.clear();
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
    set_gpu_time_collector(collect);
    const EventHandle end = record(stream_);
    if (end == nullptr) {
        try_api()->event_destroy(begin_);
        return;
    }
    const std::lock_guard lock(spans().mutex);
    auto& all = spans().all;
    all.push_back({stage_, begin_, end});
    if (all.size() < kMostSpans) return;
    for (const Span& span : all) tell(span);
    all.clear();
}

}  // namespace tricodec::cuda
