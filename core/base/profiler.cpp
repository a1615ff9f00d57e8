// SPDX-License-Identifier: Apache-2.0
#include "tricodec/base/profiler.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>

#include "base/never_destroyed.h"
#include "base/stage_scope.h"

#ifdef TRICODEC_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace tricodec {
namespace {

constexpr std::array<const char*, kNumStages> kNames{"read",  "decode",   "transform",  "encode",
                                                     "write", "compress", "decompress", "wait"};

struct alignas(64) Counter {  // a cache line each: threads at different stages do not take it from one another
    std::atomic<std::int64_t> num_calls{0};
    std::atomic<std::int64_t> host_ns{0};
    std::atomic<std::int64_t> gpu_ns{0};
};

std::array<Counter, kNumStages> g_counters;
std::atomic<int> g_num_profilers{0};
std::atomic<void (*)() noexcept> g_collect{nullptr};

Counter& counter_of(Stage stage) noexcept {
    return g_counters[static_cast<std::size_t>(stage)];
}

std::int64_t now_ns() noexcept {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
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

void begin_mark(Stage stage) noexcept {
    nvtxEventAttributes_t mark{};
    mark.version = NVTX_VERSION;
    mark.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    mark.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    mark.message.registered = marks().names[static_cast<std::size_t>(stage)];
    nvtxDomainRangePushEx(marks().domain, &mark);
}

void end_mark() noexcept {
    nvtxDomainRangePop(marks().domain);
}

#else

void begin_mark(Stage /*stage*/) noexcept {}
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

StageScope::StageScope(Stage stage) noexcept : stage_(stage), begin_ns_(is_profiling() ? now_ns() : 0) {
    begin_mark(stage);
}

StageScope::~StageScope() {
    end_mark();
    if (begin_ns_ == 0) return;
    Counter& counter = counter_of(stage_);
    counter.num_calls.fetch_add(1, std::memory_order_relaxed);
    counter.host_ns.fetch_add(now_ns() - begin_ns_, std::memory_order_relaxed);
}

void add_gpu_time(Stage stage, std::int64_t gpu_ns) noexcept {
    counter_of(stage).gpu_ns.fetch_add(gpu_ns, std::memory_order_relaxed);
}

void set_gpu_time_collector(void (*collect)() noexcept) noexcept {
    g_collect.store(collect);
}

Profiler::Totals Profiler::totals() {
    if (const auto collect = g_collect.load()) collect();
    Totals totals;
    for (std::size_t i = 0; i < totals.size(); ++i) {
        const Counter& counter = g_counters[i];
        totals[i] = {static_cast<Stage>(i), counter.num_calls, counter.host_ns, counter.gpu_ns};
    }
    return totals;
}

Profiler::Profiler() : begin_(totals()), begin_ns_(now_ns()) {
    ++g_num_profilers;
}

Profiler::~Profiler() {
    if (end_ns_ == 0) --g_num_profilers;
}

void Profiler::stop() {
    const std::lock_guard lock(mutex_);
    if (end_ns_ != 0) return;
    end_ = totals();
    end_ns_ = now_ns();
    --g_num_profilers;
}

std::vector<StageTime> Profiler::stages() const {
    const std::lock_guard lock(mutex_);
    const Totals end = end_ns_ != 0 ? end_ : totals();
    std::vector<StageTime> passed;
    for (std::size_t i = 0; i < end.size(); ++i) {
        const StageTime& begin = begin_[i];
        const StageTime time{begin.stage, end[i].num_calls - begin.num_calls, end[i].host_ns - begin.host_ns,
                             end[i].gpu_ns - begin.gpu_ns};
        if (time.num_calls != 0) passed.push_back(time);
    }
    return passed;
}

std::int64_t Profiler::elapsed_ns() const {
    const std::lock_guard lock(mutex_);
    return (end_ns_ != 0 ? end_ns_ : now_ns()) - begin_ns_;
}

}  // namespace tricodec
