// SPDX-License-Identifier: Apache-2.0
#include "base/slab_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>

namespace tricodec {
namespace {

constexpr std::size_t kHugePageBytes = 2 << 20;
constexpr std::size_t kSlabBytes = 16 << 20;

std::size_t round_up(std::size_t size, std::size_t to) {
    return (size + to - 1) / to * to;
}

#if defined(__SANITIZE_ADDRESS__)
// A block a slab, from malloc, which reports every byte that is touched beside it.
constexpr bool kOneBlockEach = true;

std::byte* map(std::size_t size_bytes) {
    return static_cast<std::byte*>(std::aligned_alloc(SlabPool::kPageBytes, size_bytes));
}

void unmap(std::byte* data, std::size_t) noexcept {
    std::free(data);
}
#else
constexpr bool kOneBlockEach = false;

/// Address space that starts on a huge page; it takes no memory until it is touched.
std::byte* map(std::size_t size_bytes) {
    const std::size_t with_slack = size_bytes + kHugePageBytes;
    void* const mapped = mmap(nullptr, with_slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    auto* const start = static_cast<std::byte*>(mapped);
    const std::size_t before =
        round_up(reinterpret_cast<std::uintptr_t>(start), kHugePageBytes) - reinterpret_cast<std::uintptr_t>(start);
    auto* const data = start + before;
    if (before > 0) munmap(start, before);
    munmap(data + size_bytes, kHugePageBytes - before);
#ifdef MADV_HUGEPAGE
    madvise(data, size_bytes, MADV_HUGEPAGE);  // refused by kernels built without them
#endif
    return data;
}

void unmap(std::byte* data, std::size_t size_bytes) noexcept {
    munmap(data, size_bytes);
}
#endif

/// Whole huge pages for one or more blocks, as many as leave least of the last page over.
std::size_t slab_bytes(std::size_t block_bytes) {
    if (kOneBlockEach) return block_bytes;
    const std::size_t fewest = std::max<std::size_t>(1, kSlabBytes / block_bytes);
    const auto whole = [&](std::size_t num_blocks) { return round_up(num_blocks * block_bytes, kHugePageBytes); };
    std::size_t best = fewest;
    for (std::size_t n = fewest; n < 2 * fewest; ++n) {
        if (whole(n) - n * block_bytes < whole(best) - best * block_bytes) best = n;
    }
    // A single block that would leave much over ends on an ordinary page.
    return best > 1 ? whole(best) : block_bytes;
}

}  // namespace

SlabPool::~SlabPool() {
    for (const auto& [data, slab] : slabs_) unmap(data, slab.size_bytes);
}

void* SlabPool::take(std::size_t size_bytes) {
    auto& idle = idle_[size_bytes];
    if (!idle.empty()) {
        void* const block = idle.back();
        idle.pop_back();
        idle_bytes_ -= size_bytes;
        ++slab_of(block).num_used;
        return block;
    }
    Slab* slab = slab_with_room(size_bytes);
    if (slab == nullptr) return nullptr;
    ++slab->num_used;
    return slab->data + slab->num_cut++ * size_bytes;
}

void SlabPool::give_back(void* block) {
    Slab& slab = slab_of(block);
    idle_[slab.block_bytes].push_back(block);
    --slab.num_used;
    slab.time = ++time_;
    idle_bytes_ += slab.block_bytes;
}

bool SlabPool::give_up_tail(void* block, std::size_t size_bytes, std::size_t used_bytes) noexcept {
#if defined(MADV_FREE) && !defined(__SANITIZE_ADDRESS__)
    const auto begin = reinterpret_cast<std::uintptr_t>(block);
    const std::uintptr_t from = round_up(begin + used_bytes, kHugePageBytes);
    const std::uintptr_t end = begin + size_bytes;  // of an ordinary page
    if (from - begin > used_bytes / 3 * 4) return false;
    return from >= end || madvise(reinterpret_cast<void*>(from), end - from, MADV_FREE) == 0;
#else
    return block != nullptr && size_bytes <= used_bytes / 3 * 4;
#endif
}

void SlabPool::trim(std::size_t most_bytes) noexcept {
    while (idle_bytes_ > most_bytes) {
        auto oldest = slabs_.end();
        for (auto it = slabs_.begin(); it != slabs_.end(); ++it) {
            const bool older = oldest == slabs_.end() || it->second.time < oldest->second.time;
            if (it->second.num_used == 0 && older) oldest = it;
        }
        if (oldest == slabs_.end()) return;
        drop(oldest);
    }
}

SlabPool::Slab& SlabPool::slab_of(void* block) {
    return std::prev(slabs_.upper_bound(static_cast<std::byte*>(block)))->second;
}

SlabPool::Slab* SlabPool::slab_with_room(std::size_t block_bytes) {
    for (auto& [data, slab] : slabs_) {
        if (slab.block_bytes == block_bytes && slab.has_room()) return &slab;
    }
    Slab slab;
    slab.size_bytes = slab_bytes(block_bytes);
    slab.block_bytes = block_bytes;
    slab.data = map(slab.size_bytes);
    if (slab.data == nullptr) return nullptr;
    try {
        return &slabs_.emplace(slab.data, slab).first->second;
    } catch (...) {
        unmap(slab.data, slab.size_bytes);
        throw;
    }
}

void SlabPool::drop(Slabs::iterator slab) noexcept {
    const Slab& old = slab->second;
    auto& idle = idle_[old.block_bytes];
    const auto is_inside = [&](const void* block) { return block >= old.data && block < old.data + old.size_bytes; };
    idle_bytes_ -= std::erase_if(idle, is_inside) * old.block_bytes;
    if (idle.empty()) idle_.erase(old.block_bytes);
    unmap(old.data, old.size_bytes);
    slabs_.erase(slab);
}

}  // namespace tricodec
