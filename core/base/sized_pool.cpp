// SPDX-License-Identifier: Apache-2.0
#include "base/sized_pool.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "tricodec/base/error.h"

namespace tricodec {
namespace {

constexpr std::size_t kMostAsked = 8;  // idle slabs that one request checks, because a check may call the driver

}  // namespace

SizedPool::SizedPool(std::unique_ptr<MemorySource> source, MemoryKind kind, Device device, std::size_t most_idle_bytes)
    : source_(std::move(source)), most_idle_bytes_(most_idle_bytes), counter_(kind, device) {}

bool SizedPool::Slab::is_ready() const noexcept {
    try {
        return idle.empty() ||
               std::ranges::all_of(idle.back().pending, [](const auto& event) { return event->done(); });
    } catch (const Error&) {
        return false;  // the work failed: the next caller that wants memory does not report it
    }
}

Block SizedPool::take(std::size_t size_bytes, StreamView stream) {
    const std::size_t size = source_->block_bytes(size_bytes);
    Block block = take_kept(size, Taken::ready);
    if (block.data == nullptr) block = take_fresh(size, stream);
    if (block.data == nullptr) block = take_kept(size, Taken::any);
    if (block.data == nullptr) {
        trim();
        block = take_fresh(size, stream);
    }
    if (block.data == nullptr) {
        source_->reclaim();
        block = take_fresh(size, stream);
    }
    return block;
}

Block SizedPool::take_kept(std::size_t block_bytes, Taken which) {
    const std::lock_guard lock(mutex_);
    const auto found = classes_.find(block_bytes);
    if (found == classes_.end() || found->second.open.empty()) return {};
    Slabs& open = found->second.open;
    const auto last = std::find_if(open.rbegin(), open.rend(), [](const Slab& slab) { return !slab.idle.empty(); });
    auto slab = last == open.rend() ? open.begin() : std::prev(last.base());
    bool ready = slab->is_ready();
    const std::size_t most = std::min(open.size(), kMostAsked);
    for (std::size_t asked = 1; asked < most && !ready; ++asked) {
        slab = open.begin();
        ready = slab->is_ready();
        if (ready) break;
        // Slabs asked in vain go to the end of the line: they are in use until now, and not asked next time.
        slab->idle_since = ++num_given_back_;
        open.splice(open.end(), open, slab);
    }
    if (!ready) {
        const bool no_more = which == Taken::any || counter_.idle_bytes() + block_bytes > most_idle_bytes_;
        if (!no_more || !source_->waits_in_stream()) return {};
        slab = open.begin();
    }
    return take_from(found->second, slab);
}

Block SizedPool::take_fresh(std::size_t block_bytes, StreamView stream) {
    Slabs made(1);
    Slab& slab = made.front();
    slab.block_bytes = block_bytes;
    slab.size_bytes = source_->slab_bytes(block_bytes);
    slab.idle.reserve(slab.size_bytes / block_bytes);  // so that give_back() needs no memory
    slab.data = static_cast<std::byte*>(source_->allocate(slab.size_bytes, stream));
    if (slab.data == nullptr) return {};
    try {
        const std::lock_guard lock(mutex_);
        SizeClass& its = classes_[block_bytes];
        by_address_.emplace(slab.data, made.begin());
        its.open.splice(its.open.end(), made);
        return take_from(its, std::prev(its.open.end()));
    } catch (...) {
        source_->free(slab.data, slab.size_bytes, slab.idle);
        throw;
    }
}

Block SizedPool::take_from(SizeClass& its, Slabs::iterator slab) {
    Block block;
    if (slab->idle.empty()) {
        block.data = slab->data + slab->num_cut++ * slab->block_bytes;
        block.fresh = true;
        counter_.add(MemoryAction::allocate, slab->block_bytes);
    } else {
        block = std::move(slab->idle.back());
        slab->idle.pop_back();
        counter_.add(MemoryAction::reuse, slab->block_bytes);
    }
    if (slab->is_full()) its.full.splice(its.full.end(), its.open, slab);
    return block;
}

SizedPool::Slabs SizedPool::take_back(Block block) noexcept {
    const std::lock_guard lock(mutex_);
    const auto slab = std::prev(by_address_.upper_bound(static_cast<std::byte*>(block.data)))->second;
    SizeClass& its = classes_.find(slab->block_bytes)->second;
    its.open.splice(its.open.end(), slab->is_full() ? its.full : its.open, slab);
    block.fresh = false;
    slab->idle.push_back(std::move(block));
    slab->idle_since = slab->block_bytes > most_idle_bytes_ ? 0 : ++num_given_back_;
    counter_.add(MemoryAction::release, slab->block_bytes);
    return take_surplus(most_idle_bytes_);
}

void SizedPool::trim() noexcept {
    Slabs all;
    {
        const std::lock_guard lock(mutex_);
        all = take_surplus(0);
    }
    free(all);
    source_->trim();
}

SizedPool::Slabs SizedPool::take_surplus(std::size_t most_idle_bytes) noexcept {
    Slabs surplus;
    while (counter_.idle_bytes() > most_idle_bytes) {
        auto from = classes_.end();
        Slabs::iterator oldest;
        for (auto its = classes_.begin(); its != classes_.end(); ++its) {
            Slabs& open = its->second.open;
            const auto slab = std::ranges::find_if(open, &Slab::is_unused);
            if (slab == open.end() || (from != classes_.end() && oldest->idle_since <= slab->idle_since)) continue;
            from = its;
            oldest = slab;
        }
        if (from == classes_.end()) break;  // each slab has a block that is in use
        by_address_.erase(oldest->data);
        counter_.add(MemoryAction::free, oldest->idle.size() * oldest->block_bytes);
        surplus.splice(surplus.end(), from->second.open, oldest);
        if (from->second.open.empty() && from->second.full.empty()) classes_.erase(from);
    }
    return surplus;
}

void SizedPool::free(const Slabs& slabs) noexcept {
    for (const Slab& slab : slabs) source_->free(slab.data, slab.size_bytes, slab.idle);
}

}  // namespace tricodec
