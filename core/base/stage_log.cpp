// SPDX-License-Identifier: Apache-2.0
#include "base/stage_log.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "base/fork.h"
#include "base/never_destroyed.h"

namespace tricodec {
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

}  // namespace tricodec
