// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>

#include "base/fork.h"
#include "image/plan.h"

namespace tricodec::image {

/// What engines made of plans, the last few of them by geometry. `Prepared` has plan(). Thread safety: safe.
template <class Prepared>
class PlanCache {
public:
    /// The one for `key`, made by `make(key)` if there is none.
    template <class Make>
    [[nodiscard]] std::shared_ptr<Prepared> find_or_make(const FrameKey& key, const Make& make) {
        if (auto found = find(key)) return found;
        std::shared_ptr<Prepared> made = make(key);  // two threads may make the same; the older one ages out
        const std::lock_guard lock(mutex_);
        prepared_.push_front(made);
        if (prepared_.size() > kMost) prepared_.pop_back();
        return made;
    }

private:
    static constexpr std::size_t kMost = 8;  // a video has one; sizes that change in mid-stream have a few

    std::shared_ptr<Prepared> find(const FrameKey& key) {
        const std::lock_guard lock(mutex_);
        const auto found =
            std::find_if(prepared_.begin(), prepared_.end(), [&](const auto& each) { return each->plan().key == key; });
        if (found == prepared_.end()) return nullptr;
        prepared_.splice(prepared_.begin(), prepared_, found);
        return prepared_.front();
    }

    ForkSafeMutex mutex_;
    std::list<std::shared_ptr<Prepared>> prepared_;  // the last used first
};

}  // namespace tricodec::image
