// SPDX-License-Identifier: Apache-2.0
#include "tricodec/base/memory_tracker.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/fork.h"
#include "base/memory_counter.h"
#include "base/never_destroyed.h"
#include "tricodec/base/buffer.h"

namespace tricodec {
namespace {

constexpr std::array<const char*, 4> kKinds{"host", "pinned", "device", "decoders"};
constexpr std::array<const char*, 4> kActions{"allocate", "reuse", "release", "free"};

std::string name_of(MemoryKind kind, Device device) {
    std::string name = kKinds[static_cast<std::size_t>(kind)];
    return kind == MemoryKind::host ? name : std::move(name) + " " + device.to_string();
}

std::int64_t now_ns() noexcept {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::tuple<MemoryKind, int> order_of(const MemoryUse& use) noexcept {
    return {use.kind, use.device.index};
}

template <class Uses>
auto* entry_of(Uses& uses, MemoryKind kind, Device device) {
    const auto found =
        std::ranges::find_if(uses, [&](const MemoryUse& use) { return use.kind == kind && use.device == device; });
    return found == uses.end() ? nullptr : &*found;
}

}  // namespace

struct TrackerState {
    std::size_t max_events = 0;
    std::int64_t begin_ns = now_ns();
    bool stopped = false;
    std::vector<TrackedMemory> allocators;
    std::deque<MemoryEvent> events;
    std::int64_t num_dropped_events = 0;

    void note(const MemoryUse& now, MemoryAction action, std::size_t size_bytes);
    void keep(const MemoryEvent& event);
};

namespace {

/// The counters, and the listeners.
struct Registry {
    ForkSafeMutex mutex;
    std::vector<const MemoryCounter*> counters;
    std::vector<TrackerState*> trackers;
    std::atomic<int> num_trackers{0};  // looked at without the lock

    /// What all counters of a kind and device come to.
    [[nodiscard]] MemoryUse use(MemoryKind kind, Device device) const noexcept {
        MemoryUse use{kind, device};
        for (const MemoryCounter* counter : counters) {
            if (counter->kind() != kind || counter->device() != device) continue;
            use.in_use_bytes += static_cast<std::int64_t>(counter->in_use_bytes());
            use.idle_bytes += static_cast<std::int64_t>(counter->idle_bytes());
        }
        return use;
    }

    [[nodiscard]] std::vector<MemoryUse> uses() const {
        std::vector<MemoryUse> uses;
        for (const MemoryCounter* counter : counters) {
            if (entry_of(uses, counter->kind(), counter->device()) != nullptr) continue;
            uses.push_back(use(counter->kind(), counter->device()));
        }
        std::ranges::sort(uses, {}, order_of);
        return uses;
    }
};

Registry& registry() {
    static NeverDestroyed<Registry> instance;
    return *instance;
}

/// With the host's allocator, which begins to count when it is first asked.
Registry& complete_registry() {
    (void)host_allocator();
    return registry();
}

}  // namespace

void TrackerState::note(const MemoryUse& now, MemoryAction action, std::size_t size_bytes) {
    TrackedMemory* tracked = entry_of(allocators, now.kind, now.device);
    if (tracked == nullptr) tracked = &allocators.emplace_back(TrackedMemory{now});
    static_cast<MemoryUse&>(*tracked) = now;
    tracked->peak_bytes = std::max(tracked->peak_bytes, now.in_use_bytes);
    if (action == MemoryAction::allocate) ++tracked->num_allocations;
    if (action == MemoryAction::reuse) ++tracked->num_reuses;
    keep({now_ns() - begin_ns, now.kind, now.device, action, static_cast<std::int64_t>(size_bytes), now.in_use_bytes});
}

void TrackerState::keep(const MemoryEvent& event) {
    if (events.size() >= max_events) {
        ++num_dropped_events;
        if (max_events == 0) return;
        events.pop_front();
    }
    events.push_back(event);
}

std::string_view to_string(MemoryAction action) noexcept {
    return kActions[static_cast<std::size_t>(action)];
}

std::string MemoryUse::name() const {
    return name_of(kind, device);
}

std::string MemoryEvent::name() const {
    return name_of(kind, device);
}

std::vector<MemoryUse> memory_use() {
    Registry& known = complete_registry();
    const std::lock_guard lock(known.mutex);
    return known.uses();
}

MemoryCounter::MemoryCounter(MemoryKind kind, Device device) : kind_(kind), device_(device) {
    Registry& known = registry();
    const std::lock_guard lock(known.mutex);
    known.counters.push_back(this);
}

MemoryCounter::~MemoryCounter() {
    Registry& known = registry();
    const std::lock_guard lock(known.mutex);
    std::erase(known.counters, this);
}

void MemoryCounter::add(MemoryAction action, std::size_t size_bytes) noexcept {
    Registry& known = registry();
    if (known.num_trackers.load(std::memory_order_relaxed) == 0) return count(action, size_bytes);
    const std::lock_guard lock(known.mutex);
    count(action, size_bytes);  // under the lock: events tell sums in the order in which they came about
    const MemoryUse now = known.use(kind_, device_);
    for (TrackerState* tracker : known.trackers) {
        try {
            tracker->note(now, action, size_bytes);
        } catch (...) {
            ++tracker->num_dropped_events;  // no memory to write it down
        }
    }
}

void MemoryCounter::count(MemoryAction action, std::size_t size_bytes) noexcept {
    constexpr auto kOrder = std::memory_order_relaxed;
    const bool given_out = action == MemoryAction::allocate || action == MemoryAction::reuse;
    const bool from_idle = action == MemoryAction::reuse || action == MemoryAction::free;
    if (given_out) in_use_bytes_.fetch_add(size_bytes, kOrder);
    if (from_idle) idle_bytes_.fetch_sub(size_bytes, kOrder);
    if (action == MemoryAction::release) {
        in_use_bytes_.fetch_sub(size_bytes, kOrder);
        idle_bytes_.fetch_add(size_bytes, kOrder);
    }
}

MemoryTracker::MemoryTracker(std::size_t max_events) : state_(std::make_unique<TrackerState>()) {
    state_->max_events = max_events;
    Registry& known = complete_registry();
    const std::lock_guard lock(known.mutex);
    for (const MemoryUse& use : known.uses()) state_->allocators.push_back({use, use.in_use_bytes});
    known.trackers.push_back(state_.get());
    ++known.num_trackers;
}

MemoryTracker::~MemoryTracker() {
    stop();
}

void MemoryTracker::stop() {
    Registry& known = registry();
    const std::lock_guard lock(known.mutex);
    if (std::exchange(state_->stopped, true)) return;
    std::erase(known.trackers, state_.get());
    --known.num_trackers;
}

std::vector<TrackedMemory> MemoryTracker::allocators() const {
    const std::lock_guard lock(registry().mutex);
    auto allocators = state_->allocators;
    std::ranges::sort(allocators, {}, order_of);
    return allocators;
}

std::vector<MemoryEvent> MemoryTracker::events() const {
    const std::lock_guard lock(registry().mutex);
    return {state_->events.begin(), state_->events.end()};
}

std::int64_t MemoryTracker::num_dropped_events() const {
    const std::lock_guard lock(registry().mutex);
    return state_->num_dropped_events;
}

}  // namespace tricodec
