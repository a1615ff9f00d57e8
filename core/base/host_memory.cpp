// SPDX-License-Identifier: Apache-2.0
#include "base/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "base/bytes.h"

namespace tricodec {
namespace {

constexpr std::size_t kHugePageBytes = 2 << 20;
constexpr std::size_t kSlabBytes = 16 << 20;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kFromMalloc = true;  // a block a slab: malloc reports every byte that is touched beside it
#else
constexpr bool kFromMalloc = false;
#endif

}  // namespace

std::size_t HostMemory::block_bytes(std::size_t requested_bytes) const noexcept {
    return align_up(requested_bytes, kPageBytes);
}

std::size_t HostMemory::slab_bytes(std::size_t block_bytes) const noexcept {
    if (kFromMalloc) return block_bytes;
    const std::size_t fewest = std::max<std::size_t>(1, kSlabBytes / block_bytes);
    const auto whole = [&](std::size_t num_blocks) { return align_up(num_blocks * block_bytes, kHugePageBytes); };
    std::size_t best = fewest;
    for (std::size_t n = fewest; n < 2 * fewest; ++n) {
        if (whole(n) - n * block_bytes < whole(best) - best * block_bytes) best = n;
    }
    // A single block that would leave much over ends on an ordinary page.
    return best > 1 ? whole(best) : block_bytes;
}

// Address space that starts on a huge page; it takes no memory until it is touched.
void* HostMemory::allocate(std::size_t size_bytes, StreamView) {
    if (kFromMalloc) return std::aligned_alloc(kPageBytes, size_bytes);
    const std::size_t with_slack = size_bytes + kHugePageBytes;
    void* const mapped = mmap(nullptr, with_slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    auto* const start = static_cast<std::byte*>(mapped);
    const std::size_t before =
        align_up(reinterpret_cast<std::uintptr_t>(start), kHugePageBytes) - reinterpret_cast<std::uintptr_t>(start);
    auto* const data = start + before;
    if (before > 0) munmap(start, before);
    munmap(data + size_bytes, kHugePageBytes - before);
#ifdef MADV_HUGEPAGE
    madvise(data, size_bytes, MADV_HUGEPAGE);  // refused by kernels built without them
#endif
    return data;
}

void HostMemory::free(void* data, std::size_t size_bytes, const std::vector<Block>&) noexcept {
    if (kFromMalloc) return std::free(data);
    munmap(data, size_bytes);
}

bool HostMemory::give_up_tail(void* block, std::size_t size_bytes, std::size_t used_bytes) noexcept {
#ifdef MADV_FREE
    if (kFromMalloc) return size_bytes <= used_bytes / 3 * 4;
    const auto begin = reinterpret_cast<std::uintptr_t>(block);
    const std::uintptr_t from = align_up(begin + used_bytes, kHugePageBytes);
    const std::uintptr_t end = begin + size_bytes;  // of an ordinary page
    if (from - begin > used_bytes / 3 * 4) return false;
    return from >= end || madvise(reinterpret_cast<void*>(from), end - from, MADV_FREE) == 0;
#else
    return block != nullptr && size_bytes <= used_bytes / 3 * 4;
#endif
}

}  // namespace tricodec
