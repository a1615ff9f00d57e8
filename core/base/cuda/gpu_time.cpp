// SPDX-License-Identifier: Apache-2.0
#include "base/cuda/gpu_time.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/never_destroyed.h"
#include "base/stage_scope.h"
#include "tricodec/base/log.h"

namespace tricodec::cuda {

/// A point in time that is known to the GPU and to the host, where a GPU's times are placed on the host's clock.
struct GpuTimeAnchor {
    ContextHandle context = nullptr;
    EventHandle event = nullptr;
    std::int64_t host_ns = 0;

    GpuTimeAnchor() = default;
    GpuTimeAnchor(const GpuTimeAnchor&) = delete;
    GpuTimeAnchor& operator=(const GpuTimeAnchor&) = delete;
    ~GpuTimeAnchor() {
        if (event != nullptr) try_api()->event_destroy(event);
    }
};

namespace {

using Anchor = GpuTimeAnchor;

/// Queued and not asked for yet.
struct Span {
    Stage stage;
    Device device;
    std::int64_t num_frames;
    std::shared_ptr<const Anchor> anchor;
    EventHandle begin;
    EventHandle end;
};

// From that many on, those that are over are told before anybody asks: a measurement may take hours. What is under way
// is bounded by how much a stream takes.
constexpr std::size_t kManySpans = 4096;

// The driver tells milliseconds since the anchor as a float, which then has a resolution of 0.5 us.
constexpr std::int64_t kAnchorNs = 4'000'000'000;

void collect() noexcept;

struct Spans {
    std::mutex mutex;
    std::vector<Span> all;
    std::vector<std::shared_ptr<const Anchor>> anchors;  // the latest one of each context

    Spans() { set_gpu_time_collector(collect); }
};

Spans& spans() {
    static NeverDestroyed<Spans> instance;
    return *instance;
}

/// Of work that is over. Fails for work of a graph that was captured, which has no time of its own.
void tell(const Api& driver, const Span& span) noexcept {
    float ms = 0;
    float since_anchor_ms = 0;
    if (driver.event_elapsed_ms(&ms, span.begin, span.end) == kSuccess &&
        driver.event_elapsed_ms(&since_anchor_ms, span.anchor->event, span.begin) == kSuccess) {
        const auto ns = [](float milliseconds) { return static_cast<std::int64_t>(double{milliseconds} * 1e6); };
        add_gpu_time({span.stage, span.device, 0, span.anchor->host_ns + ns(since_anchor_ms), ns(ms), span.num_frames});
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

/// On a stream without other work, so that the event is over when the host sees it.
std::shared_ptr<const Anchor> make_anchor(const std::shared_ptr<Context>& context) {
    const Stream stream(context);
    auto anchor = std::make_shared<Anchor>();
    anchor->context = context->handle();
    anchor->event = record(stream);
    if (anchor->event == nullptr || try_api()->event_synchronize(anchor->event) != kSuccess) return nullptr;
    anchor->host_ns = profiler_now_ns();
    return anchor;
}

/// Null where the driver cannot. The spans' mutex is held.
std::shared_ptr<const Anchor> anchor_of(const std::shared_ptr<Context>& context) {
    auto& anchors = spans().anchors;
    const auto found = std::ranges::find(anchors, context->handle(), [](const auto& each) { return each->context; });
    if (found != anchors.end() && profiler_now_ns() - (*found)->host_ns < kAnchorNs) return *found;
    auto made = make_anchor(context);
    if (made == nullptr) return nullptr;
    if (found == anchors.end()) {
        anchors.push_back(made);
    } else {
        *found = made;
    }
    return made;
}

}  // namespace

GpuTime::GpuTime(const std::shared_ptr<Context>& context, Stage stage, std::int64_t num_frames,
                 StreamView stream) noexcept
    : device_(context->device()), stage_(stage), num_frames_(num_frames), stream_(stream) {
    if (!is_profiling() || !context->is_primary()) return;
    try {
        const std::lock_guard lock(spans().mutex);
        anchor_ = anchor_of(context);
    } catch (const std::exception& error) {
        log(LogLevel::debug, std::string("work of a GPU is not timed: ") + error.what());
    }
    if (anchor_) begin_ = record(stream);
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
    all.push_back({stage_, device_, num_frames_, std::move(anchor_), begin_, end});
    if (all.size() < kManySpans) return;
    std::erase_if(all, [&](const Span& span) {
        const bool over = driver.event_query(span.end) != kNotReady;
        if (over) tell(driver, span);
        return over;
    });
}

}  // namespace tricodec::cuda
