// SPDX-License-Identifier: Apache-2.0
#include "tricodec/base/profiler.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "base/never_destroyed.h"
#include "base/stage_scope.h"

#ifdef TRICODEC_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace tricodec {

/// The latest events of a Profiler, in a ring. Events come to all logs that exist. Thread safety: safe.
class StageLog {
public:
    /// Its events count from `begin_ns`; those that began before are left out.
    StageLog(std::size_t max_events, std::int64_t begin_ns);
    StageLog(const StageLog&) = delete;
    StageLog& operator=(const StageLog&) = delete;
    ~StageLog();

    /// Keeps what it has from now on.
    void stop();
    [[nodiscard]] std::vector<StageEvent> events() const;
    /// Those that no earlier call returned.
    [[nodiscard]] std::vector<StageEvent> take();
    [[nodiscard]] std::int64_t num_dropped() const;
    /// Those that take() came too late for.
    [[nodiscard]] std::int64_t num_missed() const;

    /// Gives an event, which counts from the zero of the clock, to all logs.
    static void add_to_all(const StageEvent& event) noexcept;

private:
    void add(StageEvent event);
    [[nodiscard]] std::vector<StageEvent> from(std::uint64_t first) const;

    const std::size_t max_events_;
    const std::int64_t begin_ns_;
    bool stopped_ = false;
    std::vector<StageEvent> ring_;
    std::uint64_t num_added_ = 0;
    std::uint64_t num_lost_ = 0;  // for which there was no memory
    std::uint64_t num_taken_ = 0;
    std::uint64_t num_missed_ = 0;
};

namespace {

struct Registry {
    ForkSafeMutex mutex;  // also of the logs' members
    std::vector<StageLog*> logs;
    std::atomic<int> num_logs{0};  // looked at without the lock
};

Registry& registry() {
    static NeverDestroyed<Registry> instance;
    return *instance;
}

}  // namespace

StageLog::StageLog(std::size_t max_events, std::int64_t begin_ns) : max_events_(max_events), begin_ns_(begin_ns) {
    if (max_events_ == 0) return;  // nothing is kept, so events need not come
    const std::lock_guard lock(registry().mutex);
    registry().logs.push_back(this);
    ++registry().num_logs;
}

StageLog::~StageLog() {
    stop();
}

void StageLog::stop() {
    const std::lock_guard lock(registry().mutex);
    if (std::exchange(stopped_, true) || max_events_ == 0) return;
    std::erase(registry().logs, this);
    --registry().num_logs;
}

void StageLog::add_to_all(const StageEvent& event) noexcept {
    if (registry().num_logs.load(std::memory_order_relaxed) == 0) return;
    const std::lock_guard lock(registry().mutex);
    for (StageLog* log : registry().logs) {
        try {
            log->add(event);
        } catch (...) {
            ++log->num_lost_;
        }
    }
}

void StageLog::add(StageEvent event) {
    event.begin_ns -= begin_ns_;
    if (event.begin_ns < 0) return;
    if (ring_.size() < max_events_) {
        ring_.push_back(event);
    } else {
        ring_[num_added_ % max_events_] = event;
    }
    ++num_added_;
}

/// From the event with this number on, as far as they are kept.
std::vector<StageEvent> StageLog::from(std::uint64_t first) const {
    std::vector<StageEvent> events;
    first = std::max(first, num_added_ - ring_.size());
    events.reserve(num_added_ - first);
    for (; first < num_added_; ++first) events.push_back(ring_[first % max_events_]);
    return events;
}

std::vector<StageEvent> StageLog::events() const {
    const std::lock_guard lock(registry().mutex);
    return from(0);
}

std::vector<StageEvent> StageLog::take() {
    const std::lock_guard lock(registry().mutex);
    const std::uint64_t first = std::exchange(num_taken_, num_added_);
    auto events = from(first);
    num_missed_ += num_added_ - first - events.size();
    return events;
}

std::int64_t StageLog::num_dropped() const {
    const std::lock_guard lock(registry().mutex);
    return static_cast<std::int64_t>(num_added_ - ring_.size() + num_lost_);
}

std::int64_t StageLog::num_missed() const {
    const std::lock_guard lock(registry().mutex);
    return static_cast<std::int64_t>(num_missed_);
}

namespace {

constexpr std::array<const char*, kNumStages> kNames{"read",  "index",    "decode",     "transform", "encode",
                                                     "write", "compress", "decompress", "wait",      "filter"};

struct alignas(64) Counter {  // a cache line each: threads at different stages do not take it from one another
    std::atomic<std::int64_t> num_calls{0};
    std::atomic<std::int64_t> num_frames{0};
    std::atomic<std::int64_t> host_ns{0};
    std::atomic<std::int64_t> gpu_ns{0};
};

std::array<Counter, kNumStages> g_counters;
std::atomic<int> g_num_profilers{0};
std::atomic<void (*)() noexcept> g_collect{nullptr};
constinit thread_local StageScope* t_innermost = nullptr;  // of the scopes that are measured

Counter& counter_of(Stage stage) noexcept {
    return g_counters[static_cast<std::size_t>(stage)];
}

/// Asked of the system once for a thread, and again in a forked child, where the thread has another number.
std::int64_t thread_id() noexcept {
    constinit thread_local std::int64_t id = 0;
    constinit thread_local std::uint64_t generation = 0;
    if (id == 0 || generation != fork_generation()) {
        generation = fork_generation();
        id = gettid();
    }
    return id;
}

void collect_gpu_times() noexcept {
    if (const auto collect = g_collect.load()) collect();
}

#ifdef TRICODEC_HAVE_NVTX

// A tool that is not there makes each of these calls a look at a pointer.
struct Marks {
    nvtxDomainHandle_t domain = nvtxDomainCreateA("tricodec");
    std::array<nvtxStringHandle_t, kNumStages> names{};
    Marks() {
        for (std::size_t i = 0; i < names.size(); ++i) names[i] = nvtxDomainRegisterStringA(domain, kNames[i]);
    }
};

const Marks& marks() {
    static NeverDestroyed<Marks> instance;
    return *instance;
}

void begin_mark(Stage stage, std::int64_t num_frames) noexcept {
    nvtxEventAttributes_t mark{};
    mark.version = NVTX_VERSION;
    mark.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    mark.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    mark.message.registered = marks().names[static_cast<std::size_t>(stage)];
    mark.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    mark.payload.llValue = num_frames;
    nvtxDomainRangePushEx(marks().domain, &mark);
}

void end_mark() noexcept {
    nvtxDomainRangePop(marks().domain);
}

#else

void begin_mark(Stage /*stage*/, std::int64_t /*num_frames*/) noexcept {}
void end_mark() noexcept {}

#endif

}  // namespace

std::string_view to_string(Stage stage) noexcept {
    return kNames[static_cast<std::size_t>(stage)];
}

bool has_nvtx() noexcept {
#ifdef TRICODEC_HAVE_NVTX
    return true;
#else
    return false;
#endif
}

bool is_profiling() noexcept {
    return g_num_profilers.load(std::memory_order_relaxed) > 0;
}

std::int64_t profiler_now_ns() noexcept {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

StageScope::StageScope(Stage stage, std::int64_t num_frames) noexcept : stage_(stage), num_frames_(num_frames) {
    begin_mark(stage, num_frames);
    if (!is_profiling()) return;
    if (t_innermost != nullptr && t_innermost->stage_ == Stage::index) return;
    outer_ = std::exchange(t_innermost, this);
    begin_ns_ = profiler_now_ns();
}

StageScope::~StageScope() {
    end_mark();
    if (begin_ns_ == 0) return;
    const std::int64_t duration_ns = profiler_now_ns() - begin_ns_;
    t_innermost = outer_;
    if (outer_ != nullptr) outer_->inner_ns_ += duration_ns;
    Counter& counter = counter_of(stage_);
    counter.num_calls.fetch_add(1, std::memory_order_relaxed);
    counter.num_frames.fetch_add(num_frames_, std::memory_order_relaxed);
    counter.host_ns.fetch_add(duration_ns - inner_ns_, std::memory_order_relaxed);
    StageLog::add_to_all({stage_, {}, thread_id(), begin_ns_, duration_ns, num_frames_});
}

void add_gpu_time(const StageEvent& event) noexcept {
    counter_of(event.stage).gpu_ns.fetch_add(event.duration_ns, std::memory_order_relaxed);
    StageLog::add_to_all(event);
}

void set_gpu_time_collector(void (*collect)() noexcept) noexcept {
    g_collect.store(collect);
}

Profiler::Totals Profiler::totals() {
    collect_gpu_times();
    Totals totals;
    for (std::size_t i = 0; i < totals.size(); ++i) {
        const Counter& counter = g_counters[i];
        totals[i] = {static_cast<Stage>(i), counter.num_calls, counter.num_frames, counter.host_ns, counter.gpu_ns};
    }
    return totals;
}

Profiler::Profiler(std::size_t max_events)
    : begin_(totals()), begin_ns_(profiler_now_ns()), log_(std::make_unique<StageLog>(max_events, begin_ns_)) {
    ++g_num_profilers;
}

Profiler::~Profiler() {
    if (end_ns_ == 0) --g_num_profilers;
}

void Profiler::stop() {
    const std::lock_guard lock(mutex_);
    if (end_ns_ != 0) return;
    end_ = totals();  // the events of GPUs come with them
    log_->stop();
    end_ns_ = profiler_now_ns();
    --g_num_profilers;
}

std::vector<StageTime> Profiler::stages() const {
    const std::lock_guard lock(mutex_);
    const Totals end = end_ns_ != 0 ? end_ : totals();
    std::vector<StageTime> passed;
    for (std::size_t i = 0; i < end.size(); ++i) {
        const StageTime& begin = begin_[i];
        const StageTime time{begin.stage, end[i].num_calls - begin.num_calls, end[i].num_frames - begin.num_frames,
                             end[i].host_ns - begin.host_ns, end[i].gpu_ns - begin.gpu_ns};
        if (time.num_calls != 0) passed.push_back(time);
    }
    return passed;
}

std::int64_t Profiler::elapsed_ns() const {
    const std::lock_guard lock(mutex_);
    return (end_ns_ != 0 ? end_ns_ : profiler_now_ns()) - begin_ns_;
}

std::vector<StageEvent> Profiler::events() const {
    collect_gpu_times();
    return log_->events();
}

std::vector<StageEvent> Profiler::take_events() {
    collect_gpu_times();
    return log_->take();
}

std::int64_t Profiler::num_dropped_events() const {
    return log_->num_dropped();
}

std::int64_t Profiler::num_missed_events() const {
    return log_->num_missed();
}

}  // namespace tricodec
